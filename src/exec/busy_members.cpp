#include "exec/busy_members.hpp"

#include "exec/member.hpp"
#include "exec/progress_thread.hpp"

namespace fermata::exec {
namespace {

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

void BusyMembers::add(Member* member) {
  lock();
  BusyLink& place = member->requests_.link_;
  Member* const first = first_.load(std::memory_order_relaxed);  // order: relaxed: under the lock
  place = {this, first, nullptr, self()};
  if (first != nullptr) first->requests_.link_.before = member;
  first_.store(member, std::memory_order_relaxed);  // order: relaxed: under the lock
  unlock();
  ProgressThread::requests_began();
}

void BusyMembers::remove(Member* member) {
  BusyLink& place = member->requests_.link_;
  BusyMembers& busy = *place.busy;
  busy.lock();
  if (place.next != nullptr) place.next->requests_.link_.before = place.before;
  if (place.before != nullptr) place.before->requests_.link_.next = place.next;
  else busy.first_.store(place.next, std::memory_order_relaxed);  // order: relaxed: under the lock
  place = {};
  busy.unlock();
}

Member* BusyMembers::take_next(const Member* after, const Member* except, const void* thread) {
  lock();
  // order: relaxed: under the lock
  Member* m = after != nullptr ? after->requests_.link_.next : first_.load(std::memory_order_relaxed);
  while (m != nullptr && (m == except || (thread != nullptr && m->requests_.link_.thread != thread) ||
                          !m->requests_.lock_.try_lock()))
    m = m->requests_.link_.next;
  unlock();
  return m;
}

}  // namespace fermata::exec
