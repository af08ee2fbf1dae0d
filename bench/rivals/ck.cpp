// Concurrency Kit's barriers, which spin with a pause and never yield. Their structures contain pointers.
// Forked processes can use these, since the arena has the same address in all of them.
#include <algorithm>

#include "bench/rivals/rivals.hpp"

// ck_barrier.h needs only one spinlock; the headers of the others are not C++ (conversions from void*).
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#include <ck_md.h>
#include <spinlock/fas.h>
#define CK_SPINLOCK_H
#include <ck_barrier.h>
}
#pragma GCC diagnostic pop

namespace fermata::bench {
namespace {

class Ck : public Subject {
 public:
  std::string version() const override {
#ifdef CK_VERSION
    return std::string("ck ") + CK_VERSION;
#else
    return "ck";
#endif
  }

 protected:
  template <class State>
  struct alignas(kMaxLine) Padded {
    State state;
  };
};

class Centralized final : public Ck {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    members_ = static_cast<unsigned>(c.members);
    barrier_ = arena.make<ck_barrier_centralized_t>();
    states_ = arena.make_array<Padded<ck_barrier_centralized_state_t>>(members_);
    return {};
  }
  void work(int rank, Turn& turn) override {
    turn.run(rank, [&] { ck_barrier_centralized(barrier_, &states_[rank].state, members_); });
  }

 private:
  unsigned members_ = 0;
  ck_barrier_centralized_t* barrier_ = nullptr;
  Padded<ck_barrier_centralized_state_t>* states_ = nullptr;
};

// A barrier in which each member has a place. prepare() initializes it.
template <class Barrier, class State, void (*kSubscribe)(Barrier*, State*), void (*kWait)(Barrier*, State*)>
class Subscribed : public Ck {
 public:
  std::string enter(int rank) final {
    kSubscribe(barrier_, &states_[rank].state);
    return {};
  }
  void work(int rank, Turn& turn) final {
    turn.run(rank, [&] { kWait(barrier_, &states_[rank].state); });
  }

 protected:
  Barrier* barrier_ = nullptr;
  Padded<State>* states_ = nullptr;
};

class Dissemination final : public Subscribed<ck_barrier_dissemination_t, ck_barrier_dissemination_state_t,
                                              ck_barrier_dissemination_subscribe, ck_barrier_dissemination> {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    const auto members = static_cast<unsigned>(c.members);
    barrier_ = arena.make_array<ck_barrier_dissemination_t>(members);
    states_ = arena.make_array<Padded<ck_barrier_dissemination_state_t>>(members);
    auto** flags = arena.make_array<ck_barrier_dissemination_flag_t*>(members);
    const unsigned size = ck_barrier_dissemination_size(members);
    for (unsigned i = 0; i < members; ++i) flags[i] = arena.make_array<ck_barrier_dissemination_flag_t>(size);
    ck_barrier_dissemination_init(barrier_, flags, members);
    return {};
  }
};

class Tournament final : public Subscribed<ck_barrier_tournament_t, ck_barrier_tournament_state_t,
                                           ck_barrier_tournament_subscribe, ck_barrier_tournament> {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    const auto members = static_cast<unsigned>(c.members);
    barrier_ = arena.make<ck_barrier_tournament_t>();
    states_ = arena.make_array<Padded<ck_barrier_tournament_state_t>>(members);
    auto** rounds = arena.make_array<ck_barrier_tournament_round_t*>(members);
    const unsigned size = ck_barrier_tournament_size(members);
    for (unsigned i = 0; i < members; ++i) rounds[i] = arena.make_array<ck_barrier_tournament_round_t>(size);
    ck_barrier_tournament_init(barrier_, rounds, members);
    return {};
  }
};

class Mcs final
    : public Subscribed<ck_barrier_mcs_t, ck_barrier_mcs_state_t, ck_barrier_mcs_subscribe, ck_barrier_mcs> {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    const auto members = static_cast<unsigned>(c.members);
    barrier_ = arena.make_array<ck_barrier_mcs_t>(members);
    states_ = arena.make_array<Padded<ck_barrier_mcs_state_t>>(members);
    ck_barrier_mcs_init(barrier_, members);
    return {};
  }
};

// Groups of two at the leaves, as the documentation suggests for neighbours that share a cache.
class Combining final : public Ck {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    const auto members = static_cast<unsigned>(c.members);
    barrier_ = arena.make<ck_barrier_combining_t>();
    groups_ = arena.make_array<ck_barrier_combining_group_t>((members + 1) / 2);
    states_ = arena.make_array<Padded<ck_barrier_combining_state_t>>(members);
    ck_barrier_combining_init(barrier_, arena.make<ck_barrier_combining_group_t>());
    for (unsigned first = 0; first < members; first += 2) {
      ck_barrier_combining_group_init(barrier_, &groups_[first / 2], std::min(2u, members - first));
    }
    for (unsigned i = 0; i < members; ++i) states_[i].state.sense = ~0u;
    return {};
  }
  void work(int rank, Turn& turn) override {
    turn.run(rank, [&] { ck_barrier_combining(barrier_, &groups_[rank / 2], &states_[rank].state); });
  }

 private:
  ck_barrier_combining_t* barrier_ = nullptr;
  ck_barrier_combining_group_t* groups_ = nullptr;
  Padded<ck_barrier_combining_state_t>* states_ = nullptr;
};

}  // namespace

std::unique_ptr<Subject> make_ck_centralized() { return std::make_unique<Centralized>(); }
std::unique_ptr<Subject> make_ck_dissemination() { return std::make_unique<Dissemination>(); }
std::unique_ptr<Subject> make_ck_tournament() { return std::make_unique<Tournament>(); }
std::unique_ptr<Subject> make_ck_mcs() { return std::make_unique<Mcs>(); }
std::unique_ptr<Subject> make_ck_combining() { return std::make_unique<Combining>(); }

}  // namespace fermata::bench
