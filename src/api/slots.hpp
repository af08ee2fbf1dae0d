// Slots of persistent operations: parts of a team's heap, kept account of by rank 0, used by all members, given back by each on its own.
//
// A part begins with a count of the members that still hold it. Each counts itself out when it frees its request, whenever that is and
// without a word to the others; rank 0 takes back what nobody holds any more when it looks for room. So nobody ever waits for a free,
// and the account needs no lock.
#ifndef FERMATA_API_SLOTS_HPP
#define FERMATA_API_SLOTS_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "exec/team.hpp"

struct fermata_member;
struct fermata_operation;
struct fermata_request;

namespace fermata::api {

// Rank 0's account.
class SlotHeap {
 public:
  // The heap lies at `base` + begin.
  SlotHeap(std::byte* base, std::uint64_t begin, std::uint64_t bytes);
  struct Part {
    std::uint64_t at = 0;  // from base: its line with the count, `bytes` behind that; 0: no room
    bool used = false;     // it was another part before, and is as that one was left
  };
  Part take(std::uint64_t bytes, std::uint32_t holders, std::uint64_t spare = 0);  // spare: bytes among them that it doesn't need
  std::size_t taken() const { return taken_.size(); }                              // parts; some of them may not be held any more
  // Bytes that a part may have now beyond what it needs, to be faster: of an eighth of the heap a share of what is left, so that however
  // many parts come, they find room.
  std::uint64_t spare() const { return spare_ / kSpares; }

 private:
  struct Taken {
    std::uint64_t at, bytes, spare;
  };
  static constexpr std::uint64_t kSpares = 16;

  std::uint64_t find(std::uint64_t bytes);
  void collect();
  bool put_back(std::uint64_t at, std::uint64_t bytes);  // false: there is no memory to say so

  std::byte* base_;
  std::map<std::uint64_t, std::uint64_t> room_;  // bytes by where they begin; never two that touch
  std::vector<Taken> taken_;
  std::size_t collect_at_ = 0;  // parts: twice those that the last collection left, so a part is looked at twice on average
  std::uint64_t used_;          // what lies behind is as new
  std::uint64_t spare_;         // bytes of it that may still be taken without need
};

// The same where there are several hosts. Behind the count a part has a word for each host, in which that one says rank 0 the last use that
// all its members have let go. But what the ports still carry then, a last credit for one, comes all the same. So a part stays what it is:
// it is used again by operations with the same rings alone, and their pieces count on from beyond all that were (first_piece), so
// whatever comes late is older than what it meets.
class PartsOverHosts {
 public:
  struct Part {
    std::uint64_t at = 0;   // from the team's base; 0: no room
    std::uint64_t use = 0;  // from 1
  };
  // rings: a hash of where they lie, and between whom.
  Part take(const exec::Team& team, std::uint64_t bytes, std::uint64_t rings);

 private:
  struct Taken {
    Part part;
    std::uint64_t rings = 0;
  };
  std::vector<Taken> taken_;
  std::uint64_t used_ = 0;  // bytes of the heap
};

// A member's hold on a part, and on the team's memory: requests may be freed after their member has left.
class HeldSlots {
 public:
  HeldSlots() = default;
  HeldSlots(const HeldSlots&) = delete;
  HeldSlots& operator=(const HeldSlots&) = delete;
  ~HeldSlots();
  void hold(exec::Team& team, std::uint64_t at, std::uint64_t use);
  std::byte* rings() const;

 private:
  exec::Team* team_ = nullptr;
  std::uint64_t at_ = 0;
  std::uint64_t use_ = 0;         // over several hosts
  std::uint32_t generation_ = 0;  // a forked child holds nothing
};

// All memory that a made request needs to be persistent, for any number of starts. FERMATA_OK, or it throws.
int reserve_all(fermata_request& request);
// Slots of its own for a persistent request, which all members make. Rank 0 tells the others where they are. Null: this member has no
// memory for its request, but takes part: the others, who get theirs, free them on their own.
int take_slots(fermata_member* member, const fermata_operation& operation, fermata_request* request);

}  // namespace fermata::api
#endif
