// A C++20 program against the installed package, through the RAII header.
#include <fermata/fermata.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

int main() try {
  constexpr int kMembers = 3;
  fermata::Team team(kMembers);
  std::vector<std::int64_t> results(kMembers, 0);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kMembers; ++rank) {
    threads.emplace_back([&, rank] {
      fermata::Member member = team.join(rank);
      results[rank] = member.allreduce(std::int64_t{10} + rank, fermata::Op::kMax);
      std::vector<std::int64_t> ranks(kMembers);
      const std::int64_t mine = rank;
      fermata::Request request = member.begin(fermata::allgather(std::span(&mine, 1), ranks));
      member.barrier();
      request.wait();
      if (ranks != std::vector<std::int64_t>{0, 1, 2}) results[rank] = -1;
    });
  }
  threads.clear();
  for (const std::int64_t result : results) {
    if (result != 12) return 1;
  }
  std::puts("max(10, 11, 12) = 12");
  return 0;
} catch (const fermata::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
