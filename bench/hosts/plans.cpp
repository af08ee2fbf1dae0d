// plans ALGORITHM HOST...: writes plans into the cache ($XDG_CACHE_HOME) for ranks on these hosts. They run
// ALGORITHM flat over all hosts: broadcasts and allreduces, on lines and, up to 8 MiB, on blocks. Composed
// plans are compared with teams that use this cache.
#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "plan/block_plan.hpp"
#include "plan/hosts.hpp"
#include "plan/line_search.hpp"

using namespace fermata;

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  PlanOptions options;
  options.algorithm = argv[1];
  PlanKey& key = options.key;
  Allocation team;
  for (int i = 2; i < argc; ++i) {
    const auto known = std::find(team.names.begin(), team.names.end(), argv[i]);
    team.hosts.push_back(static_cast<std::int32_t>(known - team.names.begin()));
    if (known == team.names.end()) team.names.emplace_back(argv[i]);
  }
  key.hosts = team.hosts;
  const Topology topology = topology_of(team);
  const Profile profile = profile_of_hosts(topology);
  key.fingerprint = fingerprint(topology);
  key.members = static_cast<std::int32_t>(key.hosts.size());
  key.engine = Engine::kProcesses;
  key.cpus.resize(key.hosts.size());
  std::iota(key.cpus.begin(), key.cpus.end(), 0);
  for (const Collective collective : {Collective::kBroadcast, Collective::kAllreduce}) {
    key.collective = collective;
    for (const std::int32_t payload : {8, 56}) {
      key.payload = payload;
      const auto plan = make_plan(topology, profile, options, nullptr);
      const auto saved = plan ? save_plan(*plan) : Result<std::string>(plan.error());
      if (!saved) return std::fprintf(stderr, "%s\n", saved.error().message.c_str()), 1;
    }
    for (std::size_t bytes = 64; bytes <= std::size_t{8} << 20; bytes *= 2) {
      BlockPlan plan;
      plan.collective = collective;
      plan.bytes = bytes;
      plan.origin = "measured";  // measured plans run whatever the prediction says
      plan.candidates = {{options.algorithm, 1, 1, "chosen"}};
      if (const auto saved = save_block_plan(key, plan); !saved)
        return std::fprintf(stderr, "%s\n", saved.error().message.c_str()), 1;
    }
  }
}
