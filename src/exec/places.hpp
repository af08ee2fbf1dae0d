// Places: room for further teams in the file of a team of processes, which have its descriptor already:
// nobody hands one out, and the file grows as places are first taken. They are address space; memory is taken
// where it is used, and given back with the place.
//
// What members write over the table ends teams, but no process: a place must lie in the file behind the
// team's own segment, and is looked at as any other segment is. A table at the end of that team's own segment
// says what is taken. It holds no lock that others wait for, so a process may die at any moment: what it had
// stays taken until the file goes.
#ifndef FERMATA_EXEC_PLACES_HPP
#define FERMATA_EXEC_PLACES_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "sync/turn.hpp"

namespace fermata::exec {

struct Place {
  Turn<RealAtomics> turn;            // taken with it
  std::atomic<std::uint32_t> users;  // handles of processes; 0: nobody may come any more
  std::atomic<std::uint32_t> times;  // that it was taken, so that a number means one team alone
  std::uint64_t offset, bytes;       // since it was first taken; with the turn
};

// What teams of one shape are made with, left for the next: written once.
struct Kept {
  Turn<RealAtomics> turn;          // taken for ever
  std::atomic<std::uint64_t> key;  // 0: not there yet
  std::uint64_t offset, bytes;
};

struct PlaceTable {
  static constexpr std::uint32_t kPlaces = 2048, kKept = 128;
  static constexpr std::uint64_t kMostKept = std::uint64_t{1} << 28;  // bytes of one
  std::atomic<std::uint64_t> taken;                                   // bytes of the file behind the team's own segment
  Place places[kPlaces];
  Kept kept[kKept];
};

class Places {
 public:
  // `own_bytes`: of the team's segment.
  Places(PlaceTable& table, std::int32_t fd, std::uint64_t own_bytes) : table_(table), fd_(fd), own_bytes_(own_bytes) {}

  // Zeroed, with one user. `front`: bytes whose memory is taken at once, so that there being none is an error
  // here.
  Status take(std::uint64_t bytes, std::uint64_t front, std::uint64_t* number, std::uint64_t* offset);
  // One more user of a place; false: nobody has it any more.
  bool hold(std::uint64_t number, std::uint64_t* offset, std::uint64_t* bytes);
  // One less. The last one gives the memory back: as its user knows the place, not as others may have written
  // over the table.
  void drop(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes);

  // The bytes kept under a key: how many, and a copy where there is capacity. 0: none.
  std::size_t look_up(std::uint64_t key, void* bytes, std::size_t capacity) const;
  // If there is room.
  void keep(std::uint64_t key, const void* bytes, std::size_t length);

 private:
  Place* free_place(std::uint64_t bytes);
  Status extend(std::uint64_t bytes, std::uint64_t* offset);
  bool lies_there(std::uint64_t offset, std::uint64_t bytes) const;
  Place& at(std::uint64_t number) const { return table_.places[number % PlaceTable::kPlaces]; }

  PlaceTable& table_;
  std::int32_t fd_;
  std::uint64_t own_bytes_;
};

}  // namespace fermata::exec
#endif
