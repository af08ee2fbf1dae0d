// All calls that wait for requests or test them. While collectives of Fermata's are outstanding, these calls
// poll Fermata and MPI. A call that waits in MPI alone has the helper beside it, because other threads may
// begin collectives meanwhile.
#include "persistent.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

bool wait_for_one(MPI_Request request) {
  Begun* const b = several_threads || request == MPI_REQUEST_NULL ? nullptr : outstanding_of(request);
  if (b != nullptr) wait_for(b);
  return b != nullptr;
}

// True: all of them are Fermata's, and are over. Does nothing if several threads may call.
bool wait_for_own(int count, MPI_Request* requests) {
  if (several_threads) return false;
  for (int i = 0; i < count; ++i)
    if (requests[i] != MPI_REQUEST_NULL && outstanding_of(requests[i]) == nullptr) return false;
  for (int i = 0; i < count; ++i)
    if (Begun* b = requests[i] != MPI_REQUEST_NULL ? outstanding_of(requests[i]) : nullptr; b != nullptr)
      wait_for(b);
  return true;
}

// The communicator whose error handler a non-blocking collective's completion calls. Requests of Open MPI 4
// know no communicator, so lengths that differ are reported to MPI_COMM_WORLD. Errors that only Fermata has
// are reported to the communicator.
MPI_Comm told_of(MPI_Comm comm, int error) {
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
  if (error == MPI_ERR_TRUNCATE) return MPI_COMM_WORLD;
#else
  (void)error;
#endif
  return comm != MPI_COMM_NULL ? comm : MPI_COMM_WORLD;
}

// complete(): MPI's function that completes this request, the only one that the program waits for.
template <class Complete>
int complete_one(MPI_Request request, Complete&& complete) {
  // order: relaxed: see Begun's complete()
  if (failures.load(std::memory_order_relaxed) == 0) [[likely]]
    return complete();
  MPI_Comm comm = MPI_COMM_NULL;
  const int error = claim_error(request, &comm);
  const int rc = complete();
  if (error == MPI_SUCCESS || rc != MPI_SUCCESS) return rc;
  PMPI_Comm_call_errhandler(told_of(comm, error), error);
  return error;
}

// Completes one of these that is a non-blocking collective with an error, before all others. Returns its
// index; kNone: there is none.
constexpr int kNone = -1;
int complete_failed(int count, MPI_Request* requests, MPI_Status* status, int* error) {
  // order: relaxed: see Begun's complete()
  if (failures.load(std::memory_order_relaxed) == 0 || requests == nullptr) [[likely]]
    return kNone;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL || !is_failed(requests[i])) continue;
    int flag = 0;
    *error = complete_one(requests[i], [&] { return real.Test(&requests[i], &flag, status); });
    return i;
  }
  return kNone;
}

int test_any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  int error = MPI_SUCCESS;
  const int place = complete_failed(count, requests, status, &error);
  if (place == kNone) return real.Testany(count, requests, index, flag, status);
  *index = place;
  *flag = 1;
  return error;
}

int test_some(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  int error = MPI_SUCCESS;
  const int place = complete_failed(count, requests,
                                    statuses != MPI_STATUSES_IGNORE ? statuses : MPI_STATUS_IGNORE, &error);
  if (place == kNone) return real.Testsome(count, requests, done, indices, statuses);
  *done = 1;
  indices[0] = place;
  if (statuses != MPI_STATUSES_IGNORE) statuses[0].MPI_ERROR = error;
  return error == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
}

int test_one(MPI_Request* request, int* flag, MPI_Status* status) {
  return complete_one(*request, [=] { return real.Test(request, flag, status); });
}

// One after the other: to test all of them each time is slow if there are many. MPICH 4.0 also fails if one
// of them is a persistent collective of its own.
int poll_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  int all = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    MPI_Status* const status = statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE;
    Begun* const persistent = persistent_in(&requests[i]);
    const int rc = persistent != nullptr
                       ? wait_persistent(persistent, status)
                       : poll([&](int* flag) { return test_one(&requests[i], flag, status); });
    if (rc != MPI_SUCCESS) all = MPI_ERR_IN_STATUS;
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = rc;
  }
  return all;
}

int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
#ifdef MPICH
  // order: relaxed: the caller has learned of the request
  const bool errs = testall_errs.load(std::memory_order_relaxed);
#else
  constexpr bool errs = false;
