// Everything that waits in the library for a message or a request: while collectives of ours are outstanding, both are polled.
#include <stdlib.h>

#include "persistent.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

// One round for those that only ask.
inline void progress_once() {
  if (any_begun()) progress();
}

// The library's request, made by `start`, and then waited for.
template <class Start>
int poll_request(Start&& start, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int rc = start(&request);
  return rc != MPI_SUCCESS ? rc : poll([&](int* flag) { return real.Test(&request, flag, status); });
}

bool wait_for_one(MPI_Request request) {
  Begun* const b = several_threads || request == MPI_REQUEST_NULL ? nullptr : outstanding_of(request);
  if (b != nullptr) wait_for(b);
  return b != nullptr;
}

// Those among them that are ours, alone with their threads, are waited for as such.
bool wait_for_own(int count, MPI_Request* requests) {
  if (several_threads) return false;
  for (int i = 0; i < count; ++i)
    if (requests[i] != MPI_REQUEST_NULL && outstanding_of(requests[i]) == nullptr) return false;
  for (int i = 0; i < count; ++i)
    if (Begun* b = requests[i] != MPI_REQUEST_NULL ? outstanding_of(requests[i]) : nullptr; b != nullptr) wait_for(b);
  return true;
}

// One behind the other: a look at all of them each time would take long where there are many (and MPICH 4.0 fails at it where one is a
// persistent collective of its own).
int poll_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  int all = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    MPI_Status* const status = statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE;
    Begun* const persistent = persistent_in(&requests[i]);
    const int rc = persistent != nullptr ? wait_persistent(persistent, status)
                                         : poll([&](int* flag) { return real.Test(&requests[i], flag, status); });
    if (rc != MPI_SUCCESS) all = MPI_ERR_IN_STATUS;
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = rc;
  }
  return all;
}

// In MPICH 4.0 and 5.0 MPI_Testall is an error (MPI_ERR_IN_STATUS) where a persistent collective of the library's own is among them, and
// other functions are not.
int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
#ifdef MPICH
  if (library_has_persistent.load(std::memory_order_relaxed)) {  // order: relaxed: the caller was told of the request
    for (int i = 0; i < count; ++i) {
      const int rc = real.Request_get_status(requests[i], flag, MPI_STATUS_IGNORE);
      if (rc != MPI_SUCCESS || *flag == 0) return rc;
    }
    *flag = 1;
    return poll_all(count, requests, statuses);
  }
#endif
  return real.Testall(count, requests, flag, statuses);
}

bool any_persistent_in(int count, const MPI_Request* requests) {
  if (!any_persistent()) return false;
  for (int i = 0; i < count; ++i)
    if (persistent_of(requests[i]) != nullptr) return true;
  return false;
}

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_MPI_WAITS(FERMATA_INTERCEPT)

extern "C" {

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  if (Begun* const b = persistent_in(request); b != nullptr) return wait_persistent(b, status);
  if (!any_begun() || request == nullptr || wait_for_one(*request)) {
    const int rc = real.Wait(request, status);
    reap();
    return rc;
  }
  return poll([=](int* flag) { return real.Test(request, flag, status); });
}

int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (requests != nullptr && any_persistent_in(count, requests)) return poll_all(count, requests, statuses);
  if (!any_begun() || requests == nullptr || wait_for_own(count, requests)) {
    const int rc = real.Waitall(count, requests, statuses);
    reap();
    return rc;
  }
  return poll_all(count, requests, statuses);
}

int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  show_to_library(count, requests);
  if (!any_begun()) return real.Waitany(count, requests, index, status);
  return poll([=](int* flag) { return real.Testany(count, requests, index, flag, status); });
}

int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  show_to_library(count, requests);
  if (!any_begun()) return real.Waitsome(count, requests, done, indices, statuses);
  return poll([=](int* flag) {
    const int rc = real.Testsome(count, requests, done, indices, statuses);
    *flag = *done != 0;  // also MPI_UNDEFINED, where none is active
    return rc;
  });
}

