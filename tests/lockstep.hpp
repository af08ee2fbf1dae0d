// Executes a compiled program with all members in one thread. The production cursor (exec/cursor.hpp) stops
// before each step, so that any interleaving of the members' steps can be tried and a hang is seen at once.
// Memory is sequentially consistent here; the model checker (tests/model) checks memory orders.
//
// The copy of the program has a poll of a gate before each step. The gate opens for one look when the member
// is chosen. The production cursor decides on all writes, reads and rings.
#ifndef FERMATA_TESTS_LOCKSTEP_HPP
#define FERMATA_TESTS_LOCKSTEP_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "exec/cursor.hpp"
#include "exec/program.hpp"

namespace fermata::test {

// Empty: nothing failed. Otherwise the failure in words, with its member.
using Wrong = std::string;

struct Lockstep {
  static constexpr std::uint32_t kGate = 0xfffffff8u;

  // The memory as the cursor of one member sees it.
  struct Memory {
    using Counter = std::atomic<std::uint64_t>;
    Lockstep* all = nullptr;
    std::uint32_t member = 0;
    Counter open{std::numeric_limits<std::uint64_t>::max()}, shut{0};

    Counter& header(std::uint32_t offset) { return *reinterpret_cast<Counter*>(all->at(offset)); }
    Counter& word(std::uint32_t offset) {
      if (offset != kGate) return header(offset);
      const bool pass = all->ticket_;
      all->ticket_ = false;
      return pass ? open : shut;
    }
    Counter& credit(std::uint32_t offset) { return header(offset); }
    std::uint64_t& payload(std::uint32_t slot, std::uint32_t i) { return *all->at(slot + 8 + i * 8); }
    void ring(const Step& step) { all->ring(step); }
    void carry(const Step& step, std::uint32_t offset, std::uint64_t bits, std::uint32_t words,
               const std::uint64_t* from) {
      for (std::uint32_t i = 0; i < words; ++i) payload(offset, i) = from[i];
      header(offset).store(bits, std::memory_order_relaxed);  // order: one thread
      // a member on another host is rung when its lines arrive
      all->wake_member(step.peer);
    }
  };

  struct Now {
    Cursor<RealAtomics, Memory> cursor;
    std::uint64_t episode = 0;
    bool asleep = false;
    std::uint64_t regs[kMaxRegisters][kPayloadWords] = {};
  };
  enum class Place : std::uint8_t { kAtGate, kWaits, kOver };
  struct Folded {
    std::uint64_t episode = 0, value = 0;
  };
  // The state of all members.
  struct State {
    std::vector<std::uint64_t> region;
    std::vector<Now> now;       // of each member
    std::vector<Place> places;  // of each member
    std::size_t over = 0;       // members that have left their last episode
    Folded folded[4] = {};      // the last episodes' results; no member is further ahead
  };

  // For the given root's set of programs. `parks`: a waiting member looks again only after a ring of the
  // doorbell on which it would park.
  Lockstep(const std::byte* blob, std::uint32_t root, bool parks)
      : header_(*reinterpret_cast<const ProgramHeader*>(blob)),
        parks_(parks),
        members_(header_.members),
        state_{std::vector<std::uint64_t>(header_.region_bytes / 8), std::vector<Now>(header_.members),
               std::vector<Place>(header_.members)} {
    const auto* programs = reinterpret_cast<const MemberProgram*>(blob + header_.programs_offset);
    const auto* steps = reinterpret_cast<const Step*>(blob + header_.steps_offset);
    const std::uint32_t set = header_.roots == 1 ? 0 : root;
    root_ = header_.roots == 1 ? 0 : root;
    for (std::uint32_t m = 0; m < header_.members; ++m) {
      Member& member = members_[m];
      const MemberProgram& program = programs[set * header_.members + m];
      for (std::uint32_t i = 0; i < program.count; ++i) {
        Step gate{};
        gate.code = Code::kPoll;
        gate.offset = kGate;
        gate.threshold = gate.pauses = 1;
        Step step = steps[program.first + i];
        if (step.code == Code::kAdd || step.code == Code::kJump) step.target *= 2;
        member.steps.push_back(gate);
        member.steps.push_back(step);
      }
      member.memory.all = this;
      member.memory.member = m;
    }
  }
  Lockstep(const Lockstep&) = delete;
  Lockstep& operator=(const Lockstep&) = delete;

