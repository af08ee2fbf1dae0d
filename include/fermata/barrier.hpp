// fermata::barrier has the interface and the meaning of std::barrier (C++20, [thread.barrier]).
// fermata::ranked_barrier is for threads that know their rank. Link libfermata-rt (CMake: fermata::rt).
//
// A program that replaces std::barrier by fermata::barrier needs no other change. It can see three
// differences:
// - max() is 2^30.
// - The constructor throws std::system_error if memory runs out, or if `expected` is not in [0, max()].
// - After a fork, the child may use its copy of a barrier within limits (docs/usage.md).
#ifndef FERMATA_BARRIER_HPP
#define FERMATA_BARRIER_HPP

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <type_traits>
#include <utility>

#include "fermata/fermata.h"

namespace fermata::inline v0 {

namespace detail {

// Stands for "no completion step": the arrival that fills a phase releases it.
struct NoCompletion {
  void operator()() noexcept {}
};

[[noreturn]] inline void throw_status(int status, const char* what) {
  const std::errc code =
      status == FERMATA_ERR_MEMORY ? std::errc::not_enough_memory : std::errc::invalid_argument;
  throw std::system_error(std::make_error_code(code), what);
}

}  // namespace detail

template <class CompletionFunction = detail::NoCompletion>
class barrier {
  static_assert(std::is_nothrow_invocable_v<CompletionFunction&>, "a completion function must not throw");
  static constexpr bool kCompletes = !std::is_same_v<CompletionFunction, detail::NoCompletion>;

 public:
  // The phase to which an arrival belongs. It can be moved. Pass it to wait() at most once.
  class arrival_token {
   public:
    arrival_token(arrival_token&&) noexcept = default;
    arrival_token& operator=(arrival_token&&) noexcept = default;
    ~arrival_token() = default;

   private:
    friend class barrier;
    explicit arrival_token(std::uint64_t phase) noexcept : phase_(phase) {}
    std::uint64_t phase_;
  };

  static constexpr std::ptrdiff_t max() noexcept { return std::ptrdiff_t{1} << 30; }

  // A barrier with expected == 0 can only be destroyed.
  constexpr explicit barrier(std::ptrdiff_t expected, CompletionFunction f = CompletionFunction())
      : completion_(std::move(f)) {
    if (expected == 0) return;
    int status = FERMATA_ERR_ARGUMENT;
    if (expected > 0 && expected <= max())
      status = fermata_anonymous_create(static_cast<std::uint32_t>(expected),
                                        kCompletes ? FERMATA_ANONYMOUS_COMPLETION : 0U, &handle_);
    if (status < 0) detail::throw_status(status, "fermata::barrier");
  }
  // A thread may destroy the barrier as soon as its own wait has returned, if no other thread begins a call
  // after that return. Other threads may still be inside their calls for that phase.
  ~barrier() { fermata_anonymous_destroy(handle_); }
  barrier(const barrier&) = delete;
  barrier& operator=(const barrier&) = delete;

  [[nodiscard]] arrival_token arrive(std::ptrdiff_t update = 1) {
    std::uint64_t phase = 0;
    int status = FERMATA_ERR_ARGUMENT;
    if (update > 0 && update <= max())
      status = fermata_anonymous_arrive(handle_, static_cast<std::uint32_t>(update), &phase);
    finish(status, phase);
    return arrival_token(phase);
  }

  void wait(arrival_token&& arrival) const { fermata_anonymous_wait(handle_, arrival.phase_); }

  void arrive_and_wait() {
    if constexpr (kCompletes) {
      fermata_anonymous* const handle = handle_;  // another thread that returns first may destroy *this
      const arrival_token arrival = arrive();
      fermata_anonymous_wait(handle, arrival.phase_);
    } else {
      const int status = fermata_anonymous_meet(handle_);
      if (status < 0) [[unlikely]]
        detail::throw_status(status, "fermata::barrier");
    }
  }

  void arrive_and_drop() {
    std::uint64_t phase = 0;
    const int status = fermata_anonymous_drop(handle_, &phase);
    finish(status, phase);
  }

 private:
  void finish(int status, std::uint64_t phase) {
    if (status < 0) [[unlikely]]
      detail::throw_status(status, "fermata::barrier");
    if constexpr (kCompletes) {
      if (status != FERMATA_LAST) return;
      completion_();
      fermata_anonymous_release(handle_, phase);
    }
  }

  fermata_anonymous* handle_ = nullptr;
  [[no_unique_address]] CompletionFunction completion_;
};

// A barrier for threads that know their rank, 0 to members - 1. Each rank arrives once per phase. A rank's
// calls may come from different threads, if each call happens before the next. If many members have a CPU
// each, it is mostly faster than fermata::barrier: each member writes flags of its own, instead of adding to
// shared words. Its functions throw std::system_error if memory runs out, if a rank or the number of
// members (1 to 4096) is invalid, and in a forked child of the process that made the barrier.
class ranked_barrier {
 public:
  explicit ranked_barrier(std::uint32_t members) {
    const int status = fermata_ranked_create(members, &handle_);
    if (status < 0) detail::throw_status(status, "fermata::ranked_barrier");
  }
  // All calls must have returned.
  ~ranked_barrier() { fermata_ranked_destroy(handle_); }
  ranked_barrier(const ranked_barrier&) = delete;
  ranked_barrier& operator=(const ranked_barrier&) = delete;

  void arrive_and_wait(std::uint32_t rank) {
    const int status = fermata_ranked_meet(handle_, rank);
    if (status < 0) [[unlikely]]
      detail::throw_status(status, "fermata::ranked_barrier");
  }

 private:
  fermata_ranked* handle_ = nullptr;
};

}  // namespace fermata::inline v0
#endif
