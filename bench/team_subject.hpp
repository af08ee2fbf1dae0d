// The common part of Fermata's own subjects: a team, created before its members exist and joined by each.
#ifndef FERMATA_BENCH_TEAM_SUBJECT_HPP
#define FERMATA_BENCH_TEAM_SUBJECT_HPP

#include <string>
#include <vector>

#include "bench/subject.hpp"
#include "fermata/fermata.h"

namespace fermata::bench {

// Fermata's engine: a team of processes can have several members in each process.
constexpr int engine_of(Engine e) { return e == Engine::kThreads ? FERMATA_THREADS : FERMATA_PROCESSES; }

class TeamSubject : public Subject {
 public:
  ~TeamSubject() override;
  std::string prepare(const Case& c, Arena&) override { return make_team(c, nullptr); }
  std::string enter(int rank) override;
  std::string version() const override { return std::string("fermata ") + fermata_version(); }

 protected:
  // plan: replaces Fermata's choice; nullptr: Fermata chooses. It must exist only until the team is created.
  std::string make_team(const Case& c, const fermata_plan* plan);
  fermata_member* member_of(int rank) const { return members_[static_cast<std::size_t>(rank)]; }
  // Describes the error, with Fermata's own detail.
  static std::string failure(const char* what, int status);

 private:
  fermata_team* team_ = nullptr;
  std::vector<fermata_member*> members_;
};

}  // namespace fermata::bench
#endif