  // Members run `episodes` back to back. pick(runnable) returns an index of `runnable`: that member makes the
  // next step.
  template <class Pick>
  Wrong run(std::uint64_t episodes, Pick&& pick) {
    begin_all(episodes);
    std::vector<std::uint32_t> runnable;
    while (find_runnable(runnable)) take_turn(runnable[pick(runnable)]);
    return wrong_;
  }

  // ---- The same, one call at a time.

  void begin_all(std::uint64_t episodes) {
    episodes_ = episodes;
    state_.over = 0;
    for (std::uint32_t m = 0; m < members_.size(); ++m) begin(m);
  }
  // False: all have left their last episode, or something failed.
  bool find_runnable(std::vector<std::uint32_t>& runnable) {
    runnable.clear();
    if (!wrong_.empty() || state_.over == state_.places.size()) return false;
    for (std::uint32_t m = 0; m < state_.places.size(); ++m)
      if (state_.places[m] == Place::kAtGate || (state_.places[m] == Place::kWaits && may_go_on(m)))
        runnable.push_back(m);
    if (runnable.empty()) wrong_ = hang();
    return !runnable.empty();
  }
  void take_turn(std::uint32_t m) {
    Now& now = state_.now[m];
    ticket_ = state_.places[m] == Place::kAtGate;
    std::uint32_t words_carried = words();
    const Carried carried{.words = words_carried,
                          .folds = {.word = is_barrier() ? both : add},
                          .whole = is_barrier() ? nullptr : fold_all,
                          .context = &words_carried};
    const bool over = words() > 1 ? now.cursor.advance<Load::kWords>(members_[m].memory, carried, now.regs, 0)
                      : words() == 1
                          ? now.cursor.advance<Load::kOneWord>(members_[m].memory, carried, now.regs, 0)
                          : now.cursor.advance<Load::kNothing>(members_[m].memory, carried, now.regs, 0);
    if (!over) {
      state_.places[m] = at_gate(now) ? Place::kAtGate : Place::kWaits;
      now.asleep = state_.places[m] == Place::kWaits;
      return;
    }
    if (now.cursor.status() != Status::kOk) return fail(m, "finds another episode's header");
    check(m);
    begin(m);
  }

  const Wrong& wrong() const { return wrong_; }
  const State& state() const { return state_; }
  // Cursors point into this memory, so it is overwritten in place: sizes are the same.
  void go_back(const State& to) { state_ = to; }

  // Digests all that determines the following steps: memory, and the position and registers of each member.
  std::size_t digest() const {
    std::size_t mixed = 0;
    const auto add_in = [&](std::uint64_t v) { mixed = mix(mixed, v); };
    for (const std::uint64_t word : state_.region) add_in(word);
    for (std::size_t m = 0; m < state_.now.size(); ++m) {
      add_in(state_.now[m].episode);
      add_in(static_cast<std::uint64_t>(&state_.now[m].cursor.at() - members_[m].steps.data()) * 2 +
             state_.now[m].asleep);
      for (const auto& reg : state_.now[m].regs)
        for (std::uint32_t i = 0; i < words(); ++i) add_in(reg[i]);
    }
    return mixed;
  }

  // How words are folded. The first word is a sum, which shows whether each contribution counts once (in a
  // barrier: a bit for each member). All further words are folded by mix(), which is not associative and so
  // distinguishes trees.
  static std::uint64_t add(std::uint64_t left, std::uint64_t right) { return left + right; }
  static std::uint64_t mix(std::uint64_t left, std::uint64_t right) {
    const std::uint64_t sum = left + right, product = (left | 1) * (right | 1);
    return (sum ^ (product >> 29)) * 0x9e3779b97f4a7c15u + 1;
  }
  static void fold_all(void* acc, const void* other, void* words) {
    auto* mine = static_cast<std::uint64_t*>(acc);
    const auto* theirs = static_cast<const std::uint64_t*>(other);
    mine[0] += theirs[0];
    for (std::uint32_t i = 1; i < *static_cast<std::uint32_t*>(words); ++i) mine[i] = mix(mine[i], theirs[i]);
  }

 private:
  struct Member {
    std::vector<Step> steps;
    Memory memory;
  };

