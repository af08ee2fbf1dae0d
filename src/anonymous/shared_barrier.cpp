// How barriers between processes wait.
#include "anonymous/shared_barrier.hpp"

#include "anonymous/machine.hpp"

namespace fermata::anonymous {
namespace {

// How often destroy() checks before it sleeps. To leave, a thread that has its CPU needs one more atomic add.
constexpr std::uint32_t kLooks = 512;
constexpr std::int64_t kSleepNs = 50'000'000;

Standing standing(const void* barrier, std::uint64_t token) {
  auto* self = const_cast<SharedBarrier*>(static_cast<const SharedBarrier*>(barrier));  // for reads only
  Standing result{barrier, self->count(), 0};
  if (is_over(self->phase(), token)) return result;
  // order: relaxed: only for reports
  const std::uint64_t left = token / 2 - RealAtomics::load_relaxed(self->phase().word) / 2;
  result.missing = left < result.count ? static_cast<std::uint32_t>(left) : result.count;
  return result;
}

}  // namespace

Met SharedBarrier::meet() {
  const OsCalls os(nullptr, true);
  const Arrival arrival = arrive(os);                       // step 1
  if (!arrival.last && !is_over(phase(), arrival.token)) {  // step 2
    const std::uint32_t looks =
        t_spins.barrier == this ? t_spins.looks : choose_spins(count(), cpus_of_processes());
    if (!look_often(phase(), arrival.token, looks)) {
      wait_long({phase(), phase().bell, arrival.token, this, 0, count(), arrival.token / 2 / count(), nullptr,
                 nullptr, standing});
    }
  }
  leave(os);  // step 3
  return arrival.last ? Met::kLast : Met::kOther;
}

void SharedBarrier::destroy() {
  OsCalls os(nullptr, true);
  await_gone(os, kLooks, kSleepNs);  // step 4
}

}  // namespace fermata::anonymous
