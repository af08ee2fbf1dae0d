#include "exec/crew.hpp"

#include "exec/member.hpp"
#include "exec/progress_thread.hpp"

namespace fermata::exec {
namespace {

constinit Crew crews[Crew::kCrews];

}  // namespace

constinit thread_local char Crew::thread_ = 0;

Crew& Crew::mine() {
  // Addresses of thread-local memory differ in their middle bits.
  const auto number = reinterpret_cast<std::uintptr_t>(self());
  return crews[(number >> 12 ^ number >> 6) * 0x9e3779b97f4a7c15u >> 57];
}

Crew& Crew::number(std::size_t n) { return crews[n]; }

// Spins, because the lock is held only for a few instructions.
void Crew::lock() {
  const std::uint32_t generation = os::fork_generation();
  while (!turn_.take(Turn<RealAtomics>::kAlone + generation)) RealAtomics::pause();
  if (generation_ == generation) return;
  generation_ = generation;
  first_.store(nullptr, std::memory_order_relaxed);  // order: relaxed: under the lock
}

void Crew::add(Member* member) {
  lock();
  CrewPlace& place = member->place_;
  Member* const first = first_.load(std::memory_order_relaxed);  // order: relaxed: under the lock
  place = {this, first, nullptr, self()};
  if (first != nullptr) first->place_.before = member;
  first_.store(member, std::memory_order_relaxed);  // order: relaxed: under the lock
  unlock();
  ProgressThread::requests_began();
}

void Crew::remove(Member* member) {
  CrewPlace& place = member->place_;
  Crew& crew = *place.crew;
  crew.lock();
  if (place.next != nullptr) place.next->place_.before = place.before;
  if (place.before != nullptr) place.before->place_.next = place.next;
  else crew.first_.store(place.next, std::memory_order_relaxed);  // order: relaxed: under the lock
  place = {};
  crew.unlock();
}

Member* Crew::take_next(const Member* after, const Member* except, const void* thread) {
  lock();
  // order: relaxed: under the lock
  Member* m = after != nullptr ? after->place_.next : first_.load(std::memory_order_relaxed);
  while (m != nullptr &&
         (m == except || (thread != nullptr && m->place_.thread != thread) || !m->turn_.take()))
    m = m->place_.next;
  unlock();
  return m;
}

}  // namespace fermata::exec
