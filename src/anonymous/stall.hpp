// Who waits where, for reports: kept only if FERMATA_STALL_SECONDS asks for them, and only of those who wait for long anyway.
#ifndef FERMATA_ANONYMOUS_STALL_HPP
#define FERMATA_ANONYMOUS_STALL_HPP

#include <cstdint>

namespace fermata::anonymous {

// How a phase stands, for people: numbers as of somewhere between the call and its return.
struct Standing {
  const void* name = nullptr;
  std::uint32_t count = 0;
  std::uint32_t missing = 0;  // arrivals; 0: the phase is over
};

// A thread's long wait, from construction to destruction.
class Stall {
 public:
  // `standing` is how the barrier's phase `token` stands.
  Stall(const void* barrier, std::uint64_t token, Standing (*standing)(const void* barrier, std::uint64_t token));
  ~Stall();
  Stall(const Stall&) = delete;
  Stall& operator=(const Stall&) = delete;

  // Now and then: says once on stderr who has come, when the time is over.
  void look(std::int64_t waited_ns) {
    if (limit_ns_ != 0 && waited_ns >= limit_ns_) [[unlikely]]
      report(waited_ns);
  }

 private:
  void report(std::int64_t waited_ns);

  const void* barrier_;
  std::uint64_t token_;
  Standing (*standing_)(const void*, std::uint64_t);
  std::int64_t limit_ns_;  // 0: nothing is wanted, or it has been said; later than it was: nobody could be told yet
  int place_ = -1;         // among those who wait
};

}  // namespace fermata::anonymous
#endif
