#include "algo/sweep.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>

#include "algo/build.hpp"
#include "schedule/contents.hpp"
#include "schedule/verify.hpp"

namespace fermata {
namespace {

constexpr OpTraits kIntegerSum{.associative = true, .commutative = true, .idempotent = false};
constexpr OpTraits kFloatSum{.associative = false, .commutative = true, .idempotent = false};
constexpr OpTraits kMax{.associative = true, .commutative = true, .idempotent = true};
constexpr OpTraits kMatrixProduct{.associative = true, .commutative = false, .idempotent = false};
// Vector clocks are quadratic in members; larger teams show nothing new.
constexpr std::int32_t kReuseUpTo = 70;

std::string describe(const Schedule& s) {
  return s.algorithm + " " + name_of(s.kind) + " P=" + std::to_string(s.members) +
         " root=" + std::to_string(s.root);
}

const char* describe(OpTraits op) {
  return op.idempotent ? "max" : op.associative ? "integer sum" : "floating-point sum";
}

void note(SweepRow& row, const std::string& what) {
  if (row.wrong++ == 0) row.first_wrong = what;
}

void check_one(const Algorithm& algorithm, const Request& request, SweepRow& row) {
  const Schedule s = algorithm.build(request);
  const bool data = s.kind != Kind::kBarrier;
  for (const OpTraits op : {kIntegerSum, kFloatSum, kMax}) {
    const Result<Verified> verdict = verify(s, op);
    const bool must = must_be_proved(algorithm, request, op);
    if (verdict.ok() != must) {
      note(row, describe(s) + ", " + describe(op) + ": " +
                    (verdict ? "proved, must be refused" : verdict.error().message));
    } else {
      must ? ++row.proved[static_cast<int>(s.kind)] : ++row.refused;
    }
    if (!folds(s.kind)) break;  // the operator makes no difference
  }
  if (folds(s.kind)) {
    ++row.rank_order_of;
    if (verify(s, kMatrixProduct)) ++row.rank_order;
  }
  if (s.members > kReuseUpTo || (s.words.empty() && (!data || !synchronizes(s.kind)))) return;
  // A member that finishes has heard from all, so all have finished the episode before. Two slots always
  // suffice.
  if (reuse_hazards(s, 2, data).empty()) {
    ++row.reuse;
  } else {
    note(row, describe(s) + ": run-ahead hazard");
  }
}

void count(BreakRow& row, bool refused, const std::string& what) {
  ++row.tried;
  if (refused == row.must_refuse) return;
  if (row.wrong++ == 0) row.first_wrong = what;
}

using EachSchedule = std::function<void(const Algorithm&, const Schedule&)>;
void each_schedule(Kind kind, std::int32_t from, std::int32_t to, const EachSchedule& visit) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const std::int32_t degree : degrees_of(algorithm)) {
      for (std::int32_t p = from; p <= to; ++p) {
        const Request request{.kind = kind, .members = p, .degree = degree};
        if (algorithm.applicable(request)) visit(algorithm, algorithm.build(request));
      }
    }
  }
}

BreakRow signals_removed() {
  BreakRow row{.what = "a barrier without one of its signals, P = 2..12"};
  each_schedule(Kind::kBarrier, 2, 12, [&row](const Algorithm&, const Schedule& s) {
    for (std::size_t a = 0; a < s.stages.size(); ++a) {
      for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i) {
        count(row, !verify(without(s, a, i), kMax), describe(s) + ", stage " + std::to_string(a));
      }
    }
  });
  return row;
}

BreakRow redundant_signals_removed() {
  BreakRow row{.what = "dissemination with a stage more, without a signal, P = 5", .must_refuse = false};
  Schedule s = find_algorithm("dissemination")->build({.members = 5});
  Stage more;
  for (std::int32_t i = 0; i < 5; ++i) more.transfers.push_back({.from = i, .to = (i + 3) % 5});
  s.stages.push_back(more);
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i) {
      count(row, !verify(without(s, a, i), kMax), "stage " + std::to_string(a));
    }
  }
  return row;
}

