// The job as a table of functions. Times messages as in section IV.A of heterogeneous-mpi-barriers.
#include "fermata/job.h"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "calls.hpp"
#include "processes.hpp"

namespace fermata::net {
namespace {

constexpr int kTag = 1;
constexpr int kMostRepeats = 1024, kMostSignals = 1024;
constexpr auto kNap = std::chrono::microseconds(500);

struct Job {
  MPI_Comm comm = MPI_COMM_NULL;
  Processes processes;
  std::vector<const char*> names;
};

std::unique_ptr<Job> job;
bool started_mpi = false;  // also by a call of open() that failed after it: MPI starts once

int gather(const void* mine, size_t bytes, void* all) {
  const int n = static_cast<int>(bytes);
  return mpi.Allgather(mine, n, MPI_BYTE, all, n, MPI_BYTE, job->comm) == MPI_SUCCESS ? FERMATA_OK
                                                                                      : FERMATA_ERR_SYSTEM;
}

bool echo(bool first, int other, std::vector<char>& data) {
  const int n = static_cast<int>(data.size());
  const auto send = [&] { return mpi.Send(data.data(), n, MPI_BYTE, other, kTag, job->comm) == MPI_SUCCESS; };
  const auto receive = [&] {
    return mpi.Recv(data.data(), n, MPI_BYTE, other, kTag, job->comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  };
  return first ? send() && receive() : receive() && send();
}

// An eager send is over once the message is injected. A synchronous send is over once the other end has
// matched it, so its time includes the transit.
bool signal(bool first, int other, int signals) {
  std::vector<MPI_Request> requests(static_cast<std::size_t>(signals));
  bool ok = true;
  for (MPI_Request& request : requests) {
    const int started = first ? mpi.Issend(nullptr, 0, MPI_BYTE, other, kTag, job->comm, &request)
                              : mpi.Irecv(nullptr, 0, MPI_BYTE, other, kTag, job->comm, &request);
    ok = started == MPI_SUCCESS && ok;
  }
  return mpi.Waitall(signals, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS && ok;
}

double time_of(int a, int b, size_t bytes, int signals, int repeats) {
  const int me = rank_in(job->comm);
  if ((me != a && me != b) || repeats < 1 || repeats > kMostRepeats || signals < 0 || signals > kMostSignals)
    return -1;
  const bool first = me == a;
  const int other = a == b ? MPI_PROC_NULL : first ? b : a;
  std::vector<char> data(bytes);
  std::vector<double> times;
  bool ok = true;
  for (int r = -1; r < repeats && ok; ++r) {  // the first repeat warms up
    const auto begin = std::chrono::steady_clock::now();
    ok = signals == 0 ? echo(first, other, data) : signal(first, other, signals);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    if (r >= 0) times.push_back(signals == 0 ? took.count() / 2 : took.count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  double median = ok ? times[times.size() / 2] : -1;
  if (a == b) return median;
  const int said = first ? mpi.Send(&median, 1, MPI_DOUBLE, b, kTag, job->comm)
                         : mpi.Recv(&median, 1, MPI_DOUBLE, a, kTag, job->comm, MPI_STATUS_IGNORE);
  return said == MPI_SUCCESS ? median : -1;
}

// MPI's own barrier would poll, on CPUs that the timed processes may need.
void rest() {
  MPI_Request request = MPI_REQUEST_NULL;
  if (mpi.Ibarrier(job->comm, &request) != MPI_SUCCESS) return;
  for (int over = 0; mpi.Test(&request, &over, MPI_STATUS_IGNORE) == MPI_SUCCESS && over == 0;)
    std::this_thread::sleep_for(kNap);
}

void end() {
  mpi.Comm_free(&job->comm);
  job.reset();
  if (started_mpi) mpi.Finalize();
}

int open(fermata_job* out) {
  auto made = std::make_unique<Job>();
  int running = 0;
  mpi.Initialized(&running);
  if (running == 0 && mpi.Init(nullptr, nullptr) != MPI_SUCCESS) return FERMATA_ERR_SYSTEM;
  started_mpi = started_mpi || running == 0;
  if (copy_bare(MPI_COMM_WORLD, &made->comm) != MPI_SUCCESS) return FERMATA_ERR_SYSTEM;
  if (const int bad = find_processes(made->comm, {}, made->processes); bad != FERMATA_OK) return bad;
  for (const std::string& name : made->processes.names) made->names.push_back(name.c_str());
  job = std::move(made);
  *out = {.size = sizeof *out,
          .rank = rank_in(job->comm),
          .processes = size_of(job->comm),
          .hosts = job->processes.host_of.data(),
          .pinned = job->processes.pinned.data(),
          .names = job->names.data(),
          .gather = gather,
          .time = time_of,
          .rest = rest,
          .end = end};
  return FERMATA_OK;
}

}  // namespace
}  // namespace fermata::net

extern "C" int fermata_mpi_job(fermata_job* out) {
  if (out == nullptr || fermata::net::job != nullptr) return FERMATA_ERR_ARGUMENT;
  try {
    return fermata::net::open(out);
  } catch (const std::bad_alloc&) {
    return FERMATA_ERR_MEMORY;
  }
}
