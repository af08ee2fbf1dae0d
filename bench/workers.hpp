// The members of a subject, which sleep between turns: threads of the host process, processes forked from it
// (with one or two members), or processes that another program starts (mpirun).
#ifndef FERMATA_BENCH_WORKERS_HPP
#define FERMATA_BENCH_WORKERS_HPP

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "bench/subject.hpp"

namespace fermata::bench {

// The memory that the host and its members share, in the arena.
struct Muster {
  struct Entrance {
    char error[248] = {};
  };
  alignas(kMaxLine) std::atomic<std::uint32_t> generation{0};  // a turn begins
  // members that have entered, and then those that have finished the turn
  alignas(kMaxLine) std::atomic<std::uint32_t> finished{0};
  alignas(kMaxLine) std::atomic<std::uint32_t> quit{0};
  Turn* turn = nullptr;
  Entrance* entrances = nullptr;
};

// A member's life: it enters the subject and takes its turns until the workers end. Precondition: it is
// pinned, if `c` names CPUs.
void live_as_member(const Case& c, Subject& subject, Muster& muster, int rank);

class Workers {
 public:
  Workers(const Case& c, Subject& subject, Turn& turn, Arena& arena);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Starts the members, which are pinned if the case names CPUs, and enter the subject. Does nothing if the
  // subject launches its members. Returns "" or the first error.
  std::string start();
  // Runs one turn of all members. Returns "" when all have finished, or why they cannot. It does not return
  // if the subject hangs: then Remote::turn kills the process.
  std::string run();

 private:
  std::string start_members();
  std::string await_all();

  const Case case_;
  Subject& subject_;
  Turn& turn_;
  Arena& arena_;
  Muster* const muster_;
  std::vector<std::thread> threads_;
  std::vector<int> children_;
};

}  // namespace fermata::bench
#endif
