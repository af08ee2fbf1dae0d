// The members of a subject: threads of the host process or processes forked from it, asleep between turns.
#ifndef FERMATA_BENCH_CREW_HPP
#define FERMATA_BENCH_CREW_HPP

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "bench/subject.hpp"

namespace fermata::bench {

class Crew {
 public:
  Crew(const Case& c, Subject& subject, Turn& turn, Arena& arena);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Starts and pins the members and has them enter the subject. "" or the first error.
  std::string start();
  // One turn of all members; returns when all have finished. For ever if the subject hangs: the parent has a
  // watchdog.
  void run();

 private:
  struct Gate {
    alignas(kMaxLine) std::atomic<std::uint32_t> generation{0};  // a turn begins
    alignas(kMaxLine) std::atomic<std::uint32_t> finished{0};    // members that are through with it
    alignas(kMaxLine) std::atomic<std::uint32_t> quit{0};
  };
  struct Entrance {
    char error[248] = {};
  };
  void member(int rank);
  void finish();
  void await_all();

  const Case case_;
  Subject& subject_;
  Turn& turn_;
  Gate* const gate_;
  Entrance* const entrances_;
  std::vector<std::thread> threads_;
  std::vector<int> children_;
};

}  // namespace fermata::bench
#endif
