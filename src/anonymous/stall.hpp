// Records which threads wait in which barrier, for stall reports: only if FERMATA_STALL_SECONDS asks for
// reports, and only for long waits.
#ifndef FERMATA_ANONYMOUS_STALL_HPP
#define FERMATA_ANONYMOUS_STALL_HPP

#include <cstdint>

namespace fermata::anonymous {

// The state of a phase, for people to read. The numbers are from some moment between the call and its return.
struct Standing {
  const void* name = nullptr;  // the address by which the report calls the barrier
  std::uint32_t count = 0;
  std::uint32_t missing = 0;  // arrivals that are missing; 0: the phase is over
};

// A thread's long wait, from construction to destruction.
class Stall {
 public:
  // `standing` returns the state of the barrier's phase `token`.
  Stall(const void* barrier, std::uint64_t token,
        Standing (*standing)(const void* barrier, std::uint64_t token));
  ~Stall();
  Stall(const Stall&) = delete;
  Stall& operator=(const Stall&) = delete;

  // Call this now and then. Once the wait is long enough, this writes one report to stderr: how many threads
  // have arrived, how many are missing, and which threads wait here.
  void look(std::int64_t waited_ns) {
    if (limit_ns_ != 0 && waited_ns >= limit_ns_) [[unlikely]]
      report(waited_ns);
  }

 private:
  void report(std::int64_t waited_ns);

  const void* barrier_;
  std::uint64_t token_;
  Standing (*standing_)(const void*, std::uint64_t);
  std::int64_t limit_ns_;  // 0: no report is wanted, or it is written; raised while stderr takes nothing
  int place_ = -1;         // this thread's entry in the table of waiting threads; -1: none
};

}  // namespace fermata::anonymous
#endif
