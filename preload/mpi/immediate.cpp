// The non-blocking and the persistent collectives.
#include "calls.hpp"
#include "persistent.hpp"
#include "real.hpp"
#include "recovery.hpp"

namespace fermata::preload {
namespace {

// What a call is to make: a non-blocking request, or a persistent one.
struct Target {
  MPI_Request* request;
  const void* site;
  bool persistent;
};

template <class Library>
int leave_request(State* s, Kind kind, const Target& target, Library&& library) {
  const bool too_many =
      kind == kAllgather && !target.persistent && s != nullptr && s->begins(kind) && !s->pairs;
  const char* const why = too_many ? "more than 256 ranks, or 16 on several hosts" : why_left_begun(s, kind);
  if (!target.persistent) return leave(s, kind, target.site, why, library);
  // order: relaxed: a thread that tests the request gets it from this one, later
  testall_errs.store(true, std::memory_order_relaxed);
  return by_library(s, kind, target.site, why, library);
}

// The state of a call's communicator; null: it is not known. All ranks make a persistent collective, so a
// communicator that waits for its team gets it here.
State* state_of(MPI_Comm comm, bool persistent) {
  State* const s = find(comm);
  if (s != nullptr && persistent) give_team(*s);
  if (may_be_bare(s) && persistent) refuse_bare(comm);
  return s;
}

// *left: MPI is to do it. b null: this rank has no memory for it. If it is non-blocking and the ranks' calls
// have not differed before, the call is then lost to this rank. The rank does not wait here for the others to
// agree: they may need this rank's next calls before they come to their next collective.
int begin_or_prepare(Begun* b, State& s, Kind kind, const Target& target, const Arguments& arguments,
                     bool* left) {
  if (s.mismatched) [[unlikely]] {
    int rc = b != nullptr ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (b != nullptr) drop(b);
    const Entered entered(s);
    *left = goes_to_library(s, kind, false, &rc);
    return rc;
  }
  if (target.persistent) return make_persistent(b, s, kind, arguments, target.request, left);
  *left = false;
  if (b == nullptr) [[unlikely]] {
    const Entered entered(s);
    note_no_memory(s);
    return lose_call(s, MPI_ERR_NO_MEM);
  }
  const Watched observed(&s, kind, target.site, nullptr);
  return begin(b, s, target.request);
}

// All ranks give the same answer, except for mistakes.
bool leaves_begun(const State& s, const Operation& operation, bool prepared) {
  return (operation.get().fold != nullptr && !s.folds_begun) || (!prepared && !operation.lacks_memory());
}

// *left: MPI is to do it.
int begin_collective(State& s, Kind kind, const Target& target, const Arguments& arguments, bool* left) {
  Begun* b = new_begun();
  if (b != nullptr) [[likely]] {
    *left = leaves_begun(s, b->operation, b->operation.prepare(s, arguments));
    if (*left || b->operation.lacks_memory()) {
      drop(b);
      b = nullptr;
    }
  } else {
    Operation operation;
    *left = leaves_begun(s, operation, operation.prepare(s, arguments));
  }
  return *left ? MPI_SUCCESS : begin_or_prepare(b, s, kind, target, arguments, left);
}

int begin_barrier(State& s, const Target& target, bool* left) {
  Begun* const b = new_begun();
  if (b != nullptr) b->is_barrier = true;
  if (b != nullptr && target.persistent) b->operation.prepare_barrier();
  return begin_or_prepare(b, s, kBarrier, target, {}, left);
}

// A function of a form that makes a request.
template <class Collective, Form kForm, auto kLibrary>
struct Requesting;
template <class Collective, Form kForm, class... Given, int (*Real::*kLibrary)(Given...)>
struct Requesting<Collective, kForm, kLibrary> {
  static int call(Given... given) {
    constexpr bool kPersistent = kForm == Form::kPersistent;  // an info precedes the request
    const Target target{from_end<0>(given...), FERMATA_SITE, kPersistent};
    State* const s = state_of(from_end<kPersistent ? 2 : 1>(given...), kPersistent);
    constexpr Kind kKind = Collective::kKind;
    bool left = s == nullptr || !s->begins(kKind) || target.request == nullptr;
    int rc = MPI_SUCCESS;
    if constexpr (kKind == kBarrier) {
      if (!left) rc = begin_barrier(*s, target, &left);
    } else {
      const Arguments arguments = arguments_of<Collective>({s, kForm}, given...);
      left = left || (arguments.pairwise && !s->pairs);
      if (!left) rc = begin_collective(*s, kKind, target, arguments, &left);
    }
    return left ? leave_request(s, kKind, target, [=] { return (real.*kLibrary)(given...); }) : rc;
  }
};

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

#define FERMATA_REQUESTING(name, collective, form) \
  FERMATA_LEAD(name, (Requesting<calls::collective, Form::form, &Real::name>::call))
#define FERMATA_IMMEDIATE(name, collective) FERMATA_REQUESTING(name, collective, kImmediate)
#define FERMATA_PERSISTENT(name, collective) FERMATA_REQUESTING(name, collective, kPersistent)
FERMATA_MPI_IMMEDIATE(FERMATA_IMMEDIATE)
FERMATA_MPI_PERSISTENT_COLLECTIVES(FERMATA_PERSISTENT)
