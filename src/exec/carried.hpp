// What a call carries on the lines of its signals, and how members fold it.
#ifndef FERMATA_EXEC_CARRIED_HPP
#define FERMATA_EXEC_CARRIED_HPP

#include <cstdint>

#include "base/collective.hpp"
#include "base/status.hpp"
#include "base/word.hpp"
#include "exec/program.hpp"

namespace fermata {

inline constexpr std::uint32_t kPayloadWords = kLinePayload / 8;
static_assert(kPayloadWords <= kMostWords);

// left op right, element by element of a word. By value, because passing the words through memory would take
// as long as the rest of a short call.
using FoldFn = std::uint64_t (*)(std::uint64_t left, std::uint64_t right);

// to = left op right, on several words. `to` may be one of the operands, and need not be aligned. Returns
// kOk, so that a call may end with it and needs no stack frame.
using LineFold = Status (*)(void* to, const std::uint64_t* left, const std::uint64_t* right,
                            std::uint32_t words);

// acc = acc op other, on the whole payload. The two never overlap.
using WholeFold = void (*)(void* acc, const void* other, void* context);

// How to fold one word, for Load::kOneWord, and several, for Load::kWords.
struct Folds {
  FoldFn word = nullptr;
  LineFold line = nullptr;
};

// What one call carries: the number of 8-byte words per register, and how to fold.
struct Carried {
  std::uint32_t words = 0;
  Folds folds;
  // null: use `folds`. Load::kOneWord ignores it: a call that has it takes kWords
  WholeFold whole = nullptr;
  void* context = nullptr;
};

// How much a register holds. Each case has its own code, so that one word needs no loop.
enum class Load : std::uint8_t { kNothing, kOneWord, kWords };

// True if the program is a sequence of rounds: a send, then an await that folds (or carries nothing), all in
// register 0.
template <Load L>
inline bool goes_in_rounds(const Step* step) {
  for (; step->code == Code::kSend; step += 2) {
    const Step& await = step[1];
    const bool folds = await.fold == Fold::kCombineLeft || await.fold == Fold::kCombineRight;
    if (step->reg != 0 || await.code != Code::kAwait || await.reg != 0 || folds != (L != Load::kNothing))
      return false;
    if (step[2].code == Code::kEnd) return true;
  }
  return false;
}

}  // namespace fermata
#endif
