// Plans for teams that lie in the file of another team (exec/places.hpp). They are stored there for the next
// team of the same shape.
#include <utility>

#include "plan/block_knowledge.hpp"
#include "team/plans.hpp"

namespace fermata::team {
namespace {

std::uint64_t key_of(const TeamRequest& request) {
  std::vector<std::int32_t> words = {request.members, request.tagged ? 1 : 0, request.reproducible ? 1 : 0};
  words.insert(words.end(), request.cpus.begin(), request.cpus.end());
  const std::uint64_t hash =
      hash_of({reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]});
  return hash != 0 ? hash : 1;
}

}  // namespace

Result<TeamPlans> plans_within(const TeamRequest& request) {
  if (!request.plans.empty()) return plans_for(request);
  exec::Places places = request.within->segment_owner().segment().places();
  const std::uint64_t key = key_of(request);
  std::vector<std::byte> kept(places.look_up(key, nullptr, 0));
  if (!kept.empty() && places.look_up(key, kept.data(), kept.size()) == kept.size()) {
    TeamRequest like;
    like.members = request.members;
    like.programs = kept.data();
    like.programs_bytes = kept.size();
    return plans_from(like);
  }
  auto plans = plans_for(request);
  if (!plans) return plans.error();
  kept = packed(*plans);
  places.keep(key, kept.data(), kept.size());
  return plans;
}

}  // namespace fermata::team
