#include "reduction.hpp"

#include <fermata/fermata.h>
#include <string.h>

#include "longest_element.hpp"

namespace fermata::preload {

PredefinedOp predefined_ops[kPredefinedOps] = {
    {MPI_SUM, FERMATA_SUM, kInteger | kFloating | kComplex},
    {MPI_PROD, FERMATA_PROD, kInteger | kFloating | kComplex},
    {MPI_MIN, FERMATA_MIN, kInteger | kFloating},
    {MPI_MAX, FERMATA_MAX, kInteger | kFloating},
    {MPI_LAND, FERMATA_LAND, kInteger | kLogical},
    {MPI_LOR, FERMATA_LOR, kInteger | kLogical},
    {MPI_LXOR, -1, kInteger | kLogical},
    {MPI_BAND, FERMATA_AND, kInteger | kBytes},
    {MPI_BOR, FERMATA_OR, kInteger | kBytes},
    {MPI_BXOR, FERMATA_XOR, kInteger | kBytes},
    {MPI_MINLOC, FERMATA_MINLOC, kPair},
    {MPI_MAXLOC, FERMATA_MAXLOC, kPair},
};

namespace {

void reduce_local(const void* from, void* onto, std::size_t count, const Reduction& r) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 30;
  for (std::size_t done = 0; done < count; done += kAtOnce) {
    const std::size_t some = count - done < kAtOnce ? count - done : kAtOnce;
    const auto offset = static_cast<MPI_Aint>(done) * r.layout.extent;
    PMPI_Reduce_local(static_cast<const char*>(from) + offset, static_cast<char*>(onto) + offset,
                      static_cast<int>(some), r.datatype, r.operation);
  }
}

// For elements that have gaps, or another order in memory: it unpacks them, folds, and packs the result.
void fold_packed(void* out, const void* left, const void* right, std::size_t count, const Reduction& r) {
  const FoldSpace& space = r.space;
  char* const a = space.at - space.low;
  char* const b = a + space.bytes;
  for (std::size_t done = 0; done < count; done += space.elements) {
    const std::size_t some = count - done < space.elements ? count - done : space.elements;
    const auto elements = static_cast<MPI_Count>(some);
    const std::size_t before = done * r.element;
    unpack(static_cast<const char*>(left) + before, a, elements, r.datatype, r.layout);
    unpack(static_cast<const char*>(right) + before, b, elements, r.datatype, r.layout);
    reduce_local(a, b, some, r);
    pack(b, elements, r.datatype, r.layout, static_cast<char*>(out) + before);
  }
}

}  // namespace

bool reduction_of(MPI_Datatype type, MPI_Op op, int ranks, Reduction* out) {
  if (op == MPI_OP_NULL || op == MPI_REPLACE || op == MPI_NO_OP) return false;
  out->datatype = type;
  out->operation = op;
  if (const PredefinedOp* known = predefined_op(op)) {
    const Predefined* t = predefined(type);
    if (t == nullptr || (known->families & t->family) == 0) return false;
    if (is_plain(*t, *known)) {
      out->type = t->number;
      out->op = known->op;
      out->parts = t->parts;
    }
    // Gaps of a predefined pair are sent as well: all ranks have the same ones.
    out->element = t->extent;
    out->layout = {t->extent, static_cast<MPI_Aint>(t->extent), true};
    return true;
  }
  int commutes = 0;
  if (!is_committed(type) || !layout_of(type, &out->layout) ||
      PMPI_Op_commutative(op, &commutes) != MPI_SUCCESS)
    return false;
  out->commutes = commutes != 0;
  out->packed = !out->layout.dense;
  out->element = out->layout.size;
  return out->element > 0 && out->element <= longest_element(ranks);
}

void fold_by_library(void* out, const void* left, const void* right, std::size_t count, void* user) {
  const auto& r = *static_cast<const Reduction*>(user);
  if (r.packed) return fold_packed(out, left, right, count, r);
  // MPI_Reduce_local writes the result over its right operand.
  if (out != left) {
    if (out != right) memcpy(out, right, count * r.element);
    return reduce_local(left, out, count, r);
  }
  char piece[4096];
  const std::size_t at_once = sizeof piece / r.element;
  auto* to = static_cast<char*>(out);
  auto* from = static_cast<const char*>(right);
  for (std::size_t done = 0; done < count; done += at_once) {
    const std::size_t some = count - done < at_once ? count - done : at_once;
    memcpy(piece, from, some * r.element);
    reduce_local(to, piece, some, r);
    memcpy(to, piece, some * r.element);
    to += some * r.element;
    from += some * r.element;
  }
}

}  // namespace fermata::preload