  std::uint64_t* at(std::uint64_t offset) { return &state_.region.at(offset / 8); }
  bool is_barrier() const { return header_.collective == static_cast<std::uint32_t>(Collective::kBarrier); }
  std::uint32_t words() const { return (header_.payload + 7) / 8; }
  static std::uint64_t value(std::uint32_t member, std::uint64_t episode, std::uint32_t word) {
    return (episode * 4099 + member + 1) * 0x9e3779b97f4a7c15u + word * 0xd1b54a32d192ed03u;
  }
  std::uint64_t contribution(std::uint32_t member, std::uint64_t episode, std::uint32_t word) const {
    return is_barrier() ? std::uint64_t{1} << member : value(member, episode, word);
  }

  void begin(std::uint32_t m) {
    Now& now = state_.now[m];
    if (++now.episode > episodes_) {
      state_.places[m] = Place::kOver;
      ++state_.over;
      return;
    }
    for (std::uint32_t i = 0; i < words(); ++i) now.regs[0][i] = contribution(m, now.episode, i);
    const auto word = [&](std::uint32_t i) { return now.regs[0][i]; };
    ticket_ = false;
    const Step* const steps = members_[m].steps.data();
    const std::uint64_t e = now.episode, tag = e % 3;
    if (words() > 1) now.cursor.start<Load::kWords>(members_[m].memory, steps, e, tag, words(), word);
    else if (words() == 1) now.cursor.start<Load::kOneWord>(members_[m].memory, steps, e, tag, 1, word);
    else now.cursor.start<Load::kNothing>(members_[m].memory, steps, e, tag, 0, word);
    state_.places[m] = at_gate(now) ? Place::kAtGate : Place::kWaits;
  }

  bool may_go_on(std::uint32_t m) {
    return parks_ ? !state_.now[m].asleep : state_.now[m].cursor.ready(members_[m].memory);
  }
  bool at_gate(const Now& now) const {
    return now.cursor.at().offset == kGate && now.cursor.at().code == Code::kPoll;
  }

  void check(std::uint32_t m) {
    Now& now = state_.now[m];
    const Collective collective = static_cast<Collective>(header_.collective);
    for (std::uint32_t other = 0; synchronizes(collective) && other < members_.size(); ++other)
      if (state_.now[other].episode < now.episode)
        return fail(m, "leaves before member " + std::to_string(other) + " has come");
    if (words() == 0 || (collective == Collective::kReduce && m != root_)) return;
    std::uint64_t expected = 0;
    for (std::uint32_t other = 0; other < members_.size(); ++other) {
      if (collective == Collective::kBroadcast && other != root_) continue;
      expected = is_barrier() ? expected | contribution(other, now.episode, 0)
                              : expected + contribution(other, now.episode, 0);
    }
    if (now.regs[0][0] != expected) return fail(m, "has a wrong result");
    if (collective != Collective::kAllreduce || words() == 1) return;
    Folded& folded = state_.folded[now.episode % std::size(state_.folded)];
    if (folded.episode == now.episode && folded.value != now.regs[0][1])
      return fail(m, "has another result than another member");
    folded = {now.episode, now.regs[0][1]};
  }

  static std::uint64_t both(std::uint64_t left, std::uint64_t right) { return left | right; }

  // ---- Doorbells

  void ring(const Step& step) {
    for (std::uint32_t m = 0; step.rings != 0 && m < state_.now.size(); ++m) {
      const Step& waits = state_.now[m].cursor.at();
      if (state_.now[m].asleep && waits.rings == step.rings && waits.door == step.door)
        state_.now[m].asleep = false;
    }
  }
  void wake_member(std::uint32_t m) { state_.now[m].asleep = false; }

  void fail(std::uint32_t m, const std::string& what) {
    if (wrong_.empty())
      wrong_ =
          "member " + std::to_string(m) + " " + what + " in episode " + std::to_string(state_.now[m].episode);
  }
  Wrong hang() const {
    std::string text = "hang:";
    for (std::uint32_t m = 0; m < state_.now.size(); ++m)
      if (state_.places[m] != Place::kOver)
        text += " member " + std::to_string(m) + " at step " +
                std::to_string((&state_.now[m].cursor.at() - members_[m].steps.data()) / 2) + " of episode " +
                std::to_string(state_.now[m].episode);
    return text;
  }

  const ProgramHeader& header_;
  const bool parks_;
  std::uint32_t root_ = 0;
  std::vector<Member> members_;
  State state_;
  std::uint64_t episodes_ = 0;
  bool ticket_ = false;
  Wrong wrong_;
};

// Ways to choose. Any member, with equal chance; or always the first of an order that changes now and then,
// so that some run far ahead and others stay behind.
class AnyMember {
 public:
  explicit AnyMember(std::uint64_t seed) : random_(seed) {}
  std::size_t operator()(const std::vector<std::uint32_t>& runnable) { return random_() % runnable.size(); }

