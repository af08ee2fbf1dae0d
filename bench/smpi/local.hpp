// Signals through the shared memory of one simulated host, in SimGrid's time. What an access costs says the
// simulated machine of `fermata simulate` (sim/memory.hpp); SimGrid's actors are its members. A member that
// waits for a line sleeps until the line changes.
#ifndef FERMATA_BENCH_SMPI_LOCAL_HPP
#define FERMATA_BENCH_SMPI_LOCAL_HPP

#include <cstdint>
#include <simgrid/s4u.hpp>
#include <unordered_map>

#include "sim/machine.hpp"
#include "sim/memory.hpp"

namespace fermata::smpi {

sim::Time now();
void sleep_until(sim::Time time);

// A line of a host. It has one writer, and one member waits for it.
struct Line {
  std::uint64_t value = 0, episode = 0;
  sim::Time seen = 0;    // when others see the last store
  bool is_known = true;  // the memory model knows of that
  simgrid::s4u::Semaphore* sleeper = nullptr;
};

struct HostMemory {
  explicit HostMemory(const sim::Machine& of) : machine(of), model(of) {}
  const sim::Machine& machine;
  sim::Memory model;
  std::unordered_map<std::uint32_t, Line> lines;
};

// A member of a host, called by its own actor alone. Between two calls it may do other things in SimGrid's
// time, such as MPI calls.
class LocalMember {
 public:
  LocalMember(HostMemory& host, std::int32_t core) : host_(host), core_(core) {}

  void store(std::uint32_t line, std::uint64_t episode, std::uint64_t value);
  // Returns the line's value once it has come.
  std::uint64_t await(std::uint32_t line, std::uint64_t episode);
  // Does the work that the member owes. Call it before a message: the processor does not look ahead beyond
  // it.
  void end_stage();

 private:
  sim::Time own_work() const { return host_.machine.work[static_cast<std::size_t>(core_)]; }

  HostMemory& host_;
  const std::int32_t core_;
  sim::Time owed_ = 0;    // its work for what it has taken, done before its next access
  sim::Time ahead_ = -1;  // from when on the stage's next line counts as asked for; -1: from now on
  simgrid::s4u::SemaphorePtr bell_ = simgrid::s4u::Semaphore::create(0);
};

}  // namespace fermata::smpi
#endif
