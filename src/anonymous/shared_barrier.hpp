// A barrier between processes: shared.hpp with its waiting.
#ifndef FERMATA_ANONYMOUS_SHARED_BARRIER_HPP
#define FERMATA_ANONYMOUS_SHARED_BARRIER_HPP

#include "anonymous/barrier.hpp"
#include "anonymous/shared.hpp"

namespace fermata::anonymous {

class SharedBarrier : private Shared<RealAtomics> {
 public:
  using Shared::count;
  using Shared::open;
  using Shared::phase;

  Met meet();      // arrives and waits: kLast for the thread that came last, kOther for all others
  void destroy();  // returns when all threads have left; no thread may arrive any more
};
// barriers.h promises this size, and a pthread_barrier_t has room for it.
static_assert(sizeof(SharedBarrier) == 24);

}  // namespace fermata::anonymous
#endif
