#include "uses.hpp"

#include <cstdint>

#include "begun.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

Use* chains[kChains];  // by handle; under requests_lock

Use*& chain_of(MPI_Op op, MPI_Datatype type) {
  return chains[op != MPI_OP_NULL ? chain_number(op) : chain_number(type)];
}

// Needs the lock. Null: no operation uses it.
Use* find_use(MPI_Op op, MPI_Datatype type) {
  Use* u = chain_of(op, type);
  while (u != nullptr && (u->op != op || u->type != type)) u = u->next;
  return u;
}

// False: no operation uses it.
bool free_after_use(MPI_Op op, MPI_Datatype type) {
  const Locked locked;
  Use* const u = find_use(op, type);
  if (u != nullptr) u->frees = true;
  return u != nullptr;
}

}  // namespace

void begin_use(Use& u, MPI_Op op, MPI_Datatype type) {
  const Locked locked;
  Use*& chain = chain_of(op, type);
  u = {op, type, false, chain, nullptr};
  if (chain != nullptr) chain->previous = &u;
  chain = &u;
}

void end_use(Use& u) {
  bool frees = false;
  {
    const Locked locked;
    frees = u.frees;
    (u.previous != nullptr ? u.previous->next : chain_of(u.op, u.type)) = u.next;
    if (u.next != nullptr) u.next->previous = u.previous;
    Use* const other = frees ? find_use(u.op, u.type) : nullptr;
    if (other != nullptr) {
      other->frees = true;
      frees = false;
    }
  }
  if (frees) u.op != MPI_OP_NULL ? real.Op_free(&u.op) : real.Type_free(&u.type);
}

}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_MPI_FREES(FERMATA_INTERCEPT)

extern "C" {

int MPI_Op_free(MPI_Op* op) {
  if (op == nullptr || *op == MPI_OP_NULL || !free_after_use(*op, MPI_DATATYPE_NULL)) return real.Op_free(op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype* type) {
  if (type == nullptr || *type == MPI_DATATYPE_NULL || !free_after_use(MPI_OP_NULL, *type))
    return real.Type_free(type);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

}  // extern "C"
