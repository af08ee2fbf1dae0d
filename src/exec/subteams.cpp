#include "exec/subteams.hpp"

#include "os/os.hpp"

namespace fermata::exec {

void Subteams::see_number(std::uint32_t number) {
  std::uint32_t seen = seen_.load(std::memory_order_relaxed);  // order: relaxed: a number
  // order: relaxed: a number
  while (seen < number && !RealAtomics::compare_exchange_relaxed(seen_, seen, number))
    seen = seen_.load(std::memory_order_relaxed);  // order: relaxed: a number
}

void Subteams::lock() {
  while (!lock_.try_lock()) os::yield();
}

void Subteams::add(Entry& entry) {
  lock();
  entry.next = first_;
  first_ = &entry;
  unlock();
}

void Subteams::remove(Entry& entry) {
  lock();
  Entry** at = &first_;
  while (*at != &entry) at = &(*at)->next;
  *at = entry.next;
  unlock();
}

}  // namespace fermata::exec
