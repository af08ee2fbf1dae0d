// Folding two words, or two payloads: one function per (operator, type).
#ifndef FERMATA_EXEC_FOLD_HPP
#define FERMATA_EXEC_FOLD_HPP

#include "base/collective.hpp"
#include "exec/carried.hpp"

namespace fermata {

// Null if the operator is not defined for the type. Several elements in a word are folded one by one. For
// pairs that are wider than a word, `line` is null and `word` folds nothing: use whole_fold_of().
Folds folds_of(Op op, Type type);

// For pairs that are wider than a word, and kMinloc or kMaxloc: it does not check that the operator is one of
// these. Null for all other types: use folds_of(). The context of the function is the number of pairs, cast
// to a pointer.
WholeFold whole_fold_of(Op op, Type type);

// UPC's tagged barrier (hybrid-collectives-p7ih section 5.1, note 2). The register is {max(tag), max(~tag)},
// 32 bits each, over the members that gave a tag. A member without a tag contributes {0, 0}.
std::uint64_t fold_tags(std::uint64_t left, std::uint64_t right);
std::uint64_t tag_register(std::uint32_t tag);
// True if all given tags are equal, or none was given.
bool tags_agree(std::uint64_t folded);

}  // namespace fermata
#endif
