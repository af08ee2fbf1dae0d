// Stores plans between runs: one readable file and one compiled file per key.
#include <cstdio>

#include "plan/plan.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

std::string canonical(const PlanKey& key) {
  std::string text = key.fingerprint + "|" + name_of(key.collective) + "|" + std::to_string(key.members) +
                     "|" + std::to_string(key.payload) + "|" +
                     (key.engine == Engine::kThreads ? "threads" : "processes");
  for (const std::int32_t cpu : key.cpus) text += "|" + std::to_string(cpu);
  for (const std::int32_t host : key.hosts) text += "|h" + std::to_string(host);
  return text;
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string compiled_path(const std::string& path) { return path.substr(0, path.size() - 5) + ".bin"; }

// libfermata-rt knows only the number of its threads, so it takes plans for unpinned threads alone. The plan
// must be for this machine, not for a topology that was read from a file.
bool is_for_the_runtime(const PlanKey& key) {
  if (key.collective != Collective::kBarrier || key.payload != 0 || key.engine != Engine::kThreads)
    return false;
  if (!key.cpus.empty() || !key.hosts.empty()) return false;
  const auto here = discover_topology();
  return here && fingerprint(*here) == key.fingerprint;
}

}  // namespace

std::string plan_path(const PlanKey& key) {
  const std::string directory = cache_directory();
  if (directory.empty()) return {};
  char name[32];
  std::snprintf(name, sizeof name, "plan-%016llx.json",
                static_cast<unsigned long long>(fnv1a(canonical(key))));
  return directory + "/" + name;
}

Result<Plan> load_plan_file(const std::string& path) {
  const auto content = read_file(path);
  if (!content) return content.error();
  auto plan = plan_from_json(*content);
  if (!plan) return Error{plan.error().status, path + ": " + plan.error().message};
  return plan;
}

Result<Plan> load_plan(const PlanKey& key) {
  const std::string path = plan_path(key);
  if (path.empty()) return Error{Status::kNotFound, "no cache directory: set HOME or XDG_CACHE_HOME"};
  auto plan = load_plan_file(path);
  if (plan && plan->key != key)
    return Error{Status::kParse,
                 path + ": line 1: it is for another machine, placement or collective than its name says"};
  return plan;
}

Result<std::string> save_plan(const Plan& plan) {
  const std::string path = plan_path(plan.key);
  if (path.empty()) return Error{Status::kNotFound, "no cache directory: set HOME or XDG_CACHE_HOME"};
  const auto program = compile(plan);
  if (!program) return program.error();
  // The compiled file is written first: a reader that finds the readable file then finds both.
  const std::string_view bytes(reinterpret_cast<const char*>(program->data()), program->size());
  if (const auto written = write_file_atomically(compiled_path(path), bytes); !written)
    return written.error();
  if (const std::string copy = is_for_the_runtime(plan.key) ? runtime_barrier_path(plan.key.members) : "";
      !copy.empty()) {
    if (const auto written = write_file_atomically(copy, bytes); !written) return written.error();
    keep_cache_to_owner();
  }
  return write_file_atomically(path, to_json(plan));
}

}  // namespace fermata
