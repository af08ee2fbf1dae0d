// Places: ranges in the shared memory file of a team of processes, where further teams can lie. All processes
// of the team have the file's descriptor already, so no process passes it. The file grows when a place is
// taken for the first time or with another size, and when plans are cached there. A place is address space.
// After its first bytes, memory is allocated where it is used. The memory is freed with the place. The range
// of the file stays for the next place of this size.
//
// A table at the end of the team's own segment lists the places. A member that writes over the table can
// break teams, but it cannot crash another process. Each process checks that a place lies in the file after
// the team's own segment. Then it checks the segment in the place like any other segment.
//
// The table has no lock that others wait for, so a process may die at any moment. Its places then stay taken
// until the file is deleted.
#ifndef FERMATA_EXEC_PLACES_HPP
#define FERMATA_EXEC_PLACES_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "sync/biased_lock.hpp"

namespace fermata::exec {

struct Place {
  BiasedLock<RealAtomics> lock;  // held while the place is taken
  // mappings in all processes, and ranks that forked children hold; 0: no process can attach
  std::atomic<std::uint32_t> users;
  std::atomic<std::uint32_t> times;  // how often the place was taken: makes its number unique to one team
  std::uint64_t offset, bytes;       // of the range, set under the lock when the place is taken
};

// The packed plans for one team configuration, cached for later teams of this configuration. Written once.
struct CachedPlans {
  BiasedLock<RealAtomics> lock;    // never released
  std::atomic<std::uint64_t> key;  // of the configuration; 0: nothing is stored yet
  std::uint64_t offset, bytes;
};

struct PlaceTable {
  static constexpr std::uint32_t kPlaces = 2048, kCached = 128;
  static constexpr std::uint64_t kMostCached = std::uint64_t{1} << 28;  // bytes of one entry
  // bytes of the file after the team's own segment
  std::atomic<std::uint64_t> taken;
  Place places[kPlaces];
  CachedPlans cached[kCached];
};

class Places {
 public:
  Places() = default;  // no table
  // `own_bytes`: size of the team's own segment.
  Places(PlaceTable& table, std::int32_t fd, std::uint64_t own_bytes)
      : table_(&table), fd_(fd), own_bytes_(own_bytes) {}
  std::int32_t fd() const { return fd_; }  // -1: no table

  // Takes a place, zeroed, with one user. The memory of its first `front` bytes is allocated at once, so that
  // a lack of memory is an error of this call.
  Status take(std::uint64_t bytes, std::uint64_t front, std::uint64_t* number, std::uint64_t* offset);
  // Adds a user to a place. False: the place has no users, another team has taken it since, or it does not
  // lie in the file.
  bool hold(std::uint64_t number, std::uint64_t* offset, std::uint64_t* bytes);
  // Removes a user. The last user frees the memory. The caller passes the offset and size that it knows,
  // because other processes may have written over the table.
  void drop(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes);

  // Returns the length of a key's entry, 0 if there is none that can be read. Copies the entry if `capacity`
  // is enough and `bytes` is not null.
  std::size_t look_up(std::uint64_t key, void* bytes, std::size_t capacity) const;
  // Stores an entry if there is room.
  void keep(std::uint64_t key, const void* bytes, std::size_t length);

 private:
  Place* free_place(std::uint64_t bytes);
  Status extend(std::uint64_t bytes, std::uint64_t* offset);
  bool lies_there(std::uint64_t offset, std::uint64_t bytes) const;
  Place& at(std::uint64_t number) const { return table_->places[number % PlaceTable::kPlaces]; }

  PlaceTable* table_ = nullptr;
  std::int32_t fd_ = -1;
  std::uint64_t own_bytes_ = 0;
};

}  // namespace fermata::exec
#endif
