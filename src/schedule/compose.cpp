#include "schedule/compose.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace fermata {
namespace {

std::string joined(const std::string& a, const std::string& b) {
  if (a.empty() || a == b) return b;
  return b.empty() ? a : a + "/" + b;
}

Collective joined(Collective a, Collective b) {
  struct Sum {
    Collective first, second, whole;
  };
  constexpr Sum kSums[] = {{Collective::kReduce, Collective::kBroadcast, Collective::kAllreduce},
                           {Collective::kBroadcast, Collective::kReduce, Collective::kAllreduce},
                           {Collective::kReduceScatter, Collective::kAllgather, Collective::kAllreduce},
                           {Collective::kScatter, Collective::kAllgather, Collective::kBroadcast},
                           {Collective::kGather, Collective::kBroadcast, Collective::kAllgather},
                           {Collective::kReduceScatter, Collective::kGather, Collective::kReduce},
                           {Collective::kReduce, Collective::kScatter, Collective::kReduceScatter}};
  for (const Sum& sum : kSums) {
    if (sum.first == a && sum.second == b) return sum.whole;
  }
  return std::max(a, b);
}

Collective turned(Collective arrival) {
  switch (arrival) {
    case Collective::kReduce: return Collective::kBroadcast;
    case Collective::kGather: return Collective::kScatter;
    case Collective::kReduceScatter: return Collective::kAllgather;
    default: return arrival;
  }
}

// Joins all of b but its stages to a. b's words follow a's.
void join_frame(Schedule& a, const Schedule& b) {
  a.algorithm = joined(a.algorithm, b.algorithm);
  a.collective = joined(a.collective, b.collective);
  a.members = std::max(a.members, b.members);
  a.chunks = std::max(a.chunks, b.chunks);
  a.registers = std::max(a.registers, b.registers);
  const auto first = static_cast<std::int32_t>(a.words.size());
  for (Word w : b.words) {
    if (w.agent >= 0) w.agent += first;
    a.words.push_back(w);
  }
}

Schedule without_stages(const Schedule& s) {
  Schedule out;
  out.algorithm = s.algorithm;
  out.collective = s.collective;
  out.members = s.members;
  out.root = s.root;
  out.chunks = s.chunks;
  out.registers = s.registers;
  out.words = s.words;
  return out;
}

// Adds the transfers of `from` to the stages of `out`. Stage 0 of `from` is stage `first_stage` of `out`, and
// its word 0 is word `first_word`.
void place(Schedule& out, const Schedule& from, std::size_t first_stage, std::int32_t first_word) {
  const auto vertex = [&](std::int32_t v) {
    return from.is_word(v) ? out.word_vertex(first_word + from.word_of(v)) : v;
  };
  for (std::size_t a = 0; a < from.stages.size(); ++a) {
    std::vector<Transfer>& into = out.stages[first_stage + a].transfers;
    for (Transfer t : from.stages[a].transfers) {
      t.from = vertex(t.from);
      t.to = vertex(t.to);
      into.push_back(t);
    }
  }
}

}  // namespace

Schedule lift(const Schedule& s, const std::vector<std::int32_t>& ranks, std::int32_t members) {
  Schedule out = s;
  out.members = members;
  out.root = ranks[s.root];
  const auto vertex = [&](std::int32_t v) { return s.is_word(v) ? out.word_vertex(s.word_of(v)) : ranks[v]; };
  for (Stage& stage : out.stages) {
    for (Transfer& t : stage.transfers) {
      t.from = vertex(t.from);
      t.to = vertex(t.to);
    }
  }
  return out;
}

Schedule beside(const std::vector<Schedule>& all, Align align) {
  Schedule out = without_stages(all.front());
  for (std::size_t k = 1; k < all.size(); ++k) join_frame(out, all[k]);
  std::size_t stages = 0;
  for (const Schedule& s : all) stages = std::max(stages, s.stages.size());
  out.stages.resize(stages);
  std::int32_t words = 0;
  for (const Schedule& s : all) {
    place(out, s, align == Align::kEarly ? 0 : stages - s.stages.size(), words);
    words += static_cast<std::int32_t>(s.words.size());
  }
  return out;
}

Schedule then(const Schedule& a, const Schedule& b) {
  Schedule out = without_stages(a);
  join_frame(out, b);
  out.stages.resize(a.stages.size() + b.stages.size());
  place(out, a, 0, 0);
  place(out, b, a.stages.size(), static_cast<std::int32_t>(a.words.size()));
  return out;
}

Schedule transpose(const Schedule& arrival) {
  if (!arrival.words.empty()) return arrival;
  Schedule out = arrival;
  out.collective = turned(out.collective);
  std::reverse(out.stages.begin(), out.stages.end());
  for (Stage& stage : out.stages) {
    std::erase_if(stage.transfers, [](const Transfer& t) { return t.from == t.to; });
    std::reverse(stage.transfers.begin(), stage.transfers.end());
    for (Transfer& t : stage.transfers) {
      std::swap(t.from, t.to);
      std::swap(t.src_reg, t.dst_reg);
      if (t.action == Action::kCombine) t.action = Action::kCopy;
      t.side = Side::kRight;
    }
    order_messages(stage);
  }
  return out;
}

Schedule pipeline(const Schedule& s, std::int32_t segments) {
  if (segments <= 1 || s.chunks == 0 || s.stages.empty()) return s;
  Schedule out = s;
  out.chunks = s.chunks * segments;
  out.stages.assign(s.stages.size() + segments - 1, {});
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    for (const Transfer& t : s.stages[a].transfers) {
      if (t.chunk < 0) {  // a signal covers all segments, so it goes with the last one
        out.stages[a + segments - 1].transfers.push_back(t);
        continue;
      }
      for (std::int32_t segment = 0; segment < segments; ++segment) {
        Transfer piece = t;
        piece.chunk = t.chunk * segments + segment;
        out.stages[a + segment].transfers.push_back(piece);
      }
    }
  }
  for (Stage& stage : out.stages) order_messages(stage);
  return out;
}

void order_messages(Stage& stage) {
  const std::vector<Transfer>& list = stage.transfers;
  // The index of each message's first transfer, by sender and receiver.
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> first;
  struct Place {
    std::size_t message, was;
  };
  std::vector<Place> order;
  order.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    order.push_back({first.try_emplace({list[i].from, list[i].to}, i).first->second, i});
  }
  const auto before = [&list](const Place& a, const Place& b) {
    return a.message != b.message ? a.message < b.message : list[a.was].chunk < list[b.was].chunk;
  };
  if (std::is_sorted(order.begin(), order.end(), before)) return;
  std::stable_sort(order.begin(), order.end(), before);
  // The old index of the last write to each register.
  std::map<std::tuple<std::int32_t, std::int32_t, std::uint8_t>, std::size_t> last;
  std::vector<Transfer> sorted;
  sorted.reserve(list.size());
  for (const Place& place : order) {
    const Transfer& t = list[place.was];
    const auto [at, fresh] = last.try_emplace({t.to, t.chunk, t.dst_reg}, place.was);
    if (!fresh && t.action != Action::kSignal && at->second > place.was) return;
    at->second = place.was;
    sorted.push_back(t);
  }
  stage.transfers = std::move(sorted);
}

}  // namespace fermata
