// Anonymous barriers in the C ABI. They leave no detail texts, since libfermata-rt has none.
#include "anonymous/machine.hpp"
#include "anonymous/shared_barrier.hpp"
#include "fermata/fermata.h"

using fermata::anonymous::Arrival;
using fermata::anonymous::Barrier;
using fermata::anonymous::SharedBarrier;

namespace {

constexpr std::uint32_t kMostArrivals = 1U << 30;

Barrier* in(fermata_anonymous* handle) { return reinterpret_cast<Barrier*>(handle); }
SharedBarrier* in(fermata_anonymous_shared* memory) { return reinterpret_cast<SharedBarrier*>(memory); }
int status_of(const Arrival& arrival) { return arrival.last ? FERMATA_LAST : FERMATA_OK; }

static_assert(static_cast<int>(fermata::anonymous::Met::kLast) == FERMATA_LAST);
static_assert(static_cast<int>(fermata::anonymous::Met::kUnsupported) == FERMATA_ERR_UNSUPPORTED);
static_assert(static_cast<int>(fermata::anonymous::Met::kOther) == FERMATA_OK);
static_assert(sizeof(SharedBarrier) == sizeof(fermata_anonymous_shared) &&
              alignof(SharedBarrier) == alignof(fermata_anonymous_shared));

}  // namespace

extern "C" {

int fermata_anonymous_create(uint32_t count, unsigned flags, fermata_anonymous** out) {
  if (out == nullptr || count < 1 || count > kMostArrivals || (flags & ~FERMATA_ANONYMOUS_COMPLETION) != 0)
    return FERMATA_ERR_ARGUMENT;
  fermata::anonymous::Shape shape;
  shape.completion = (flags & FERMATA_ANONYMOUS_COMPLETION) != 0;
  Barrier* barrier = nullptr;
  const fermata::Status status = Barrier::create(count, shape, &barrier);
  if (status != fermata::Status::kOk) return static_cast<int>(status);
  *out = reinterpret_cast<fermata_anonymous*>(barrier);
  return FERMATA_OK;
}

void fermata_anonymous_name(fermata_anonymous* barrier, const void* name) {
  if (barrier != nullptr) in(barrier)->set_name(name);
}

void fermata_anonymous_destroy(fermata_anonymous* barrier) {
  if (barrier != nullptr) in(barrier)->destroy();
}

int fermata_anonymous_arrive(fermata_anonymous* barrier, uint32_t arrivals, uint64_t* phase) {
  if (barrier == nullptr || phase == nullptr || arrivals < 1 || arrivals > kMostArrivals)
    return FERMATA_ERR_ARGUMENT;
  const Arrival arrival = in(barrier)->arrive(arrivals);
  *phase = arrival.token;
  return status_of(arrival);
}

int fermata_anonymous_drop(fermata_anonymous* barrier, uint64_t* phase) {
  if (barrier == nullptr || phase == nullptr) return FERMATA_ERR_ARGUMENT;
  const Arrival arrival = in(barrier)->drop();
  *phase = arrival.token;
  return status_of(arrival);
}

int fermata_anonymous_release(fermata_anonymous* barrier, uint64_t phase) {
  if (barrier == nullptr) return FERMATA_ERR_ARGUMENT;
  if (!in(barrier)->has_completion()) return FERMATA_ERR_UNSUPPORTED;
  in(barrier)->release(phase);
  return FERMATA_OK;
}

int fermata_anonymous_wait(fermata_anonymous* barrier, uint64_t phase) {
  if (barrier == nullptr) return FERMATA_ERR_ARGUMENT;
  in(barrier)->wait(phase);
  return FERMATA_OK;
}

int fermata_anonymous_meet(fermata_anonymous* barrier) {
  if (barrier == nullptr) return FERMATA_ERR_ARGUMENT;
  return static_cast<int>(in(barrier)->meet());
}

int fermata_anonymous_shared_init(fermata_anonymous_shared* barrier, uint32_t count) {
  if (barrier == nullptr || count < 1 || count > kMostArrivals) return FERMATA_ERR_ARGUMENT;
  fermata::anonymous::settle();
  in(barrier)->open(count);
  return FERMATA_OK;
}

uint32_t fermata_anonymous_shared_count(const fermata_anonymous_shared* barrier) {
  return barrier != nullptr ? reinterpret_cast<const SharedBarrier*>(barrier)->count() : 0;
}

int fermata_anonymous_shared_meet(fermata_anonymous_shared* barrier) {
  if (barrier == nullptr) return FERMATA_ERR_ARGUMENT;
  return static_cast<int>(in(barrier)->meet());
}

void fermata_anonymous_shared_destroy(fermata_anonymous_shared* barrier) {
  if (barrier != nullptr) in(barrier)->destroy();
}

}  // extern "C"
