// Runs a body as every member of a team, with any engine of engines.hpp, and returns the first problem that a
// member reports.
#ifndef FERMATA_TESTS_PROPERTY_BLOCKS_TEAM_HPP
#define FERMATA_TESTS_PROPERTY_BLOCKS_TEAM_HPP

#include <atomic>
#include <functional>
#include <string>

#include "../engines.hpp"
#include "../hosts.hpp"

namespace fermata::test {

struct TeamCase {
  int members = 2;
  int engine = FERMATA_THREADS;  // or FERMATA_PROCESSES or kMixed
  int wait = FERMATA_WAIT_AUTO;
  int hosts = 1;           // simulated by threads
  bool scattered = false;  // ranks are dealt to the hosts in turn, not in blocks
  net::LoopOptions links = {};
};

const char* name_of_engine(int engine);
std::string describe(const TeamCase& test);

// A member's handle, and a board that all processes share.
class Seat {
 public:
  struct Board {
    std::atomic<int> failures{0};
    std::atomic<long> ran{0};
    char message[400] = {};
  };
  Seat(fermata_team* its_team, fermata_member* its_member, int its_rank, int in_team, Board& board)
      : team(its_team), member(its_member), rank(its_rank), members(in_team), board_(board) {}
  // Reports a problem; an empty string or FERMATA_OK is none. Returns false if any member has failed.
  bool holds(const std::string& problem);
  bool holds(int status, const std::string& what);
  void count_one() { board_.ran.fetch_add(1, std::memory_order_relaxed); }

  fermata_team* const team;
  fermata_member* const member;
  const int rank;
  const int members;

 private:
  Board& board_;
};

// Every wait has a limit of 60 s x FERMATA_TEST_SCALE, unless the body sets another one. Returns an empty
// string if all held. Adds what was counted by count_one() to *ran.
std::string run_team(const TeamCase& test, const std::function<void(Seat&)>& body, long* ran);

}  // namespace fermata::test
#endif