 private:
  std::minstd_rand random_;
};

class ByPriority {
 public:
  ByPriority(std::uint64_t seed, std::size_t members, unsigned one_in) : random_(seed), one_in_(one_in) {
    for (std::size_t m = 0; m < members; ++m) order_.push_back(static_cast<std::uint32_t>(random_()));
  }
  std::size_t operator()(const std::vector<std::uint32_t>& runnable) {
    if (random_() % one_in_ == 0) order_[random_() % order_.size()] = static_cast<std::uint32_t>(random_());
    const auto first = std::max_element(runnable.begin(), runnable.end(),
                                        [&](auto a, auto b) { return order_[a] < order_[b]; });
    return static_cast<std::size_t>(first - runnable.begin());
  }

 private:
  std::minstd_rand random_;
  unsigned one_in_;
  std::vector<std::uint32_t> order_;
};

// Any member, but from a given step on one of them advances only where no other can.
class ButOne {
 public:
  ButOne(std::uint64_t seed, std::uint32_t late, std::uint64_t from)
      : random_(seed), late_(late), from_(from) {}
  std::size_t operator()(const std::vector<std::uint32_t>& runnable) {
    const std::size_t chosen = random_() % runnable.size();
    return ++turn_ > from_ && runnable[chosen] == late_ ? (chosen + 1) % runnable.size() : chosen;
  }

 private:
  std::minstd_rand random_;
  std::uint32_t late_;
  std::uint64_t from_, turn_ = 0;
};

// Tries several interleavings of a program, `episodes` each. Empty: none failed.
inline Wrong execute(const std::byte* blob, std::uint64_t seed, int interleavings, std::uint64_t episodes) {
  const auto& header = *reinterpret_cast<const ProgramHeader*>(blob);
  for (int k = 0; k < interleavings; ++k) {
    const auto root = static_cast<std::uint32_t>((seed + static_cast<std::uint64_t>(k)) % header.roots);
    Lockstep workers(blob, root, k % 5 == 3);
    const std::uint64_t own = seed * 131 + static_cast<std::uint64_t>(k) + 1;
    const unsigned one_in[] = {4, 20, 100};
    const Wrong wrong =
        k % 4 == 0   ? workers.run(episodes, AnyMember(own))
        : k % 4 == 1 ? workers.run(episodes, ButOne(own, static_cast<std::uint32_t>(own / 7 % header.members),
                                                    own * 37 % 97))
                     : workers.run(episodes, ByPriority(own, header.members, one_in[own % 3]));
    if (!wrong.empty()) return wrong;
  }
  return {};
}

// Tries every interleaving of a program's first episodes, in depth-first order. States that two of them share
// are continued once.
struct Exhausted {
  Wrong wrong;             // the first failure
  bool complete = true;    // false: there are more than most_states
  std::size_t states = 0;  // number of different states
};
inline Exhausted exhaust(const std::byte* blob, std::uint32_t root, bool parks, std::uint64_t episodes,
                         std::size_t most_states) {
  struct Fork {
    Lockstep::State state;
    std::vector<std::uint32_t> runnable;  // members still to be tried next
  };
  Exhausted result;
  std::unordered_set<std::size_t> seen;
  std::vector<Fork> forks;
  std::vector<std::uint32_t> runnable;
  Lockstep workers(blob, root, parks);
  workers.begin_all(episodes);
  for (;;) {
    const bool new_state = workers.find_runnable(runnable) && seen.insert(workers.digest()).second;
    result.states = seen.size();
    result.wrong = workers.wrong();
    result.complete = result.states <= most_states;
    if (!result.wrong.empty() || !result.complete) return result;
    std::uint32_t next = 0;
    if (new_state) {
      next = runnable.back();
      runnable.pop_back();
      if (!runnable.empty()) forks.push_back({workers.state(), runnable});
    } else {
      if (forks.empty()) return result;
      Fork& last = forks.back();
      workers.go_back(last.state);
      next = last.runnable.back();
      last.runnable.pop_back();
      if (last.runnable.empty()) forks.pop_back();
    }
    workers.take_turn(next);
  }
}

}  // namespace fermata::test
#endif
