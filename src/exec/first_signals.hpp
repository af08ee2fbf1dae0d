// First signals: in a call on the fast path, a member also computes the first signal of the next such call
// and stores it here. If the same call follows, its first signal is ready.
#ifndef FERMATA_EXEC_FIRST_SIGNALS_HPP
#define FERMATA_EXEC_FIRST_SIGNALS_HPP

#include <cstddef>
#include <cstdint>

#include "base/collective.hpp"
#include "exec/cursor.hpp"
#include "exec/team_memory.hpp"

namespace fermata::exec {

// The prepared first signals of the member's next calls, for its present history (History in exec/call.hpp).
// A first signal is unknown if it was not prepared. The member forgets it when a call uses the signal's plan
// but not the signal, or when the history changes.
struct FirstSignals {
  TeamCursor::PreparedSignal barrier;
  TeamCursor::PreparedSignal word;
  TeamCursor::PreparedSignal whole;  // of one word with the caller's own fold
  TeamCursor::PreparedSignal swap;
  // The call that `word` is for. Its arguments are valid.
  std::size_t count = 0;
  std::uint32_t type = 0;
  std::uint32_t op = 0;
  // After what calls of one word read.
  TeamCursor::PreparedSignal words;  // of several words
  // The call that `words` is for. Its arguments are valid.
  std::size_t words_count = 0;
  std::uint32_t words_type = 0;
  std::uint32_t words_op = 0;
  std::uint32_t words_bytes = 0;
  // The call that `swap` is for.
  Collective swapped_collective = Collective::kBarrier;
  std::size_t swapped_count = 0;
  std::uint32_t swapped_type = 0;
  std::uint32_t swapped_op = 0;
  std::uint32_t swapped_bytes = 0;
};

// The last blocking allreduce of exactly 8 bytes, or of more bytes, with a built-in operator, if its plan
// goes in rounds (goes_in_rounds()).
struct Repeat {
  Folds folds;
  std::uint64_t call = 0;  // Call::packed()
  std::uint64_t tag = 0;   // History::own_tag(call)
  bool sums_doubles = false;
};

// Buffers of a swap: each of two members sends the other a block of at most 8 bytes.
struct Swap {
  const void* sent = nullptr;  // for the other member
  const void* kept = nullptr;  // this member's own block
  void* kept_to = nullptr;     // where `kept` goes; null: it is folded with the block that comes
  // where the other member's block goes, or the result of the fold
  void* out = nullptr;
};

// The last swap.
struct Swapped {
  FoldFn fold = nullptr;   // null: nothing is folded
  std::uint64_t call = 0;  // as in Repeat
  std::uint64_t tag = 0;
  std::uint64_t sent = 0;  // the blocks of Swap themselves, each in one word
  std::uint64_t kept = 0;
  std::uint32_t bytes = 0;
  bool left = false;  // this member's operand is the left one
};

}  // namespace fermata::exec
#endif
