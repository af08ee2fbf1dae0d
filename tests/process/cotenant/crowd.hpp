// One small interface to several kinds of barriers and a team.
#ifndef FERMATA_TESTS_PROCESS_COTENANT_CROWD_HPP
#define FERMATA_TESTS_PROCESS_COTENANT_CROWD_HPP

#include <cstdint>
#include <memory>
#include <vector>

#include "fermata/barrier.hpp"
#include "fermata/fermata.h"

namespace fermata::test {

class Place {
 public:
  virtual ~Place() = default;
  virtual bool meet(std::uint32_t rank) = 0;
  virtual void leave(std::uint32_t) {}  // each rank's thread calls it at the end
};

class AnonymousPlace : public Place {
 public:
  explicit AnonymousPlace(std::uint32_t members) : barrier_(members) {}
  bool meet(std::uint32_t) override {
    barrier_.arrive_and_wait();
    return true;
  }

 private:
  barrier<> barrier_;
};

// Its phases end in a tree of one leaf and not in a counter, so members wait in another way.
class CompletingPlace : public Place {
 public:
  explicit CompletingPlace(std::uint32_t members) : barrier_(members, Step{}) {}
  bool meet(std::uint32_t) override {
    barrier_.arrive_and_wait();
    return true;
  }

 private:
  struct Step {
    void operator()() noexcept {}
  };
  barrier<Step> barrier_;
};

class RankedPlace : public Place {
 public:
  explicit RankedPlace(std::uint32_t members) : barrier_(members) {}
  bool meet(std::uint32_t rank) override {
    barrier_.arrive_and_wait(rank);
    return true;
  }

 private:
  ranked_barrier barrier_;
};

class TeamPlace : public Place {
 public:
  explicit TeamPlace(std::uint32_t members, int engine = FERMATA_THREADS) : members_(members) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = static_cast<int>(members);
    config.engine = engine;
    if (fermata_team_create(&config, &team_) != FERMATA_OK) team_ = nullptr;
  }
  ~TeamPlace() override { fermata_team_destroy(team_); }
  bool meet(std::uint32_t rank) override {
    fermata_member*& member = members_[rank];
    if (member == nullptr && fermata_team_join(team_, static_cast<int>(rank), &member) != FERMATA_OK)
      return false;
    return fermata_barrier(member) == FERMATA_OK;
  }
  void leave(std::uint32_t rank) override { fermata_member_leave(members_[rank]); }

 private:
  fermata_team* team_ = nullptr;
  std::vector<fermata_member*> members_;
};

struct Kind {
  const char* name;
  std::unique_ptr<Place> (*make)(std::uint32_t members);
};

template <class P>
std::unique_ptr<Place> make_place(std::uint32_t members) {
  return std::make_unique<P>(members);
}

inline constexpr Kind kKinds[] = {{"barrier", make_place<AnonymousPlace>},
                                  {"completing", make_place<CompletingPlace>},
                                  {"ranked", make_place<RankedPlace>},
                                  {"team", make_place<TeamPlace>}};

}  // namespace fermata::test
#endif
