#include "schedule/simulation.hpp"

#include <limits>
#include <span>

#include "schedule/structure.hpp"

namespace fermata {
Simulation::Simulation(const Schedule& s, const CostModel& model, const Layouts& layouts, double chunk_bytes,
                       bool keep_path)
    : s_(s),
      model_(model),
      layouts_(layouts),
      keep_path_(keep_path),
      chunk_bytes_(chunk_bytes),
      sharers_factor_(std::max(1.0, model.packed_sharers / 2)),
      further_(model.further > 0 ? model.further : further_share(model)),
      time_(s.vertices(), 0),
      next_(s.vertices(), 0),
      step_(s.vertices(), -1),
      completer_(s.words.size(), -1),
      readers_(s.words.size(), 0),
      polled_(s.words.size(), false),
      next_step_(s.vertices(), -1),
      sent_l_(s.vertices(), 0),
      sent_o_(s.vertices(), 0),
      sent_bulk_(s.vertices(), 0),
      held_until_(s.vertices(), 0),
      sent_count_(s.vertices(), 0),
      link_(model.hosts.empty() ? 0 : 1 + *std::max_element(model.hosts.begin(), model.hosts.end()), 0),
      first_in_(s.members, 0),
      count_in_(s.members, 0),
      expected_(s.members, 0) {
  const auto& direct = model.bytes.direct.of(folds(s.collective));
  for (int alone = 0; alone < 2; ++alone)
    direct_[alone] = direct[alone].has(static_cast<std::size_t>(chunk_bytes));
  for (const Stage& stage : s.stages)
    for (const Transfer& t : stage.transfers)
      if (s.is_word(t.from) && !s.is_word(t.to)) polled_[s.word_of(t.from)] = true;
}

Bulk Simulation::bulk_of(const Transfer& t, std::int64_t chunks) const {
  if (chunks == 0 || chunk_bytes_ <= 0) return {};
  const ByteCosts& c = model_.bytes;
  const auto n = static_cast<double>(chunks);
  const double bytes = n * chunk_bytes_ * (c.cached > 0 && chunk_bytes_ > c.cached ? c.beyond : 1),
               more = (n - 1) * c.chunk;
  const bool folded = t.action == Action::kCombine;
  if (t.from == t.to) return {.out = bytes * (model_.g_at(t.from, t.to) + (folded ? c.fold : 0))};
  if (direct_[direct_[0] != direct_[1] && moving_[t.from] == 1 ? 1 : 0] && !model_.is_message(t.from, t.to))
    return {.out = bytes * (model_.direct_at(t.from, t.to) + (folded ? c.direct_fold : 0)) +
                   n * c.direct_once + more,
            .held = true};
  const double g = model_.g_at(t.from, t.to);
  return {.in = bytes * g + more,
          .out = bytes * (g + (folded ? c.fold : 0)) + more,
          .first = std::min(chunk_bytes_, c.slot) * g};
}

// A member stores one signal after another. The k-th leaves when the sender has paid for the k - 1 before it:
// equation 1, read as a sequence. A published line takes one store; each further reader waits for its own
// copy of the line.
void Simulation::send(const Transfer& t, std::int64_t chunks) {
  const Bulk bulk = bulk_of(t, chunks);
  if (t.from == t.to) {  // the member's own line, in its own cache
    incoming_[first_in_[t.to] + count_in_[t.to]++] = {
        .at = time_[t.from], .step = step_[t.from], .bulk = bulk.out};
    return;
  }
  const bool alone = packed_ && !std::binary_search(pairs_.begin(), pairs_.end(), std::pair(t.to, t.from));
  const bool message = model_.is_message(t.from, t.to);
  const double alone_factor = sharers_factor_ * model_.layout_factor[static_cast<int>(Layout::kPrivate)];
  const double factor = message ? 1 : alone ? alone_factor : factor_;
  const double o = model_.o_at(t.from, t.to) * factor, l = model_.l_at(t.from, t.to) * factor;
  if (sent_count_[t.from]++ == 0) senders_.push_back(t.from);
  const bool shared = published_ && !message;
  const double queue = shared ? model_.reader * (sent_count_[t.from] - 1) : sent_l_[t.from];
  // The sender also writes a published payload only once.
  sent_l_[t.from] = shared ? std::max(sent_l_[t.from], l + bulk.in) : sent_l_[t.from] + l + bulk.in;
  if (!message)
    sent_bulk_[t.from] = shared ? std::max(sent_bulk_[t.from], bulk.in) : sent_bulk_[t.from] + bulk.in;
  // A message travels while its sender continues. The sender pays only for starting it (equation 2).
  sent_o_[t.from] = std::max(sent_o_[t.from], message ? model_.o_at(t.from, t.from) : o);
  double at = time_[t.from] + queue;
  if (message) {
    double& link = link_[model_.hosts[static_cast<std::size_t>(t.from)]];
    at = std::max(at, link);
    link = at + l + bulk.in;
  }
  incoming_[first_in_[t.to] + count_in_[t.to]++] = {.at = at,
                                                    .o = o,
                                                    .l = l,
                                                    .step = step_[t.from],
                                                    .bulk = bulk.out,
                                                    .first = bulk.first,
                                                    .held = bulk.held ? t.from : -1,
                                                    .further = message ? 1 : further_,
                                                    .message = message};
}

void Simulation::find_exchanges(const Stage& stage) {
  pairs_.clear();
  for (const Transfer& t : stage.transfers)
    if (!s_.is_word(t.from) && !s_.is_word(t.to)) pairs_.emplace_back(t.from, t.to);
  std::sort(pairs_.begin(), pairs_.end());
}

void Simulation::lay_out(std::size_t stage) {
  const LayoutChoice& layout = layouts_.at(stage);
  published_ = layout.layout == Layout::kPublished;
  packed_ = layout.layout == Layout::kPacked;
  factor_ = model_.layout_factor[static_cast<int>(layout.layout)] *
            model_.stride_factor[std::clamp(layout.stride, 1, 8)] * (packed_ ? sharers_factor_ : 1);
}

void Simulation::count_moves(const Stage& stage) {
  moving_.assign(s_.vertices(), 0);
  const Transfer* before = nullptr;
  for (const Transfer& t : stage.transfers) {
    const bool further = before != nullptr && before->from == t.from && before->to == t.to;
    before = &t;
    if (further || t.from == t.to) continue;
    ++moving_[t.from];
    ++moving_[t.to];
  }
}

void Simulation::make_room(const Stage& stage) {
  for (const Transfer& t : stage.transfers)
    if (!s_.is_word(t.from) && !s_.is_word(t.to) && expected_[t.to]++ == 0) receivers_.push_back(t.to);
  std::int32_t first = 0;
  for (const std::int32_t m : receivers_) {
    first_in_[m] = first;
    count_in_[m] = 0;
    first += std::exchange(expected_[m], 0);
  }
  if (incoming_.size() < static_cast<std::size_t>(first)) incoming_.resize(first);
}

void Simulation::collect(const Stage& stage) {
  make_room(stage);
  if (packed_) find_exchanges(stage);
  if (direct_[0] != direct_[1]) count_moves(stage);
  const std::vector<Transfer>& list = stage.transfers;
  for (std::size_t i = 0, next = 0; i < list.size(); i = next) {
    const Transfer& t = list[i];
    next = i + 1;
    const bool to_word = s_.is_word(t.to), from_word = s_.is_word(t.from);
    if (!to_word && !from_word) {
      while (next < list.size() && list[next].from == t.from && list[next].to == t.to) ++next;
      send(t, t.action == Action::kSignal ? 0 : static_cast<std::int64_t>(next - i));
    } else if (to_word && !from_word) {
      adds_.push_back({time_[t.from], t.from, s_.word_of(t.to), step_[t.from], adds_.size()});
    } else if (to_word) {
      // The completer of the actor waits for the source, then adds. It reads the source's line, unless it is
      // also the completer of the source.
      const std::int32_t member = completer_[actor_of(s_, t)], source = s_.word_of(t.from);
      if (member < 0) continue;  // only in a schedule that was not verified
      double at = std::max(time_[member], time_[t.from]);
      if (completer_[source] != member) at += model_.word_read + turn(time_[member], at);
      adds_.push_back({at, member, s_.word_of(t.to),
                       time_[member] >= time_[t.from] ? step_[member] : step_[t.from], adds_.size()});
    }
  }
}

// Adds to a word queue up, since each moves the word's line. They are served in the order in which they come.
void Simulation::add_all(std::int32_t stage) {
  std::sort(adds_.begin(), adds_.end(),
            [](const Adding& a, const Adding& b) { return a.at != b.at ? a.at < b.at : a.order < b.order; });
  for (const Adding& add : adds_) {
    const std::int32_t vertex = s_.word_vertex(add.word);
    const bool queued = time_[vertex] > add.at;
    const double taken = polled_[add.word] && model_.members_per_cpu > 1 ? model_.word_read / 2 : 0;
    const double done = std::max(add.at, time_[vertex]) + model_.word_add + taken;
    const std::int32_t step = push_step(stage, vertex, done, queued ? step_[vertex] : add.step);
    time_[vertex] = done;
    step_[vertex] = step;
    completer_[add.word] = add.member;
    readers_[add.word] = 0;
    if (done > next_[add.member]) {
      next_[add.member] = done;
      next_step_[add.member] = step;
    }
  }
  adds_.clear();
}

void Simulation::poll(const Transfer& t, std::int32_t stage) {
  const std::int32_t word = s_.word_of(t.from);
  double seen = time_[t.from];
  if (completer_[word] != t.to) {
    seen += model_.word_read + model_.reader * readers_[word]++;
    seen += turn(time_[t.to], seen);
  }
  if (seen > next_[t.to]) {
    next_[t.to] = seen;
    next_step_[t.to] = push_step(stage, t.to, seen, step_[t.from]);
  }
}

// Applies equation 1 to the awaited slots, for every suffix of arrivals. Slots that come at once cost
// max(O) + sum(L); a late one costs only its own O + L. A slot is read after it was sent.
void Simulation::await(std::int32_t member, std::int32_t stage) {
  const std::span in(incoming_.data() + first_in_[member], count_in_[member]);
  const auto earlier = [](const Incoming& a, const Incoming& b) { return a.at < b.at; };
  if (!std::is_sorted(in.begin(), in.end(), earlier)) std::sort(in.begin(), in.end(), earlier);
  double seen = 0, most_o = 0, sum_more = 0, bulk = 0, first = 0, messages = 0;
  // What the first slot costs more than a further one; below 0 if it costs less.
  double first_l = -std::numeric_limits<double>::infinity();
  std::int32_t cause = -1;
  for (auto i = in.rbegin(); i != in.rend(); ++i) {
    most_o = std::max(most_o, i->o);
    first_l = std::max(first_l, i->l * (1 - i->further));
    sum_more += i->l * i->further + i->bulk;
    if (i->message) messages += i->l;
    else bulk += i->bulk;
    first = std::max(first, i->first);
    const double done = i->at + most_o + sum_more + first_l + first;
    if (cause < 0 || done > seen) cause = i->step;
    seen = std::max(seen, done);
  }
  seen = std::max(seen, time_[member] + sent_bulk_[member] + bulk);
  if (messages > 0 && next_[member] + messages > seen) {
    seen = next_[member] + messages;
    cause = next_step_[member];
  }
  seen += turn(time_[member], seen);
  if (seen > next_[member]) {
    next_[member] = seen;
    next_step_[member] = push_step(stage, member, seen, cause);
  }
  for (const Incoming& i : in)
    if (i.held >= 0) held_until_[i.held] = std::max(held_until_[i.held], seen + i.l);
}

void Simulation::run_stage(const Stage& stage, std::int32_t index) {
  senders_.clear();
  receivers_.clear();
  lay_out(static_cast<std::size_t>(index));
  collect(stage);
  std::copy(time_.begin(), time_.begin() + s_.members, next_.begin());
  std::copy(step_.begin(), step_.begin() + s_.members, next_step_.begin());
  // Polls first: they read words that earlier stages completed.
  for (const Transfer& t : stage.transfers) {
    if (s_.is_word(t.from) && !s_.is_word(t.to)) poll(t, index);
  }
  add_all(index);
  for (const std::int32_t m : senders_) {
    const double sent = time_[m] + sent_o_[m] + sent_l_[m];
    if (sent > next_[m]) {
      next_[m] = sent;
      next_step_[m] = push_step(index, m, sent, step_[m]);
    }
    sent_l_[m] = sent_o_[m] = 0;
    sent_count_[m] = 0;
  }
  for (const std::int32_t m : receivers_) await(m, index);
  for (const std::int32_t m : senders_) {
    if (held_until_[m] > next_[m]) {
      next_[m] = held_until_[m];
      next_step_[m] = push_step(index, m, held_until_[m], step_[m]);
    }
    sent_bulk_[m] = held_until_[m] = 0;
  }
  std::copy(next_.begin(), next_.begin() + s_.members, time_.begin());
  std::copy(next_step_.begin(), next_step_.begin() + s_.members, step_.begin());
}

void Simulation::run_episode(std::vector<double>* stage_ns) {
  for (std::size_t a = 0; a < s_.stages.size(); ++a) {
    run_stage(s_.stages[a], static_cast<std::int32_t>(a));
    if (stage_ns != nullptr) stage_ns->push_back(latest());
  }
}

std::vector<CostStep> Simulation::critical_path() const {
  const auto last = std::max_element(time_.begin(), time_.begin() + s_.members) - time_.begin();
  std::vector<CostStep> out;
  for (std::int32_t at = step_[last]; at >= 0; at = path_[at].before) out.push_back(path_[at].step);
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace fermata
