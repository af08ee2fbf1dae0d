// Topologies, profiles and plans in the C ABI.
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "api/handles.hpp"
#include "profile/store.hpp"
#include "profile/subset.hpp"

namespace fermata::api {

namespace {

// Makes a value once and stores it for the life of the process. If several threads ask at once, each makes
// the value, and the first one is stored. No thread waits for another. So a child that is forked meanwhile
// never waits for a thread that exists only in the parent.
template <class T, class Make>
const T& kept_or_made(const T*& kept, Make&& make) {
  {
    const os::ProcessLock lock;
    if (kept != nullptr) return *kept;
  }
  auto mine = std::make_unique<const T>(make());
  const os::ProcessLock lock;
  if (kept == nullptr) kept = mine.release();
  return *kept;
}

}  // namespace

Result<const Topology*> this_machine() {
  static constinit const Result<Topology>* kept = nullptr;
  const Result<Topology>& found = kept_or_made(kept, [] { return discover_topology(); });
  if (!found) return found.error();
  return &*found;
}

Profile best_known_profile(const Topology& topology, Engine engine) {
  const std::string key = fingerprint(topology);
  auto stored = load_profile(key, engine == Engine::kThreads ? "threads" : "processes");
  if (!stored) stored = load_profile(key, "threads");
  return stored ? *stored : estimate_profile(topology);
}

const Profile& this_profile(Engine engine) {
  static constinit std::array<const Profile*, 2> kept{};  // by Engine
  return kept_or_made(kept[static_cast<std::size_t>(engine)], [engine] {
    const auto machine = this_machine();
    return best_known_profile(machine ? **machine : Topology{}, engine);
  });
}

Result<Plan> plan_for(const PlanKey& key, const Topology& topology, const Profile* profile,
                      const std::string& algorithm, const std::string& layout) {
  if (profile == nullptr && algorithm.empty() && layout.empty()) {
    auto cached = load_plan(key);
    if (cached) return cached;
  }
  PlanOptions options;
  options.key = key;
  options.algorithm = algorithm;
  options.layout = layout;
  return make_plan(topology, profile != nullptr ? *profile : this_profile(key.engine), options, nullptr);
}

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
  PlanKey key;
  key.fingerprint = fingerprint(topology);
  key.kind = static_cast<Kind>(r.kind);
  key.members = r.members;
  key.payload = r.kind == FERMATA_BARRIER ? (r.payload > 0 ? 8 : 0)
                                          : payload_class(key.kind, static_cast<int>(r.payload));
  key.engine = static_cast<Engine>(r.engine);
  if (r.cpus != nullptr) key.cpus.assign(r.cpus, r.cpus + r.members);
  const Profile* profile = r.profile != nullptr ? &r.profile->value : nullptr;
  Profile estimated;
  if (profile == nullptr && r.topology != nullptr) {
    estimated = estimate_profile(topology);
    profile = &estimated;
  }
  return hand_out(plan_for(key, topology, profile, r.algorithm != nullptr ? r.algorithm : "",
                           r.layout != nullptr ? r.layout : ""),
                  out);
}

}  // namespace
}  // namespace fermata::api

using namespace fermata;
using namespace fermata::api;

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
  if (request->members < 1 || request->members > static_cast<int>(kMaxMembers))
    return fail(Status::kArgument, "members must be 1..4096, not %d", request->members);
  if (request->kind < 0 || request->kind >= kLineKindCount)
    return fail(Status::kArgument, "kind %d is none of fermata_kind", request->kind);
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