BreakRow thresholds_off() {
  BreakRow row{.what = "a word's threshold one too high or too low, P = 2..33"};
  each_schedule(Kind::kBarrier, 2, 33, [&row](const Algorithm&, const Schedule& s) {
    for (std::size_t w = 0; w < s.words.size(); ++w) {
      for (const std::int32_t by : {-1, 1}) {
        Schedule broken = s;
        broken.words[w].threshold += by;
        count(row, !verify(broken, kMax), describe(s) + ", word " + std::to_string(w));
      }
    }
  });
  return row;
}

BreakRow contributions_lost() {
  BreakRow row{.what = "an allreduce without one of its transfers, P = 2..12"};
  each_schedule(Kind::kAllreduce, 2, 12, [&row](const Algorithm& algorithm, const Schedule& s) {
    if (algorithm.redundant) return;
    for (std::size_t a = 0; a < s.stages.size(); ++a) {
      for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i) {
        count(row, !verify(without(s, a, i), kIntegerSum), describe(s) + ", stage " + std::to_string(a));
      }
    }
  });
  return row;
}

BreakRow contributions_repeated() {
  BreakRow row{.what = "a reduce whose root folds one more contribution, sum, P = 2..33"};
  each_schedule(Kind::kReduce, 2, 33, [&row](const Algorithm&, const Schedule& s) {
    Schedule broken = s;
    broken.stages.emplace_back().transfers.push_back(
        {.from = s.members - 1, .to = 0, .chunk = 0, .action = Action::kCombine});
    count(row, !verify(broken, kIntegerSum), describe(s));
  });
  return row;
}

// One transfer is wrong, in a collective other than barrier, reduce and allreduce, which have rows above.
using Mutate = std::function<void(std::vector<Transfer>& transfers, std::size_t at)>;
BreakRow transfers_wrong(const char* what, OpTraits op, const Mutate& mutate) {
  BreakRow row{.what = what};
  for (const Kind kind : {Kind::kBroadcast, Kind::kGather, Kind::kScatter, Kind::kAllgather,
                          Kind::kReduceScatter, Kind::kAlltoall, Kind::kScan, Kind::kExscan}) {
    each_schedule(kind, 2, 9, [&](const Algorithm&, const Schedule& s) {
      if (!verify(s, op)) return;  // the schedule does not keep rank order
      for (std::size_t a = 0; a < s.stages.size(); ++a) {
        for (std::size_t i = 0; i < s.stages[a].transfers.size(); ++i) {
          Schedule broken = s;
          mutate(broken.stages[a].transfers, i);
          count(row, !verify(broken, op),
                describe(s) + ", stage " + std::to_string(a) + ", transfer " + std::to_string(i));
        }
      }
    });
  }
  return row;
}

BreakRow transfers_lost() {
  return transfers_wrong("any other collective without one of its transfers, P = 2..9", kIntegerSum,
                         [](std::vector<Transfer>& transfers, std::size_t at) {
                           transfers.erase(transfers.begin() + static_cast<std::ptrdiff_t>(at));
                         });
}

BreakRow transfers_twice() {
  return transfers_wrong("the same, one transfer listed twice", kIntegerSum,
                         [](std::vector<Transfer>& transfers, std::size_t at) {
                           const Transfer again = transfers[at];
                           transfers.insert(transfers.begin() + static_cast<std::ptrdiff_t>(at), again);
                         });
}

// One transfer goes to the next rank. A sum can stay right if another member passes on what it got. Rank
// order cannot.
BreakRow transfers_astray() {
  return transfers_wrong("the same, one transfer to the next member, in rank order", kMatrixProduct,
                         [](std::vector<Transfer>& transfers, std::size_t at) {
                           std::int32_t most = 0;
                           for (const Transfer& t : transfers) most = std::max({most, t.from, t.to});
                           transfers[at].to = transfers[at].to == most ? 0 : transfers[at].to + 1;
                         });
}

