// Four threads sum their ranks, in C++: the handles clean up after themselves and errors are exceptions.
#include <fermata/fermata.hpp>

#include <cstdio>
#include <thread>
#include <vector>

int main() {
  constexpr int kMembers = 4;
  fermata::Team team(kMembers);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kMembers; ++rank)
    threads.emplace_back([&team, rank] {
      fermata::Member member = team.join(rank);
      const double sum = member.allreduce(1.0 * rank, fermata::Op::kSum);
      member.barrier();
      if (rank == 0) std::printf("0 + 1 + 2 + 3 = %g\n", sum);
    });
}
