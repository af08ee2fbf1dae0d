#include "exec/proof/ways.hpp"

namespace fermata::exec::proof {
namespace {

// Equal except for the jump target and the number of pauses.
bool same_step(const Step& a, const Step& b) {
  return a.code == b.code && a.reg == b.reg && a.fold == b.fold && a.rings == b.rings &&
         a.offset == b.offset && a.stride == b.stride && a.mask == b.mask && a.threshold == b.threshold &&
         a.door == b.door && a.peer == b.peer;
}

bool is_of_word(Code code) { return code == Code::kAdd || code == Code::kFlip || code == Code::kPoll; }
bool signals(Code code) {
  return code == Code::kSend || code == Code::kSendAway || code == Code::kAdd || code == Code::kFlip;
}

}  // namespace

bool Ways::no_memory() { return fail(kMemory, 0, 0); }

Proof Ways::read() {
  if (!prepare() || !read_own_lines()) return proof_;
  for (std::uint32_t k = 0; k < fork_count_; ++k)
    if (!follow(forks_[k])) return proof_;
  match_waits();
  return proof_;
}

bool Ways::prepare() {
  const std::uint32_t members = set_.header.members;
  first_ = scratch_.array<std::size_t>(members + 1);
  if (first_ == nullptr) return no_memory();
  for (std::uint32_t m = 0; m < members; ++m) first_[m + 1] = first_[m] + set_.count(m);
  const std::size_t steps = first_[members];
  std::size_t adds = 0, most_places = 0;
  for (std::uint32_t m = 0; m < members; ++m)
    for (std::uint32_t i = 0; i < set_.count(m); ++i) {
      adds += step(m, i).code == Code::kAdd;
      if (signals(step(m, i).code)) most_places += step(m, i).rings == 2 ? 2 : 1;
    }
  if (steps >= kNone / 4) return no_memory();
  most_kept_ = static_cast<std::uint32_t>(adds == 0 ? 0 : 8 * steps);
  nodes_ = scratch_.array<Node>(steps);
  edges_ = scratch_.array<Edge>(steps + adds);
  lines_ = scratch_.array<Line>(members + adds);
  branches_ = scratch_.array<Branch>(adds + 1);
  forks_ = scratch_.array<Fork>(adds);
  kept_ = scratch_.array<Climbing>(most_kept_);
  seen_ = scratch_.array<Seen>(steps);
  climb_ = scratch_.array<std::uint32_t>(most_places);
  if (scratch_.failed() || !locations_.prepare(most_places)) return no_memory();
  for (std::size_t p = 0; p < most_places; ++p) climb_[p] = kNone;
  return true;
}

std::uint32_t Ways::after_jumps(std::uint32_t member, std::uint32_t i) const {
  while (step(member, i).code == Code::kJump) i = step(member, i).target;
  return i;
}

bool Ways::new_node(std::uint32_t member, std::uint32_t index, std::uint32_t* node) {
  const Step& s = step(member, index);
  *node = node_count_;
  nodes_[node_count_++] = {&s, kNone, member, index};
  if (!signals(s.code)) return true;
  const char* const flaw = locations_.signal(s, member, index, &nodes_[*node].location);
  return flaw == nullptr || fail(flaw, member, index);
}

bool Ways::read_own_lines() {
  for (std::uint32_t m = 0; m < set_.header.members; ++m) {
    Line& line = lines_[line_count_++];
    line.first = node_count_;
    State state;
    for (std::uint32_t previous = kNone;; previous = node_count_ - 1) {
      state.at = after_jumps(m, state.at);
      const Code code = step(m, state.at).code;
      if (code == Code::kEnd) break;
      if (!signals(code) && code != Code::kPoll && code != Code::kAwait)
        return fail("a barrier that carries no data has credits", m, state.at);
      std::uint32_t node = 0;
      if (!see(m, state, node_count_) || !new_node(m, state.at, &node)) return false;
      if (previous != kNone) edge(previous, node, 0);
      ++state.own;
      if (code == Code::kAdd && !fork(m, state, node)) return false;
      ++state.at;
    }
    line.count = node_count_ - line.first;
    if (!see(m, state, kNone)) return false;
  }
  return true;
}

bool Ways::keep(const State& state, std::uint32_t* first) {
  *first = kept_count_;
  if (state.climbs > most_kept_ - kept_count_) return no_memory();
  for (std::uint32_t k = 0; k < state.climbs; ++k) kept_[kept_count_++] = state.climbing[k];
  return true;
}

bool Ways::see(std::uint32_t member, const State& state, std::uint32_t node) {
  Seen& seen = seen_[first_[member] + state.at];
  seen = {node, state.own, state.branch, state.climbs, 0, true};
  return keep(state, &seen.first_climbing);
}

// Stores the way where this add completes its word. read() follows it after all ways that complete fewer
// words.
bool Ways::fork(std::uint32_t member, const State& state, std::uint32_t add) {
  Fork& fork = forks_[fork_count_++];
  fork = {member, step(member, state.at).target, state.own, branch_count_, state.climbs, 0};
  branches_[branch_count_++] = {state.branch, add, false};
  return keep(state, &fork.first_climbing);
}

bool Ways::follow(const Fork& fork) {
  State state;
  state.at = fork.at;
  state.own = fork.own;
  state.branch = fork.branch;
  for (; state.climbs < fork.climbs; ++state.climbs)
    state.climbing[state.climbs] = kept_[fork.first_climbing + state.climbs];
  const std::uint32_t add = branches_[fork.branch].add;
  std::uint32_t& climb = climb_[nodes_[add].location];
  if (climb == kNone) {
    learning_ = climb = line_count_++;
    lines_[climb] = {node_count_, 0};
  }
  if (state.climbs == kMostClimbs) return fail("it completes too many words at once", fork.member, fork.at);
  state.climbing[state.climbs++] = {climb, 0};
  climb_first_ = comes_back(fork);
  const bool fine = follow(fork.member, state, add);
  learning_ = kNone;
  return fine;
}

// True if the way meets an earlier way that has done as much of the member's line. Then all steps in between
// belong to the climb.
bool Ways::comes_back(const Fork& fork) const {
  for (std::uint32_t at = after_jumps(fork.member, fork.at);; at = after_jumps(fork.member, at + 1)) {
    const Seen& seen = seen_[first_[fork.member] + at];
    if (!seen.seen && step(fork.member, at).code != Code::kEnd) continue;
    std::uint32_t own = fork.own;
    while (own < seen.own && is_known_complete(lines_[fork.member].first + own, fork.branch)) ++own;
    return seen.seen && own == seen.own;
  }
}

bool Ways::follow(std::uint32_t member, State& state, std::uint32_t previous) {
  for (;;) {
    state.at = after_jumps(member, state.at);
    if (seen_[first_[member] + state.at].seen) return join(member, state, previous);
    if (step(member, state.at).code == Code::kEnd) return see(member, state, kNone) && end(member, state);
    const State before = state;
    std::uint32_t node = kNone;
    if (!label(member, state, &node)) return false;
    if (!see(member, before, node)) return false;
    edge(previous, node, state.branch);
    const Step& s = step(member, state.at);
    const bool again = s.code == Code::kAdd && completes(state.branch, s);
    branches_[state.branch].dead = branches_[state.branch].dead || again;
    if (s.code == Code::kAdd && !again && !fork(member, state, node)) return false;
    previous = node;
    ++state.at;
  }
}

// Finds the node of a step: the next node of the member's line, the next node of a climb, or a new node of
// the climb that is being read.
bool Ways::label(std::uint32_t member, State& state, std::uint32_t* node) {
  const Step& s = step(member, state.at);
  const bool learns = learning_ != kNone && is_of_word(s.code);
  if (climb_first_ ? label_climb(s, state, node) || (!learns && label_own(member, s, state, node))
                   : label_own(member, s, state, node) || label_climb(s, state, node))
    return true;
  if (!learns)
    return fail("members that complete a word here do not all take the same steps", member, state.at);
  ++lines_[learning_].count;
  ++state.climbing[state.climbs - 1].done;
  return new_node(member, state.at, node);
}

bool Ways::label_own(std::uint32_t member, const Step& s, State& state, std::uint32_t* node) const {
  const Line& own = lines_[member];
  for (std::uint32_t k = state.own; k < own.count; ++k) {
    if (same_step(*nodes_[own.first + k].step, s)) {
      *node = own.first + k;
      state.own = k + 1;
      return true;
    }
    if (!is_known_complete(own.first + k, state.branch)) break;
  }
  return false;
}

bool Ways::label_climb(const Step& s, State& state, std::uint32_t* node) const {
  for (std::uint32_t k = 0; k < state.climbs; ++k) {
    Climbing& c = state.climbing[k];
    const Line& line = lines_[c.line];
    if (c.done == line.count || !same_step(*nodes_[line.first + c.done].step, s)) continue;
    *node = line.first + c.done++;
    return true;
  }
  return false;
}

// True if the word of this step was completed on this way.
bool Ways::completes(std::uint32_t branch, const Step& step) const {
  for (; branch != 0; branch = branches_[branch].parent)
    if (nodes_[branches_[branch].add].step->offset == step.offset) return true;
  return false;
}

bool Ways::is_known_complete(std::uint32_t node, std::uint32_t branch) const {
  const Step& s = *nodes_[node].step;
  return s.code == Code::kPoll && completes(branch, s);
}

bool Ways::is_within(std::uint32_t branch, std::uint32_t outer) const {
  while (branch > outer) branch = branches_[branch].parent;
  return branch == outer;
}

void Ways::drop_finished(State& state) const {
  std::uint32_t kept = 0;
  for (std::uint32_t k = 0; k < state.climbs; ++k)
    if (state.climbing[k].done < lines_[state.climbing[k].line].count)
      state.climbing[kept++] = state.climbing[k];
  state.climbs = kept;
}

// An earlier way has reached this step too. From here on the two ways are the same, if the same steps remain.
bool Ways::join(std::uint32_t member, State& state, std::uint32_t previous) {
  const Seen& seen = seen_[first_[member] + state.at];
  const char* const kFlaw = "paths through the program meet after different steps";
  drop_finished(state);
  State there;
  for (; there.climbs < seen.climbs; ++there.climbs)
    there.climbing[there.climbs] = kept_[seen.first_climbing + there.climbs];
  drop_finished(there);
  while (state.own < seen.own && is_known_complete(lines_[member].first + state.own, state.branch))
    ++state.own;
  if (state.own != seen.own || state.climbs != there.climbs || !is_within(state.branch, seen.branch))
    return fail(kFlaw, member, state.at);
  for (std::uint32_t k = 0; k < state.climbs; ++k)
    if (state.climbing[k].line != there.climbing[k].line || state.climbing[k].done != there.climbing[k].done)
      return fail(kFlaw, member, state.at);
  if (seen.node != kNone) edge(previous, seen.node, state.branch);
  return true;
}

bool Ways::end(std::uint32_t member, State& state) {
  drop_finished(state);
  const Line& own = lines_[member];
  while (state.own < own.count && is_known_complete(own.first + state.own, state.branch)) ++state.own;
  if (state.own < own.count || state.climbs > 0)
    return fail("a member that completes a word here leaves out a step", member, state.at);
  return true;
}

bool Ways::match_waits() {
  for (std::uint32_t i = 0; i < node_count_; ++i) {
    Node& n = nodes_[i];
    if (signals(n.step->code)) continue;
    // Any of several members may do a climb, so it cannot wait at the door of one member.
    const bool climbs = i >= lines_[set_.header.members - 1].first + lines_[set_.header.members - 1].count;
    if (climbs && terms_.parks && n.step->rings == 1)
      return fail("members that complete a word park at one member's doorbell", n.member, n.index);
    if (const char* flaw = locations_.wait(*n.step, n.member, &n.location))
      return fail(flaw, n.member, n.index);
    ++locations_[n.location].waits;
  }
  for (std::uint32_t m = 0; m < set_.header.members; ++m)
    for (std::uint32_t i = 0; terms_.hosts != nullptr && i < set_.count(m); ++i)
      if (const Step& s = step(m, i); is_of_word(s.code))
        if (const char* flaw = locations_.use_word(s, m)) return fail(flaw, m, i);
  for (std::uint32_t p = 0; p < locations_.count(); ++p) {
    const Location& location = locations_[p];
    if (location.use == Location::Use::kWord && location.signals != location.threshold)
      return fail("a word needs more or fewer adds than come", location.writer, location.step);
  }
  return true;
}

}  // namespace fermata::exec::proof
