// A C++20 program against the installed package: the same through the C ABI, and the RAII header where it is installed.
#include <fermata/fermata.h>
#if __has_include(<fermata/fermata.hpp>)
#include <fermata/fermata.hpp>
#endif

#include <cstdio>
#include <thread>
#include <vector>

int main() {
  constexpr int kMembers = 3;
  fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
  config.members = kMembers;
  fermata_team* team = nullptr;
  if (fermata_team_create(&config, &team) != FERMATA_OK) {
    std::fprintf(stderr, "create: %s\n", fermata_error_detail());
    return 1;
  }
  std::vector<long> results(kMembers, 0);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kMembers; ++rank) {
    threads.emplace_back([&, rank] {
      fermata_member* member = nullptr;
      if (fermata_team_join(team, rank, &member) != FERMATA_OK) return;
      const std::int64_t mine = 10 + rank;
      std::int64_t best = 0;
      if (fermata_allreduce(member, &mine, &best, 1, FERMATA_INT64, FERMATA_MAX) == FERMATA_OK &&
          fermata_barrier(member) == FERMATA_OK) {
        results[rank] = best;
      }
      fermata_member_leave(member);
    });
  }
  threads.clear();
  fermata_team_destroy(team);
  for (const long result : results) {
    if (result != 12) return 1;
  }
  std::puts("max(10, 11, 12) = 12");
  return 0;
}
