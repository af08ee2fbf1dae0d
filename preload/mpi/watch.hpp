// Statistics (FERMATA_STATS, as `fermata run --stats` sets it): each kind of collective by communicator and
// call site; whether Fermata or MPI does it, and why MPI does.
#ifndef FERMATA_PRELOAD_MPI_WATCH_HPP
#define FERMATA_PRELOAD_MPI_WATCH_HPP

#include "communicator.hpp"
#include "preload/common/stats.hpp"

namespace fermata::preload {

// The place where the program called the enclosing function.
#define FERMATA_SITE __builtin_return_address(0)

extern bool watched;  // written at load

// One call, from construction to destruction. reason: why MPI does it, a literal; null: Fermata does it.
class Watched {
 public:
  Watched(const State* state, Kind kind, const void* site, const char* reason) {
    if (watched) [[unlikely]]
      begin(state, kind, site, reason);
  }
  ~Watched() {
    if (counts_) [[unlikely]]
      end();
  }
  // Does not count this call: MPI does it after all, or it is done again with an Operation (operation.hpp)
  // and counted there.
  void forget() {
    if (counts_) [[unlikely]]
      cancel();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  void begin(const State* state, Kind kind, const void* site, const char* reason);
  void end();
  void cancel();

  bool counts_ = false;
  alignas(stats::Wait) unsigned char wait_[sizeof(stats::Wait)];
};

// Why MPI does a communicator's collectives of this kind, or this call alone. why_left_begun() is for
// non-blocking and persistent ones.
const char* why_left(const State* state, Kind kind);
const char* why_left_begun(const State* state, Kind kind);

// Leaves a call to MPI, and counts it.
template <class Call>
int leave(State* s, Kind kind, const void* site, const char* why, Call&& call) {
  const Watched observed(s, kind, site, why);
  if (s != nullptr) ++s->left;
  return call();
}

}  // namespace fermata::preload
#endif
