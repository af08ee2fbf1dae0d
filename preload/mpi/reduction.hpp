// An operator on a datatype: one of Fermata's, or MPI's by MPI_Reduce_local.
#ifndef FERMATA_PRELOAD_MPI_REDUCTION_HPP
#define FERMATA_PRELOAD_MPI_REDUCTION_HPP

#include <fermata/fermata.h>

#include <cstddef>

#include "types.hpp"

namespace fermata::preload {

// Memory for two operands: fold_by_library() unpacks `elements` elements at a time to it. low: the offset of
// the first byte from the address that the operator gets.
struct FoldSpace {
  char* at = nullptr;
  std::size_t bytes = 0, elements = 0;  // of one operand
  MPI_Aint low = 0;
};

struct Reduction {
  int type = -1, op = -1;   // Fermata's; type < 0: MPI_Reduce_local folds
  std::size_t parts = 1;    // numbers of Fermata's type in an element
  std::size_t element = 0;  // bytes of an element as it is sent
  bool commutes = true;
  bool packed = false;  // elements are sent without their gaps, and unpacked to be folded
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Op operation = MPI_OP_NULL;
  Layout layout = {};
  FoldSpace space = {};  // if packed; its user provides it
};

struct PredefinedOp {
  MPI_Op handle;
  int op;                 // enum fermata_op; -1: Fermata has none
  std::uint8_t families;  // bits of TypeClass: the types that it is defined for
};
inline constexpr std::size_t kPredefinedOps = 12;
extern PredefinedOp predefined_ops[kPredefinedOps];  // handles may be addresses that only the loader knows
inline const PredefinedOp* predefined_op(MPI_Op op) {
  for (const PredefinedOp& known : predefined_ops)
    if (known.handle == op) return &known;
  return nullptr;
}
// Does Fermata have this operator for this type? An element may have two parts.
inline bool is_plain(const Predefined& type, const PredefinedOp& op) {
  return (op.families & type.family) != 0 && op.op >= 0 && type.number >= 0 &&
         (type.family != kComplex || op.op == FERMATA_SUM);
}

// The answer depends only on what MPI requires to be the same at all ranks: the operator, the type that it is
// applied to, and the number of ranks. False: MPI is to do it, or to report what is wrong.
bool reduction_of(MPI_Datatype type, MPI_Op op, int ranks, Reduction* out);

// A fermata_operator; user: a Reduction.
void fold_by_library(void* out, const void* left, const void* right, std::size_t count, void* user);

}  // namespace fermata::preload
#endif
