// What a member does with the payload of a signal that it has awaited: a part of the cursor (cursor.hpp),
// which explains A and M.
#ifndef FERMATA_EXEC_TAKE_HPP
#define FERMATA_EXEC_TAKE_HPP

#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/status.hpp"
#include "base/word.hpp"
#include "exec/carried.hpp"
#include "exec/program.hpp"

namespace fermata {

template <Load L>
std::uint32_t words_in(std::uint32_t carried) {
  return L == Load::kOneWord ? 1 : carried;
}

template <class A, class M>
struct Taking {
  using Payload = std::remove_reference_t<decltype(std::declval<M&>().payload(0, 0))>;

  // Takes the payload at `slot` into the step's register, as its fold says.
  template <Load L>
  static void take(M& memory, const Carried& carried, const Step& s, std::uint32_t slot,
                   std::uint64_t (*regs)[kPayloadWords]) {
    if (s.fold == Fold::kNone) return;
    std::uint64_t* const mine = regs[s.reg];
    if (s.fold == Fold::kCopy) {
      each_word(words_in<L>(carried.words), [&](std::uint32_t i) __attribute__((always_inline)) {
        mine[i] = A::plain_load(memory.payload(slot, i));
      });
    } else if constexpr (L == Load::kWords) {
      if (carried.whole != nullptr) return fold_whole(memory, carried, s, slot, mine);
      fold_line(mine, mine, &memory.payload(slot, 0), carried.words, carried.folds.line, s.fold);
    } else {
      const std::uint64_t theirs = A::plain_load(memory.payload(slot, 0));
      *mine = s.fold == Fold::kCombineLeft ? carried.folds.word(theirs, *mine)
                                           : carried.folds.word(*mine, theirs);
    }
  }

  [[gnu::always_inline]] static Status fold_line(void* to, const std::uint64_t* mine, const Payload* payload,
                                                 std::uint32_t words, LineFold fold, Fold side) {
    std::uint64_t room[kPayloadWords];
    const std::uint64_t* const theirs = A::plain_words(payload, words, room);
    const bool left = side == Fold::kCombineLeft;
    return fold(to, left ? theirs : mine, left ? mine : theirs, words);
  }

  static void fold_whole(M& memory, const Carried& carried, const Step& s, std::uint32_t slot,
                         std::uint64_t* mine) {
    alignas(16) std::uint64_t theirs[kPayloadWords];  // nobody reads beyond carried.words
    each_word(carried.words, [&](std::uint32_t i) __attribute__((always_inline)) {
      theirs[i] = A::plain_load(memory.payload(slot, i));
    });
    if (s.fold == Fold::kCombineRight) return carried.whole(mine, theirs, carried.context);
    carried.whole(theirs, mine, carried.context);
    each_word(carried.words, [&](std::uint32_t i) __attribute__((always_inline)) { mine[i] = theirs[i]; });
  }
};

}  // namespace fermata

#endif
