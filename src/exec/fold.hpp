// Folding two words: one function per (operator, type).
#ifndef FERMATA_EXEC_FOLD_HPP
#define FERMATA_EXEC_FOLD_HPP

#include "base/kind.hpp"
#include "exec/cursor.hpp"

namespace fermata {

// Null where the operator is not defined for the type. Elements narrower than a word fold lane by lane.
FoldFn fold_of(Op op, Type type);

// For pairs that are wider than a word: context is their number, as a pointer. Null for other types.
WholeFold whole_fold_of(Op op, Type type);

// UPC's tagged barrier (hybrid-collectives-p7ih section 5.1, note 2): register = {max(tag), max(~tag)}, 32 bits each,
// of those members that gave one; {0, 0} from one that gave none.
std::uint64_t fold_tags(std::uint64_t left, std::uint64_t right);
std::uint64_t tag_register(std::uint32_t tag);
// All given tags are equal, or none was given.
bool tags_agree(std::uint64_t folded);

}  // namespace fermata
#endif
