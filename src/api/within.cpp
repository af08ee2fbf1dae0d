// Teams in the file of another team (exec/places.hpp). The file also stores their plans, for the next team of
// the same shape.
#include "api/handles.hpp"
#include "os/os.hpp"
#include "plan/block_model.hpp"

using namespace fermata;
using namespace fermata::api;

namespace fermata::api {
namespace {

std::uint64_t key_of(const TeamRequest& request) {
  std::vector<std::int32_t> words = {request.members, request.tagged ? 1 : 0, request.reproducible ? 1 : 0};
  words.insert(words.end(), request.cpus.begin(), request.cpus.end());
  const std::uint64_t hash =
      hash_of({reinterpret_cast<const char*>(words.data()), words.size() * sizeof words[0]});
  return hash != 0 ? hash : 1;
}

int create_within(exec::Team& neighbour, const fermata_team_config& config, std::uint64_t* place,
                  fermata_team** out) {
  TeamRequest request;
  if (const int bad = request_of(config, request); bad != FERMATA_OK) return bad;
  if (request.engine != Engine::kProcesses || !neighbour.shared())
    return fail(Status::kArgument,
                "only teams of processes share memory in this way: use FERMATA_PROCESSES for both teams");
  request.within = &neighbour;
  const int rc = make_team(request, out);
  if (rc == FERMATA_OK) *place = (*out)->team->place();
  return rc;
}

int attach_within(exec::Team& neighbour, std::uint64_t place, fermata_team** out) {
  if (!neighbour.shared()) return fail(Status::kArgument, "a team of threads holds no other teams");
  auto handle = std::make_unique<fermata_team>();
  const char* detail = "";
  const Status status = exec::Team::attach_within(neighbour, place, wait_kind(FERMATA_WAIT_AUTO),
                                                  os::stall_ns(), &handle->team, &detail);
  if (status != Status::kOk) return fail(status, "%s", detail);
  read_planned_cpus(*handle);
  *out = handle.release();
  return FERMATA_OK;
}

}  // namespace

Result<TeamPlans> plans_within(const TeamRequest& request) {
  if (!request.plans.empty()) return plans_for(request);
  exec::Places places = request.within->ground().places();
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

}  // namespace fermata::api

extern "C" {

int fermata_team_create_within(fermata_team* neighbour, const fermata_team_config* config, uint64_t* place,
                               fermata_team** out) {
  if (config == nullptr || place == nullptr || out == nullptr) return null_handle();
  if (const int bad = fermata_team_size(neighbour); bad < 0) return bad;
  return guarded([&] { return create_within(*neighbour->team, *config, place, out); });
}

int fermata_team_attach_within(fermata_team* neighbour, uint64_t place, fermata_team** out) {
  if (out == nullptr) return null_handle();
  if (const int bad = fermata_team_size(neighbour); bad < 0) return bad;
  return guarded([&] { return attach_within(*neighbour->team, place, out); });
}

}  // extern "C"
