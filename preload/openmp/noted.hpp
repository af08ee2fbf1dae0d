// Where each thread is, as noted by whoever wraps the ways into a region (gomp.cpp, kmp.cpp): the region's
// function runs through a trampoline that makes a Stay. What enters a region by another way is not noted; its
// threads are told from the noted ones by the nesting level, on which both agree and which no way to enter a
// region leaves as it is, and keep the run-time's barrier.
#ifndef FERMATA_PRELOAD_OPENMP_NOTED_HPP
#define FERMATA_PRELOAD_OPENMP_NOTED_HPP

#include "region.hpp"
#include "watch.hpp"

namespace fermata::preload {

enum class RunTime : int { kLibgomp = 0, kLibomp = 1 };

// A run-time library's answers about the calling thread.
struct Questions {
  int (*level)();
  int (*thread_num)();
  int (*num_threads)();
  int (*cancellation)();
};

// Written before a thread can be in a noted region of that library.
extern Questions questions[2];
inline const Questions& ask(RunTime library) { return questions[static_cast<int>(library)]; }

// Which library `function` is from, once its questions are known. kNone: it doesn't have them all. kUnknown:
// not for this once.
enum class Found : int { kUnknown, kLibgomp, kLibomp, kNone };
Found find_library(const void* function);

// The same, looked up until it is known. function(): some function of the library's.
class Known {
 public:
  template <class Function>
  Found get(Function&& function) {
    Found found = found_.load(std::memory_order_acquire);  // order: acquire, as kMovedRead: sees its questions. Pairs with the store below
    if (found != Found::kUnknown) [[likely]] return found;
    found = find_library(reinterpret_cast<const void*>(function()));
    // order: release, as kMove: hands them on. Pairs with the load above
    if (found != Found::kUnknown) found_.store(found, std::memory_order_release);
    return found;
  }
  // order: relaxed: who is in a noted region knows its library; anybody else's place is none, whichever it is
  Found now() const { return found_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Found> found_{Found::kUnknown};
};

// A null region: in none that is noted.
struct Here {
  Region* region;
  std::uint32_t rank;
  int level;
};
extern __thread Here here[2] __attribute__((tls_model("initial-exec"), visibility("hidden")));

// While it lives the calling thread is there. Regions nest.
class Stay {
 public:
  Stay(RunTime library, Here now) : here_(here[static_cast<int>(library)]), before_(here_) {
    here_ = now;
    count_anew();
  }
  ~Stay() {
    here_ = before_;
    count_anew();
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

 private:
  Here& here_;
  const Here before_;
};

template <RunTime library>
inline Facts facts() {
  return {static_cast<std::uint32_t>(ask(library).num_threads()), ask(library).cancellation() != 0};
}

template <RunTime library>
inline Place place_in() {
  const Here& now = here[static_cast<int>(library)];
  if (now.region == nullptr || ask(library).level() != now.level) [[unlikely]]
    return {};
  return {now.region, now.rank, team_of(*now.region, facts<library>) != nullptr};
}

}  // namespace fermata::preload
#endif
