#include "exec/busy_members.hpp"

#include "exec/progress_thread.hpp"
#include "exec/request_queues.hpp"

namespace fermata::exec {
namespace {

constexpr std::uint32_t kLockSpins = 200;  // tries before the thread yields its CPU

constinit BusyMembers lists[BusyMembers::kLists];

}  // namespace

constinit thread_local char BusyMembers::thread_ = 0;

BusyMembers& BusyMembers::mine() {
  // Addresses of thread-local memory differ in their middle bits.
  const auto number = reinterpret_cast<std::uintptr_t>(self());
  return lists[(number >> 12 ^ number >> 6) * 0x9e3779b97f4a7c15u >> 57];
}

BusyMembers& BusyMembers::number(std::size_t n) { return lists[n]; }

// Spins, because the lock is held only for a few instructions.
void BusyMembers::lock() {
  const std::uint32_t generation = os::fork_generation();
  while (!lock_.try_lock(BiasedLock<RealAtomics>::kBiased + generation)) RealAtomics::pause();
  if (generation_ == generation) return;
  generation_ = generation;
  first_.store(nullptr, std::memory_order_relaxed);  // order: relaxed: under the lock
}

void BusyMembers::add(RequestQueues& member) {
  lock();
  BusyLink& place = member.link_;
  RequestQueues* const first = first_.load(std::memory_order_relaxed);  // order: relaxed: under the lock
  place = {this, first, nullptr, self()};
  if (first != nullptr) first->link_.before = &member;
  first_.store(&member, std::memory_order_relaxed);  // order: relaxed: under the lock
  unlock();
  ProgressThread::requests_began();
}

void BusyMembers::remove(RequestQueues& member) {
  BusyLink& place = member.link_;
  BusyMembers& busy = *place.busy;
  busy.lock();
  if (place.next != nullptr) place.next->link_.before = place.before;
  if (place.before != nullptr) place.before->link_.next = place.next;
  else busy.first_.store(place.next, std::memory_order_relaxed);  // order: relaxed: under the lock
  place = {};
  busy.unlock();
}

RequestQueues* BusyMembers::take_next(const RequestQueues* after, const RequestQueues* except,
                                      const void* thread) {
  lock();
  // order: relaxed: under the lock
  RequestQueues* m = after != nullptr ? after->link_.next : first_.load(std::memory_order_relaxed);
  while (m != nullptr &&
         (m == except || (thread != nullptr && m->link_.thread != thread) || !m->lock_.try_lock()))
    m = m->link_.next;
  unlock();
  return m;
}

void RequestQueues::lock() {
  for (std::uint32_t n = 0; !lock_.try_lock(); ++n) {
    if (lock_.is_biased()) return;
    if (n < kLockSpins) RealAtomics::pause();
    else os::yield();
  }
  if (link_.thread == BusyMembers::self()) return;
  BusyMembers::remove(*this);
  BusyMembers::mine().add(*this);
}

void RequestQueues::unlock() {
  const bool known = has_others();
  if (!known) BusyMembers::remove(*this);
  else if (link_.busy == nullptr) BusyMembers::mine().add(*this);
  lock_.unlock(known ? BiasedLock<RealAtomics>::kFree : BiasedLock<RealAtomics>::kBiased);
}

}  // namespace fermata::exec
