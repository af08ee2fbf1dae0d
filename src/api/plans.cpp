// Topologies, profiles and plans behind the C ABI.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "api/calls.hpp"
#include "api/values.hpp"
#include "profile/store.hpp"
#include "team/machine.hpp"

namespace fermata::api {

using namespace team;

int copy_text(const std::string& text, char* buffer, size_t* length) {
  const size_t capacity = *length;
  *length = text.size() + 1;
  if (buffer == nullptr || capacity == 0) return FERMATA_OK;
  const size_t n = std::min(capacity - 1, text.size());
  std::memcpy(buffer, text.data(), n);
  buffer[n] = '\0';
  return FERMATA_OK;
}

namespace {

Result<std::string> read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{Status::kNotFound, std::string(path) + ": " + std::strerror(errno)};
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

template <class Handle, class T>
int hand_out(Result<T> result, Handle** out) {
  if (!result) return fail(result.error());
  *out = new Handle{std::move(*result)};
  return FERMATA_OK;
}

int make(const fermata_plan_request& r, fermata_plan** out) {
  const auto machine = this_machine();
  if (r.topology == nullptr && !machine) return fail(machine.error());
  const Topology& topology = r.topology != nullptr ? r.topology->value : **machine;
  PlanOptions options;
  PlanKey& key = options.key;
  key.fingerprint = fingerprint(topology);
  key.collective = static_cast<Collective>(r.collective);
  key.members = r.members;
  key.payload = r.collective == FERMATA_BARRIER ? (r.payload > 0 ? 8 : 0)
                                                : payload_class(key.collective, static_cast<int>(r.payload));
  key.engine = static_cast<Engine>(r.engine);
  if (r.cpus != nullptr) key.cpus.assign(r.cpus, r.cpus + r.members);
  if (r.algorithm != nullptr) options.algorithm = r.algorithm;
  if (r.layout != nullptr) options.layout = r.layout;
  if (r.profile != nullptr) return hand_out(make_plan(topology, r.profile->value, options, nullptr), out);
  if (r.topology != nullptr)
    return hand_out(make_plan(topology, estimate_profile(topology), options, nullptr), out);
  if (options.algorithm.empty() && options.layout.empty())
    if (auto cached = load_plan(key)) return hand_out(std::move(cached), out);
  return hand_out(make_plan(topology, this_profile(key.engine), options, nullptr), out);
}

}  // namespace
}  // namespace fermata::api

using namespace fermata;
using namespace fermata::api;
using namespace fermata::team;

extern "C" {

int fermata_topology_discover(fermata_topology** out) {
  if (out == nullptr) return null_handle();
  return guarded([&] { return hand_out(discover_topology(), out); });
}

int fermata_topology_load(const char* path, fermata_topology** out) {
  if (path == nullptr || out == nullptr) return null_handle();
  return guarded([&] { return hand_out(topology_from_file(path), out); });
}

int fermata_topology_cpus(const fermata_topology* topology, int* count) {
  if (topology == nullptr || count == nullptr) return null_handle();
  *count = topology->value.usable_cpus();
  return FERMATA_OK;
}

void fermata_topology_destroy(fermata_topology* topology) { delete topology; }

int fermata_profile_load(const char* path, fermata_profile** out) {
  if (out == nullptr) return null_handle();
  return guarded([&] {
    if (path == nullptr) {
      const auto machine = this_machine();
      if (!machine) return fail(machine.error());
      return hand_out(load_profile(fingerprint(**machine), "threads"), out);
    }
    const auto text = read_file(path);
    if (!text) return fail(text.error());
    return hand_out(profile_from_json(*text), out);
  });
}

void fermata_profile_destroy(fermata_profile* profile) { delete profile; }

int fermata_plan_make(const fermata_plan_request* request, fermata_plan** out) {
  if (request == nullptr || out == nullptr) return null_handle();
  if (request->size != sizeof *request)
    return fail(Status::kArgument, "request.size: use FERMATA_PLAN_REQUEST_INIT");
  if (request->members < 1 || request->members > static_cast<int>(kMaxTeamMembers))
    return fail(Status::kArgument, "members must be 1..4096, not %d", request->members);
  if (request->collective < 0 || request->collective >= kLineCollectiveCount)
    return fail(Status::kArgument, "collective %d is none of fermata_collective", request->collective);
  if (request->engine != FERMATA_THREADS && request->engine != FERMATA_PROCESSES)
    return fail(Status::kArgument, "engine %d is none of fermata_engine", request->engine);
  if (request->payload > FERMATA_MAX_PAYLOAD)
    return fail(Status::kUnsupported, "payload must be 0..56 bytes");
  for (int r = 0; request->cpus != nullptr && r < request->members; ++r)
    if (request->cpus[r] < 0) return fail(Status::kArgument, "cpus[%d] is negative", r);
  return guarded([&] { return make(*request, out); });
}

int fermata_plan_load(const char* path, fermata_plan** out) {
  if (path == nullptr || out == nullptr) return null_handle();
  return guarded([&] {
    const auto text = read_file(path);
    if (!text) return fail(text.error());
    return hand_out(plan_from_json(*text), out);
  });
}

int fermata_plan_text(const fermata_plan* plan, char* buffer, size_t* length) {
  if (plan == nullptr || length == nullptr) return null_handle();
  return guarded([&] { return copy_text(explain(plan->value, false), buffer, length); });
}

void fermata_plan_destroy(fermata_plan* plan) { delete plan; }

}  // extern "C"
