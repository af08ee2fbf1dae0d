// Completed non-blocking collectives on blocks leave their requests to later ones of the communicator that
// are the same, as in a loop. So Fermata need not prepare the same arguments again.
#include "begun.hpp"

#include <stdlib.h>

#include <new>

namespace fermata::preload {
namespace {

struct Free {
  Free* next;
};
Free* unused = nullptr;  // memory of freed requests; under requests_lock

constexpr int kMostKept = 4;  // each call searches all of them

bool may_keep(const State& s, const Begun& b) {
  // order: relaxed: the thread that frees the communicator is its last user
  const bool lives = s.member != nullptr && s.comm.load(std::memory_order_relaxed) != MPI_COMM_NULL;
  return lives && b.request != nullptr && !b.persistent && b.status == FERMATA_OK && b.operation.is_plain();
}

void end(Begun* b) {
  fermata_request_free(b->request);
  drop(b);
}

}  // namespace

Begun* new_begun() {
  {
    const Locked locked;
    if (Free* f = unused; f != nullptr) {
      unused = f->next;
      return new (f) Begun;
    }
  }
  void* memory = malloc(sizeof(Begun));
  return memory != nullptr ? new (memory) Begun : nullptr;
}

void drop(Begun* b) {
  b->~Begun();
  const Locked locked;
  unused = new (b) Free{unused};
}

Begun* as_before(State& s, Begun* b) {
  if (s.kept == nullptr || b->is_barrier || !b->operation.is_plain()) return b;
  Begun** at = &s.kept;
  while (*at != nullptr && !(*at)->operation.is_same(b->operation, s.size)) at = &(*at)->behind;
  Begun* const before = *at;
  if (before == nullptr) return b;
  *at = before->behind;
  before->behind = nullptr;
  before->told = before->over = before->released = false;
  drop(b);
  return before;
}

void recycle(State& s, Begun* b) {
  if (!may_keep(s, *b)) return end(b);
  fermata_request_set_callback(b->request, nullptr, nullptr);
  b->behind = s.kept;
  s.kept = b;
  Begun** at = &s.kept;
  for (int n = 0; n < kMostKept && *at != nullptr; ++n) at = &(*at)->behind;
  if (*at == nullptr) return;
  end(*at);
  *at = nullptr;
}

void drop_kept(State& s) {
  while (s.kept != nullptr) {
    Begun* const b = s.kept;
    s.kept = b->behind;
    end(b);
  }
}

}  // namespace fermata::preload
