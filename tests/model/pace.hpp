// The auto wait policy in the checker (sync/wait.hpp): what its members learn together, in every interleaving
// of their accesses. What each decides in every state: tests/unit/sync/wait_rules_test.cpp.
#ifndef FERMATA_TESTS_MODEL_PACE_HPP
#define FERMATA_TESTS_MODEL_PACE_HPP

#include "policy.hpp"
#include "sync/wait.hpp"

namespace fermata::model {

template <unsigned N>
struct PaceSuite : Suite<N> {
  static constexpr std::uint64_t kCall = 10'000;
  static constexpr std::int64_t kBegin = 1'000'000'000, kQuick = 1'000, kSlice = 3'000'000;

  struct Member {
    explicit Member(BasicPace<ModelAtomics>& pace, unsigned who = 0, Room room = Room::kCrowded)
        : policy(room, 4, &pace, who) {}
    BasicAutoWait<ModelAtomics> policy;
    WaitView view;
    bool begin(std::uint64_t call, std::int64_t now) {  // true: it yields
      view = {};
      view.call = call;
      view.now_ns = now;
      view.last_action = policy.next(view);
      return view.last_action == WaitAction::kYield;
    }
    void end(std::int64_t ns) {
      view.now_ns += ns;
      view.last_action_ns = ns;
      view.first = false;
      policy.done(view);
    }
  };

  BasicPace<ModelAtomics> pace;

  void before() override {
    forget(pace);
    exclude_until(pace, 0);
  }
  std::uint64_t parks_until() { return ModelAtomics::load_relaxed(pace.parks_until); }
};

// All wait for one member that is away for a slice, some in the next call: one stall, which begins no hold.
template <unsigned N>
struct OneStallSuite : PaceSuite<N> {
  using Base = PaceSuite<N>;
  void thread(unsigned member) override {
    typename Base::Member waiting(this->pace);
    waiting.begin(Base::kCall + (member + rl::rand(2)) % 2, Base::kBegin + member);
    waiting.end(Base::kSlice + (rl::rand(2) == 0 ? 0 : Base::kQuick));
  }
  void before() override {  // the stall before was long ago
    Base::before();
    ModelAtomics::store_relaxed(this->pace.stalled_ns, std::int64_t{1});
    ModelAtomics::store_relaxed(this->pace.stalled_call, Base::kCall - 5'000);
  }
  void after() override { RL_ASSERT(this->parks_until() == 0); }
};

// A hold is over. In each call at most one member yields. A member is killed while it yields, or its yield is
// quick or slow. The hold that a slow one begins stays, whatever quick ones before it say.
template <unsigned N>
struct ScoutSuite : PaceSuite<N> {
  using Base = PaceSuite<N>;
  unsigned scouts[2] = {}, slow = 0;
  void before() override {
    Base::before();
    ModelAtomics::store_relaxed(this->pace.parks_until, Base::kCall);
    ModelAtomics::store_relaxed(this->pace.quick, std::uint32_t{15});  // one more ends the hold
  }
  void thread(unsigned who) override {
    typename Base::Member member(this->pace, who);
    const unsigned later = rl::rand(2);
    if (!member.begin(Base::kCall + 4 * later, Base::kBegin)) return;  // the next turn
    if (member.view.call >= Base::kCall && ended) return;
    RL_ASSERT(++scouts[later] == 1);
    const unsigned how = rl::rand(3);
    if (how == 0) return;
    slow += how == 1;
    member.end(how == 1 ? Base::kSlice : Base::kQuick);
    ended = ended || how == 2;
  }
  void after() override { RL_ASSERT(slow == 0 || this->parks_until() > Base::kCall); }
  bool ended = false;  // a quick scout has: from then on all may yield
};

// Members that share a CPU, each for long enough: one of them moves.
template <unsigned N>
struct MovesSuite : PaceSuite<N> {
  using Base = PaceSuite<N>;
  void before() override {
    Base::before();
    forget(signs);
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned who = 0; who < N; ++who) company[who].look(signs, who, 0, Base::kCall, Base::kBegin);
  }
  void thread(unsigned who) override {
    company[who].waited(Base::kSlice);
    const std::int64_t later = Base::kBegin + Base::kSlice + static_cast<std::int64_t>(rl::rand(2));
    company[who].look(signs, who, 0, Base::kCall + 1, later);
    moves += company[who].leaves(signs, 0, Base::kCall + 1, later);
  }
  void after() override { RL_ASSERT(moves == 1); }
  BasicSigns<ModelAtomics> signs;
  BasicCompany<ModelAtomics> company[N];
  unsigned moves = 0;
};

}  // namespace fermata::model
#endif
