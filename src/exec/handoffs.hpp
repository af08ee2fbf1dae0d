// Handoffs: when members make a new team together (team/share.hpp), one member of each process makes or
// attaches the team, and stores it here for the other members in its process.
#ifndef FERMATA_EXEC_HANDOFFS_HPP
#define FERMATA_EXEC_HANDOFFS_HPP

#include <cstdint>

#include "base/status.hpp"

namespace fermata::exec {

class Team;
struct TeamLayout;

// Each stored pointer has a reference to its team. Any thread may call give() and take(): they take
// os::ProcessLock.
class Handoffs {
 public:
  explicit Handoffs(const TeamLayout& layout) : layout_(layout) {}
  ~Handoffs();
  Handoffs(const Handoffs&) = delete;

  // Stores the team that this rank has made or attached, with a reference of its own; null: none. Replaces
  // what an earlier call for the rank has stored. kMemory: the team is not stored.
  Status give(std::uint32_t rank, Team* made);
  // The team that give() has stored for this rank, with a reference for the caller; null: nothing is stored.
  Team* take(std::uint32_t rank) const;

 private:
  const TeamLayout& layout_;  // its number of members
  Team** made_ = nullptr;     // one per member; null: none was stored yet
};

}  // namespace fermata::exec
#endif
