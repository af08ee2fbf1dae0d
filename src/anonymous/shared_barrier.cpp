// Barriers between processes: their waiting.
#include "anonymous/shared_barrier.hpp"

#include "anonymous/machine.hpp"

namespace fermata::anonymous {
namespace {

constexpr std::uint32_t kLooks = 512;          // for the others to leave: each is an atomic add away from it, if it has its CPU
constexpr std::int64_t kSleepNs = 50'000'000;  // as the longest park

Standing standing(const void* barrier, std::uint64_t token) {
  auto* self = const_cast<SharedBarrier*>(static_cast<const SharedBarrier*>(barrier));  // looks only
  Standing result{barrier, self->count(), 0};
  if (is_over(self->phase(), token)) return result;
  const std::uint64_t left = token / 2 - RealAtomics::load_relaxed(self->phase().word) / 2;  // order: relaxed: text
  result.missing = left < result.count ? static_cast<std::uint32_t>(left) : result.count;
  return result;
}

}  // namespace

Met SharedBarrier::meet() {
  const OsCalls os(true);
  const Arrival arrival = arrive(os);                       // 1.
  if (!arrival.last && !is_over(phase(), arrival.token)) {  // 2.
    const std::uint32_t looks = t_spins.barrier == this ? t_spins.looks : choose_spins(count(), cpus_of_processes());
    if (!look_often(phase(), arrival.token, looks)) {
      wait_long({phase(), arrival.token, this, 0, count(), arrival.token / 2 / count(), nullptr, standing});
    }
  }
  leave(os);  // 3.
  return arrival.last ? Met::kLast : Met::kOther;
}

void SharedBarrier::destroy() {
  OsCalls os(true);
  await_gone(os, kLooks, kSleepNs);  // 4.
}

}  // namespace fermata::anonymous