int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (Begun* const b = persistent_in(request); b != nullptr) return test_persistent(b, flag, status);
  progress_once();
  return real.Test(request, flag, status);
}

int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  show_to_library(count, requests);
  progress_once();
  return test_all(count, requests, flag, statuses);
}

int MPI_Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  show_to_library(count, requests);
  progress_once();
  return real.Testany(count, requests, index, flag, status);
}

int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
  show_to_library(count, requests);
  progress_once();
  return real.Testsome(count, requests, done, indices, statuses);
}

int MPI_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  show_to_library(1, &request);
  progress_once();
  return real.Request_get_status(request, flag, status);
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  if (!any_begun()) return real.Send(data, count, type, to, tag, comm);
  return poll_request([=](MPI_Request* r) { return PMPI_Isend(data, count, type, to, tag, comm, r); }, MPI_STATUS_IGNORE);
}

int MPI_Ssend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  if (!any_begun()) return real.Ssend(data, count, type, to, tag, comm);
  return poll_request([=](MPI_Request* r) { return PMPI_Issend(data, count, type, to, tag, comm, r); }, MPI_STATUS_IGNORE);
}

int MPI_Rsend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  if (!any_begun()) return real.Rsend(data, count, type, to, tag, comm);
  return poll_request([=](MPI_Request* r) { return PMPI_Irsend(data, count, type, to, tag, comm, r); }, MPI_STATUS_IGNORE);
}

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!any_begun()) return real.Recv(data, count, type, from, tag, comm, status);
  return poll_request([=](MPI_Request* r) { return PMPI_Irecv(data, count, type, from, tag, comm, r); }, status);
}

int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  if (!any_begun()) return real.Mrecv(data, count, type, message, status);
  return poll_request([=](MPI_Request* r) { return PMPI_Imrecv(data, count, type, message, r); }, status);
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!any_begun()) return real.Probe(from, tag, comm, status);
  return poll([=](int* flag) { return real.Iprobe(from, tag, comm, flag, status); });
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (!any_begun()) return real.Mprobe(from, tag, comm, message, status);
  return poll([=](int* flag) { return real.Improbe(from, tag, comm, flag, message, status); });
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  progress_once();
  return real.Iprobe(from, tag, comm, flag, status);
}

int MPI_Improbe(int from, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  progress_once();
  return real.Improbe(from, tag, comm, flag, message, status);
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* in, int in_count, MPI_Datatype in_type,
                 int from, int in_tag, MPI_Comm comm, MPI_Status* status) {
  if (!any_begun()) return real.Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm, status);
  MPI_Request receive = MPI_REQUEST_NULL;
  int rc = PMPI_Irecv(in, in_count, in_type, from, in_tag, comm, &receive);
  if (rc != MPI_SUCCESS) return rc;
  rc = poll_request([=](MPI_Request* r) { return PMPI_Isend(out, out_count, out_type, to, out_tag, comm, r); }, MPI_STATUS_IGNORE);
  const int got = poll([&](int* flag) { return real.Test(&receive, flag, status); });
  return rc != MPI_SUCCESS ? rc : got;
}

int MPI_Sendrecv_replace(void* data, int count, MPI_Datatype type, int to, int out_tag, int from, int in_tag, MPI_Comm comm,
                         MPI_Status* status) {
  int bytes = 0;
  if (!any_begun() || PMPI_Pack_size(count, type, comm, &bytes) != MPI_SUCCESS)
    return real.Sendrecv_replace(data, count, type, to, out_tag, from, in_tag, comm, status);
  void* const packed = malloc(static_cast<std::size_t>(bytes) + 1);
  int length = 0;
  if (packed == nullptr) return MPI_ERR_NO_MEM;
  int rc = PMPI_Pack(data, count, type, packed, bytes, &length, comm);
  if (rc == MPI_SUCCESS) rc = MPI_Sendrecv(packed, length, MPI_PACKED, to, out_tag, data, count, type, from, in_tag, comm, status);
  free(packed);
  return rc;
}

}  // extern "C"
