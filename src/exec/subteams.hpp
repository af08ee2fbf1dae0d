// Subteams: the sub-teams that use one team's port, as this process knows them: their numbers, and the ports
// at which their lines land.
#ifndef FERMATA_EXEC_SUBTEAMS_HPP
#define FERMATA_EXEC_SUBTEAMS_HPP

#include <atomic>
#include <cstdint>

#include "os/os.hpp"
#include "sync/biased_lock.hpp"

namespace fermata::exec {

class TeamPort;

class Subteams {
 public:
  // A part of the sub-team's TeamPort. It is in the list from add() to remove().
  struct Entry {
    TeamPort* port = nullptr;
    // Above 0; no other sub-team of the port owner has it. subteam_of() (team/share.hpp) makes it from the
    // agreed number (see_number()) and the leader's rank in the port owner.
    std::uint32_t number = 0;
    Entry* next = nullptr;
  };

  // One more than the largest number that this process has seen in see_number().
  // order: relaxed: a number
  std::uint32_t next_number() const { return seen_.load(std::memory_order_relaxed) + 1; }
  // Records the number that the members of a team have agreed on for its new sub-teams.
  void see_number(std::uint32_t number) {
    std::uint32_t seen = seen_.load(std::memory_order_relaxed);  // order: relaxed: a number
    // order: relaxed: a number
    while (seen < number && !RealAtomics::compare_exchange_relaxed(seen_, seen, number))
      seen = seen_.load(std::memory_order_relaxed);  // order: relaxed: a number
  }

  void add(Entry& entry) {
    lock();
    entry.next = first_;
    first_ = &entry;
    unlock();
  }
  // Precondition: the entry is in the list.
  void remove(Entry& entry) {
    lock();
    Entry** at = &first_;
    while (*at != &entry) at = &(*at)->next;
    *at = entry.next;
    unlock();
  }
  // Calls land(port) for the sub-team with that number, if it is here. Meanwhile no entry is removed.
  // land must not call add() or remove().
  template <class Land>
  void land_in(std::uint32_t number, const Land& land) {
    lock();
    for (const Entry* entry = first_; entry != nullptr; entry = entry->next)
      if (entry->number == number) land(*entry->port);
    unlock();
  }

 private:
  // Only threads of this process take the lock, and landing is short.
  void lock() {
    while (!lock_.try_lock()) os::yield();
  }
  void unlock() { lock_.unlock(BiasedLock<RealAtomics>::kFree); }

  std::atomic<std::uint32_t> seen_{0};
  BiasedLock<RealAtomics> lock_;  // protects the list
  Entry* first_ = nullptr;
};

}  // namespace fermata::exec
#endif
