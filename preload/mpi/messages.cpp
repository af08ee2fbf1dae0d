// All calls that wait in MPI for messages: as waits.cpp, with counts of either width.
#include "begun.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

// Waits for a request of MPI's that `start` makes.
template <class Start>
int poll_request(Start&& start, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int rc = start(&request);
  return rc != MPI_SUCCESS ? rc : poll([&](int* flag) { return real.Test(&request, flag, status); });
}

// A send, and the non-blocking function for it.
template <auto kLibrary, auto kStart>
struct Sending;
template <class... Given, int (*Real::*kLibrary)(Given...), auto kStart>
struct Sending<kLibrary, kStart> {
  static int call(Given... given) {
    if (!any_begun()) return in_library([=] { return (real.*kLibrary)(given...); });
    return poll_request([=](MPI_Request* r) { return kStart(given..., r); }, MPI_STATUS_IGNORE);
  }
};

// start: the non-blocking function that takes the same arguments, `given`, and a request.
template <class Library, class Start, class... Given>
int receive(Library library, Start start, MPI_Status* status, Given... given) {
  if (!any_begun()) return in_library([=] { return library(given..., status); });
  return poll_request([=](MPI_Request* r) { return start(given..., r); }, status);
}

// Both halves of a send-receive. If the send cannot start, the call fails, and nobody may answer its receive.
template <class Receive, class Send>
int exchange(Receive&& receive_begins, Send&& send_begins, MPI_Status* status) {
  MPI_Request receive = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;
  if (const int rc = receive_begins(&receive); rc != MPI_SUCCESS) return rc;
  if (const int rc = send_begins(&send); rc != MPI_SUCCESS) {
    PMPI_Cancel(&receive);
    real.Wait(&receive, MPI_STATUS_IGNORE);
    return rc;
  }
  const int got = poll([&](int* flag) { return real.Test(&receive, flag, status); });
  const int sent = poll([&](int* flag) { return real.Test(&send, flag, MPI_STATUS_IGNORE); });
  return sent != MPI_SUCCESS ? sent : got;
}

}  // namespace
}  // namespace fermata::preload

using namespace fermata::preload;

FERMATA_MPI_MESSAGES(FERMATA_INTERCEPT)
#define FERMATA_SENDING(name, immediate) FERMATA_LEAD(name, (Sending<&Real::name, PMPI_##immediate>::call))
FERMATA_MPI_SENDS(FERMATA_SENDING)

extern "C" {

int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  return receive(real.Recv, PMPI_Irecv, status, data, count, type, from, tag, comm);
}

int MPI_Mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  return receive(real.Mrecv, PMPI_Imrecv, status, data, count, type, message);
}

int MPI_Probe(int from, int tag, MPI_Comm comm, MPI_Status* status) {
  if (!any_begun()) return in_library([=] { return real.Probe(from, tag, comm, status); });
  return poll([=](int* flag) { return real.Iprobe(from, tag, comm, flag, status); });
}

int MPI_Mprobe(int from, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  if (!any_begun()) return in_library([=] { return real.Mprobe(from, tag, comm, message, status); });
  return poll([=](int* flag) { return real.Improbe(from, tag, comm, flag, message, status); });
}

int MPI_Sendrecv(const void* out, int out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
                 int in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                 MPI_Status* status) {
  if (!any_begun())
    return in_library([=] {
      return real.Sendrecv(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm,
                           status);
    });
  return exchange([=](MPI_Request* r) { return PMPI_Irecv(in, in_count, in_type, from, in_tag, comm, r); },
                  [=](MPI_Request* r) { return PMPI_Isend(out, out_count, out_type, to, out_tag, comm, r); },
                  status);
}

#ifdef FERMATA_MPI_LARGE

int MPI_Recv_c(void* data, MPI_Count count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
               MPI_Status* status) {
  return receive(real.Recv_c, PMPI_Irecv_c, status, data, count, type, from, tag, comm);
}

int MPI_Mrecv_c(void* data, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  return receive(real.Mrecv_c, PMPI_Imrecv_c, status, data, count, type, message);
}

int MPI_Sendrecv_c(const void* out, MPI_Count out_count, MPI_Datatype out_type, int to, int out_tag, void* in,
                   MPI_Count in_count, MPI_Datatype in_type, int from, int in_tag, MPI_Comm comm,
                   MPI_Status* status) {
  if (!any_begun())
    return in_library([=] {
      return real.Sendrecv_c(out, out_count, out_type, to, out_tag, in, in_count, in_type, from, in_tag, comm,
                             status);
    });
  return exchange(
      [=](MPI_Request* r) { return PMPI_Irecv_c(in, in_count, in_type, from, in_tag, comm, r); },
      [=](MPI_Request* r) { return PMPI_Isend_c(out, out_count, out_type, to, out_tag, comm, r); }, status);
}

#endif

}  // extern "C"
