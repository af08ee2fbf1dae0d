// Openings: what a member keeps of its last calls of the shortest path, so that the same call again needs no working out.
#ifndef FERMATA_EXEC_OPENINGS_HPP
#define FERMATA_EXEC_OPENINGS_HPP

#include <cstddef>
#include <cstdint>

#include "base/kind.hpp"
#include "exec/cursor.hpp"
#include "exec/fold.hpp"
#include "exec/team_memory.hpp"

namespace fermata::exec {

// The first signals of a member's next calls, as its history is now; unknown: not yet worked out, or something has come between.
struct Openings {
  TeamCursor::Opening barrier;
  TeamCursor::Opening word;
  TeamCursor::Opening whole;  // of one word with a fold of the caller's own
  TeamCursor::Opening swap;
  // The call that `word` is for: arguments that make sense.
  std::size_t count = 0;
  std::uint32_t type = 0;
  std::uint32_t op = 0;
  // And `swap`.
  Kind swapped_kind = Kind::kBarrier;
  std::size_t swapped_count = 0;
  std::uint32_t swapped_type = 0;
  std::uint32_t swapped_op = 0;
  std::uint32_t swapped_bytes = 0;
};

// The last allreduce of one whole word, if its plan goes in rounds.
struct Repeat {
  FoldFn fold = nullptr;
  std::uint64_t call = 0;
  std::uint64_t tag = 0;
  bool sums_doubles = false;
};

// Buffers of a call of two members, each of which sends the other what is for it, a block of at most 8 bytes.
struct Swap {
  const void* sent = nullptr;  // for the other one
  const void* kept = nullptr;  // of one's own
  void* kept_to = nullptr;     // where it goes; null: it is folded with what comes
  void* out = nullptr;         // where that goes
};

// The last swap.
struct Swapped {
  FoldFn fold = nullptr;
  std::uint64_t call = 0;
  std::uint64_t tag = 0;
  std::uint64_t sent = 0;
  std::uint64_t kept = 0;
  std::uint32_t bytes = 0;
  bool left = false;  // this member's operand stands left of the other's
};

}  // namespace fermata::exec
#endif
