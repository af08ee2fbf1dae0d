// Memory for the ring buffers of persistent collectives. Each request gets a part of the team's heap. Rank 0
// records the parts, all members use them, and each member frees its hold by itself.
//
// On one host, a part begins with a count of the members that still hold it. A member that frees its request
// decrements the count, at any time and without a message. When rank 0 needs memory, it takes back the parts
// that no member holds. So no member waits until another one frees its request, and rank 0's record needs no
// lock.
#ifndef FERMATA_TEAM_SLOTS_HPP
#define FERMATA_TEAM_SLOTS_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "exec/team.hpp"

struct fermata_member;
struct fermata_operation;
struct fermata_request;

namespace fermata::team {

inline constexpr std::uint64_t kSpareOfHeap = 8, kShareOfSpare = 16;

// Rank 0's record.
class SlotHeap {
 public:
  // The heap begins at `base` + begin.
  SlotHeap(std::byte* base, std::uint64_t begin, std::uint64_t bytes);
  struct Part {
    // Offset from base: first the line with the count, then `bytes` bytes. 0: no part is free.
    std::uint64_t at = 0;
    bool used = false;  // an earlier part was here, and its contents are still there
  };
  // `spare`: how many of the bytes the part does not need.
  Part take(std::uint64_t bytes, std::uint32_t holders, std::uint64_t spare = 0);
  std::size_t taken() const { return taken_.size(); }  // parts, also those that no member holds
  // Bytes that a part may take beyond its need, to be faster. They come from one eighth of the heap. A part
  // gets a fixed share of the rest of that eighth, so that later parts also find spare bytes.
  std::uint64_t spare() const { return spare_ / kShareOfSpare; }

 private:
  struct Taken {
    std::uint64_t at, bytes, spare;
  };
  std::uint64_t find(std::uint64_t bytes);
  void collect();
  // False: no memory to record it. The part then stays in taken_, and the next collect() tries again.
  bool put_back(std::uint64_t at, std::uint64_t bytes);

  std::byte* base_;
  std::map<std::uint64_t, std::uint64_t> room_;  // bytes of each free range, by offset; neighbours are merged
  std::vector<Taken> taken_;
  // take() calls collect() at this many parts: about twice as many as the last collect() left.
  std::size_t collect_at_ = 0;
  std::uint64_t used_;   // offset from which on no part has used the memory
  std::uint64_t spare_;  // bytes that parts may still take beyond their need
};

// The same over several hosts. After the count, a part has a word for each host. There each other host tells
// rank 0 the last use that all of its members have freed. The ports may still deliver a line later, for
// example a last credit. Therefore only collectives with the same ring buffers use a part again. Their pieces
// get higher numbers than all earlier pieces (take_slots). So a late line never replaces a newer one.
class PartsOverHosts {
 public:
  struct Part {
    std::uint64_t at = 0;   // from the team's base; 0: no part is free
    std::uint64_t use = 0;  // from 1
  };
  // rings: a hash of the edges and of their ring buffers' layout. beyond: how many of the bytes the part does
  // not need. There is no new part with more of them than a fixed share of what is left of one eighth of the
  // heap.
  Part take(const exec::Team& team, std::uint64_t bytes, std::uint64_t rings, std::uint64_t beyond = 0);

 private:
  struct Taken {
    Part part;
    std::uint64_t bytes = 0, rings = 0;
  };
  std::vector<Taken> taken_;
  std::uint64_t used_ = 0;    // bytes of the heap,
  std::uint64_t beyond_ = 0;  // and how many of them the parts do not need
};

// A member's hold on a part and on the team's memory. A request may be freed after its member has left.
class HeldSlots {
 public:
  HeldSlots() = default;
  HeldSlots(const HeldSlots&) = delete;
  HeldSlots& operator=(const HeldSlots&) = delete;
  ~HeldSlots();
  void hold(exec::Team& team, std::uint64_t at, std::uint64_t use);
  std::byte* rings() const;  // where the part's ring buffers begin

 private:
  exec::Team* team_ = nullptr;
  std::uint64_t at_ = 0;
  std::uint64_t use_ = 0;         // over several hosts; else 0
  std::uint32_t generation_ = 0;  // a forked child holds nothing
};

// Reserves all memory that a request from make() needs for any number of starts. Returns FERMATA_OK or
// throws.
int reserve_all(fermata_request& request);
// Gets ring buffers for a persistent request. All members call it. Rank 0 finds a part and tells the others
// its place. `request` null: this member has no memory for its request. It must call all the same, and drops
// its hold at once. The other members get their ring buffers, unless it is rank 0.
int take_slots(fermata_member* member, const fermata_operation& operation, fermata_request* request);

}  // namespace fermata::team
#endif
