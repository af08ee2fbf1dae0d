#include "recovery.hpp"

#include "begun.hpp"
#include "pool.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

// Nobody has done its part of such a call before all have come to it.
bool synchronizes(Kind kind) {
  return kind == kBarrier || kind == kAllreduce || kind == kAllgather || kind == kAlltoall || kind == kReduceScatter;
}

// Of the present call, which isn't counted yet. All ranks make their calls in the same order, but for starts of persistent requests.
std::uint64_t number_of_call(const State& s) { return s.ours + s.left - s.starts + s.prepared + 1; }

// Collective: each rank's first call since it knows. After it all know which is the last that some rank has carried out in the team. Not
// by collectives of the communicator, where what is outstanding need not be the same at all ranks.
void agree(State& s) {
  constexpr std::uint64_t kLeastLargestTag = 32767;
  const int tag = static_cast<int>(1 + s.pooled->id % kLeastLargestTag);
  const int* const ranks = s.pooled->ranks;
  std::uint64_t first = number_of_call(s);
  const Beside beside;
  for (int r = 1; r < s.size && s.rank == 0; ++r) {
    std::uint64_t theirs = 0;
    real.Recv(&theirs, 1, MPI_UINT64_T, ranks[r], tag, private_comm, MPI_STATUS_IGNORE);
    if (theirs > first) first = theirs;
  }
  if (s.rank != 0) {
    real.Send(&first, 1, MPI_UINT64_T, ranks[0], tag, private_comm);
    real.Recv(&first, 1, MPI_UINT64_T, ranks[0], tag, private_comm, MPI_STATUS_IGNORE);
  }
  for (int r = 1; r < s.size && s.rank == 0; ++r) real.Send(&first, 1, MPI_UINT64_T, ranks[r], tag, private_comm);
  s.resumes = first;
  say("rank %d of %d: the calls of a communicator differed, and the library does them from its call %llu on", s.rank, s.size,
      static_cast<unsigned long long>(first));
}

bool lost(State& s, int code, int* rc) {
  ++s.left;
  // order: relaxed: this call's own communicator
  PMPI_Comm_call_errhandler(s.comm.load(std::memory_order_relaxed), code);
  *rc = code;
  return false;
}

}  // namespace

void note_mismatch(State& s) {
  if (s.mismatched) return;
  s.mismatched = true;
  s.reason = "the calls of its ranks differed";
  say("rank %d of %d: %s", s.rank, s.size, fermata_error_detail());
}

bool goes_to_library(State& s, Kind kind, bool met, int* rc) {
  if (s.resumes == 0 && met && !synchronizes(kind)) return lost(s, MPI_ERR_TRUNCATE, rc);
  if (s.resumes == 0) agree(s);
  return number_of_call(s) >= s.resumes || lost(s, MPI_ERR_OTHER, rc);
}

}  // namespace fermata::preload
