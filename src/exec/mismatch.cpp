// Calls that differ. What shows it is a tag of another call, in a slot or a piece, or, to those who have waited long, other calls of the
// same number in the status lines; who made which is read there in any case.
#include <stdio.h>

#include "exec/member.hpp"

namespace fermata::exec {
namespace {

// A signal goes out before its call is said, and its sender may lose its CPU between the two.
constexpr std::int64_t kSayNs = 40'000'000;

}  // namespace

// The first call of those both still know that differs: text for the error.
bool Member::differs_from(std::uint32_t rank) {
  const StatusLine& line = team_->status(rank);
  const std::uint64_t newest = newest_call<RealAtomics>(line) / 2;
  const std::uint64_t last = newest < sequence_ ? newest : sequence_;
  for (std::uint64_t n = last < kCallsKept<StatusLine> ? 1 : last - kCallsKept<StatusLine> + 1; n <= last; ++n) {
    std::uint64_t mine;
    std::uint64_t theirs;
    if (!recall<RealAtomics>(*status_, n, mine) || !recall<RealAtomics>(line, n, theirs) || mine == theirs) continue;
    char my_text[96];
    char their_text[96];
    describe(Call::unpack(mine), my_text, sizeof my_text);
    describe(Call::unpack(theirs), their_text, sizeof their_text);
    snprintf(detail_, sizeof detail_, "call %llu: rank %u called %s, rank %u %s", static_cast<unsigned long long>(n), rank_, my_text, rank,
             their_text);
    return true;
  }
  return false;
}

// That rank's tag is of another call: breaks the team.
Status Member::met_another_call(std::uint32_t rank) {
  const std::int64_t end = os::now_ns() + kSayNs;
  bool named = differs_from(rank);
  for (; !named && !team_->is_away(rank) && os::now_ns() < end; named = differs_from(rank)) os::yield();
  if (team_->is_away(rank))
    snprintf(detail_, sizeof detail_, "rank %u made another call than rank %u on host %u", rank_, rank, team_->host_of(rank));
  else if (!named)
    snprintf(detail_, sizeof detail_, "ranks %u and %u differ in the size of a block between them, or in calls long ago", rank_, rank);
  return give_up(break_team(Status::kMismatch, rank));
}

}  // namespace fermata::exec
