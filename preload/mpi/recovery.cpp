#include "recovery.hpp"

#include "begun.hpp"
#include "pool.hpp"
#include "real.hpp"

namespace fermata::preload {
namespace {

// No rank does its part of such a call before all have come to it.
bool synchronizes(Kind kind) { return rules_of(kind).synchronizes(); }

// The number of the present call, which is not counted yet. All ranks make their calls in the same order,
// except for starts of persistent requests.
std::uint64_t number_of_call(const State& s) { return s.ours + s.left - s.starts + s.prepared + 1; }

// Collective: each rank takes part in its first call after it knows. Then all know the first call that no
// rank has carried out in the team. It uses messages, not collectives: what is outstanding in the
// communicator may differ from rank to rank.
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
  for (int r = 1; r < s.size && s.rank == 0; ++r)
    real.Send(&first, 1, MPI_UINT64_T, ranks[r], tag, private_comm);
  s.resumes = first;
  say("rank %d of %d: the ranks' calls on a communicator differed, so the MPI library does its calls from "
      "call %llu on",
      s.rank, s.size, static_cast<unsigned long long>(first));
}

bool lost(State& s, int code, int* rc) {
  *rc = lose_call(s, *rc == MPI_ERR_NO_MEM ? *rc : code);
  return false;
}

}  // namespace

int lose_call(State& s, int code) {
  ++s.left;
  return report(s, code);
}

void note_mismatch(State& s) {
  if (s.mismatched) return;
  s.mismatched = true;
  s.reason = "the calls of its ranks differed";
  say("rank %d of %d: %s", s.rank, s.size, fermata_error_detail());
}

void note_no_memory(State& s) {
  if (s.mismatched) return;
  s.mismatched = true;
  s.reason = "a rank had no memory for a call";
  fermata_team_abort(s.pooled->team);
  say("rank %d of %d: no memory for a collective", s.rank, s.size);
}

bool goes_to_library(State& s, Kind kind, bool met, int* rc) {
  if (s.resumes == 0 && met && !synchronizes(kind)) return lost(s, MPI_ERR_TRUNCATE, rc);
  if (s.resumes == 0) agree(s);
  return number_of_call(s) >= s.resumes || lost(s, MPI_ERR_OTHER, rc);
}

}  // namespace fermata::preload
