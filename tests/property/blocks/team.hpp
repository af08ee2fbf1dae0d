// Runs a body as every member of a team, threads or processes, and hands back the first problem that one of
// them reports.
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
  int engine = FERMATA_THREADS;  // or FERMATA_PROCESSES, kMixed
  int wait = FERMATA_WAIT_AUTO;
  int hosts = 1;           // pretended ones, of threads
  bool scattered = false;  // ranks are dealt out to them in turn, not in blocks
  net::LoopOptions links = {};
};

const char* name_of_engine(int engine);
std::string describe(const TeamCase& test);

// The members' handle, and a board that processes see, too.
class Seat {
 public:
  struct Board {
    std::atomic<int> failures{0};
    std::atomic<long> ran{0};
    char message[400] = {};
  };
  Seat(fermata_team* its_team, fermata_member* its_member, int its_rank, int in_team, Board& board)
      : team(its_team), member(its_member), rank(its_rank), members(in_team), board_(board) {}
  // Empty, FERMATA_OK: nothing to report. True: go on; false: somebody has failed.
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

// Every wait has 10 s, ten times that under sanitizers. Empty: all held, and *ran operations were checked.
std::string run_team(const TeamCase& test, const std::function<void(Seat&)>& body, long* ran);

}  // namespace fermata::test
#endif