#endif
  // order: relaxed: see Begun's complete()
  if (requests != nullptr && (errs || failures.load(std::memory_order_relaxed) != 0)) {
    for (int i = 0; i < count; ++i) {
      const int rc = real.Request_get_status(requests[i], flag, MPI_STATUS_IGNORE);
      if (rc != MPI_SUCCESS || *flag == 0) return rc;
    }
    *flag = 1;
    return poll_all(count, requests, statuses);
  }
  return real.Testall(count, requests, flag, statuses);
}

bool any_persistent_in(int count, const MPI_Request* requests) {
  if (!any_persistent()) return false;
  for (int i = 0; i < count; ++i)
    if (persistent_of(requests[i]) != nullptr) return true;
  return false;
}

template <auto kFunction>
struct Testing;
template <class... Given, int (*Real::*kFunction)(Given...)>
struct Testing<kFunction> {
  static int call(Given... given) {
    progress_once();
    return (real.*kFunction)(given...);
  }
};

}  // namespace

void make_empty(MPI_Status* status) {
  PMPI_Status_set_elements(status, MPI_BYTE, 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_ANY_SOURCE;
  status->MPI_TAG = MPI_ANY_TAG;
}

}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_MPI_WAITS(FERMATA_INTERCEPT)
#define FERMATA_TESTING(name) FERMATA_LEAD(name, Testing<&Real::name>::call)
FERMATA_MPI_TESTS(FERMATA_TESTING)

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (Begun* const b = persistent_in(request); b != nullptr) return wait_persistent(b, status);
  if (!any_begun() || request == nullptr || wait_for_one(*request)) {
    const auto waits = [=] { return in_library([=] { return real.Wait(request, status); }); };
    const int rc = request != nullptr ? complete_one(*request, waits) : waits();
    reap();
    return rc;
  }
  return poll([=](int* flag) { return test_one(request, flag, status); });
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (requests != nullptr && any_persistent_in(count, requests)) return poll_all(count, requests, statuses);
  const bool own = !any_begun() || requests == nullptr || wait_for_own(count, requests);
  // order: relaxed: see Begun's complete()
  if (own && (requests == nullptr || failures.load(std::memory_order_relaxed) == 0)) {
    const int rc = in_library([=] { return real.Waitall(count, requests, statuses); });
    reap();
    return rc;
  }
  return poll_all(count, requests, statuses);
}

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  show_to_library(count, requests);
  int error = MPI_SUCCESS;
  *index = complete_failed(count, requests, status, &error);
  if (*index != kNone) return error;
  if (!any_begun()) return in_library([=] { return real.Waitany(count, requests, index, status); });
  return poll([=](int* flag) { return test_any(count, requests, index, flag, status); });
}

int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  show_to_library(count, requests);
  // order: relaxed: see Begun's complete()
  if (!any_begun() && failures.load(std::memory_order_relaxed) == 0)
    return in_library([=] { return real.Waitsome(count, requests, done, indices, statuses); });
  return poll([=](int* flag) {
    const int rc = test_some(count, requests, done, indices, statuses);
    *flag = *done != 0;  // also for MPI_UNDEFINED: no request is active
    return rc;
  });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (Begun* const b = persistent_in(request); b != nullptr) return test_persistent(b, flag, status);
  progress_once();
  return request != nullptr ? test_one(request, flag, status) : real.Test(request, flag, status);
}

int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  show_to_library(count, requests);
  progress_once();
  return test_all(count, requests, flag, statuses);
}

int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  show_to_library(count, requests);
  progress_once();
  return test_any(count, requests, index, flag, status);
}

int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  show_to_library(count, requests);
  progress_once();
  return test_some(count, requests, done, indices, statuses);
}

#ifdef FERMATA_MPI_41
int MPI_Request_get_status_all(int count, const MPI_Request* requests, int* flag, MPI_Status* statuses) {
  show_to_library(count, requests);
  progress_once();
  return real.Request_get_status_all(count, requests, flag, statuses);
}

int MPI_Request_get_status_any(int count, const MPI_Request* requests, int* index, int* flag,
                               MPI_Status* status) {
  show_to_library(count, requests);
  progress_once();
  return real.Request_get_status_any(count, requests, index, flag, status);
}

int MPI_Request_get_status_some(int count, const MPI_Request* requests, int* done, int* indices,
                                MPI_Status* statuses) {
  show_to_library(count, requests);
  progress_once();
  return real.Request_get_status_some(count, requests, done, indices, statuses);
}
#endif

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  show_to_library(1, &request);
  progress_once();
  return real.Request_get_status(request, flag, status);
}

}  // extern "C"