BreakRow dissemination_sums() {
  BreakRow row{.what = "dissemination: float sum at P > 2, integer sum at no power of 2"};
  const Algorithm& algorithm = *find_algorithm("dissemination");
  for (std::int32_t p = 3; p <= 70; ++p) {
    const Schedule s = algorithm.build({.kind = Kind::kAllreduce, .members = p});
    count(row, !verify(s, kFloatSum), describe(s));
    if (!std::has_single_bit(static_cast<std::uint32_t>(p))) count(row, !verify(s, kIntegerSum), describe(s));
  }
  return row;
}

BreakRow run_ahead() {
  BreakRow row{.what = "reduce, broadcast, gather, scatter back to back, no credits, 1, 2, 4 slots"};
  for (const Kind kind : {Kind::kReduce, Kind::kBroadcast, Kind::kGather, Kind::kScatter}) {
    each_schedule(kind, 2, 17, [&row](const Algorithm&, const Schedule& s) {
      for (const int slots : {1, 2, 4}) count(row, !reuse_hazards(s, slots, true).empty(), describe(s));
    });
  }
  return row;
}

BreakRow words_run_ahead() {
  BreakRow row{.what = "adds of the next episode before this one is over (half a counter)"};
  for (std::int32_t p = 3; p <= 17; ++p) {
    const Schedule s = find_algorithm("counter")->build({.half = Half::kArrive, .members = p});
    count(row, !reuse_hazards(s, 1, false).empty(), describe(s));
  }
  return row;
}

}  // namespace

bool must_be_proved(const Algorithm& algorithm, const Request& request, OpTraits op) {
  if (!algorithm.redundant || request.kind == Kind::kBarrier || request.members <= 2 || op.idempotent)
    return true;
  return op.associative && std::has_single_bit(static_cast<std::uint32_t>(request.members));
}

std::vector<std::int32_t> degrees_of(const Algorithm& algorithm) {
  std::vector<std::int32_t> degrees;
  if (!algorithm.has_degree) return {2};
  for (const std::int32_t k : {1, 2, 3, 4, 5, 8}) {
    if (algorithm.applicable({.degree = k})) degrees.push_back(k);
  }
  return degrees;
}

SweepRow sweep(const Algorithm& algorithm, std::int32_t degree, const std::vector<std::int32_t>& sizes) {
  const auto start = std::chrono::steady_clock::now();
  SweepRow row;
  row.algorithm = algorithm.has_degree ? spelled(algorithm.name, degree) : algorithm.name;
  for (const std::int32_t p : sizes) {
    for (int kind = 0; kind < kKindCount; ++kind) {
      Request request{.kind = static_cast<Kind>(kind), .members = p, .degree = degree};
      const bool rooted = has_root(request.kind);
      std::int32_t last = -1;
      for (const std::int32_t root : {0, p / 2, p - 1}) {
        if (root == last || (root > 0 && !rooted)) continue;
        last = request.root = root;
        const bool pieces = algorithm.cuts || blocks_of(request.kind, 2) > 1;
        if (pieces && p > kMostPiecesSwept) continue;
        if (algorithm.applicable(request)) check_one(algorithm, request, row);
      }
    }
  }
  row.ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return row;
}

std::vector<BreakRow> broken_schedules() {
  return {signals_removed(),        redundant_signals_removed(),
          thresholds_off(),         contributions_lost(),
          contributions_repeated(), transfers_lost(),
          transfers_twice(),        transfers_astray(),
          dissemination_sums(),     run_ahead(),
          words_run_ahead()};
}

Schedule without(const Schedule& schedule, std::size_t stage, std::size_t transfer) {
  Schedule out = schedule;
  std::vector<Transfer>& transfers = out.stages[stage].transfers;
  const std::int32_t to = transfers[transfer].to;
  if (out.is_word(to)) --out.words[out.word_of(to)].threshold;
  transfers.erase(transfers.begin() + static_cast<std::ptrdiff_t>(transfer));
  return out;
}

}  // namespace fermata
