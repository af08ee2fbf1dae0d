// Two coroutines sum a long vector part by part, each with a persistent operation of its own, while this
// thread computes. One coroutine's sum goes on while the other one works.
#include <fermata/fermata.hpp>

#include <atomic>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

namespace {

constexpr int kMembers = 2;
constexpr std::size_t kParts = 16;
constexpr std::size_t kPart = 4096;

// Sums every second part, from `first` on.
fermata::Task<> sum_parts(fermata::Request& sum, std::span<double> data, std::size_t first) {
  for (std::size_t part = first; part < kParts; part += 2) {
    const std::span<double> here = data.subspan(part * kPart, kPart);
    for (double& x : here) x *= 2;  // this part's own work
    co_await sum.reset(fermata::in_place, here).start();
  }
}

int run(fermata::Member& member) {
  std::vector<double> data(kParts * kPart);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = member.rank() + static_cast<double>(i);
  const std::span<double> whole(data);
  // Persistent, since one may overtake the other at some members and not at others.
  fermata::Request even =
      member.prepare(fermata::allreduce(fermata::in_place, whole.first(kPart), fermata::Op::kSum));
  fermata::Request odd =
      member.prepare(fermata::allreduce(fermata::in_place, whole.first(kPart), fermata::Op::kSum));
  std::vector<fermata::Task<>> tasks;
  tasks.push_back(sum_parts(even, data, 0));
  tasks.push_back(sum_parts(odd, data, 1));
  fermata::run(member, tasks);

  int wrong = 0;
  for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] != 2 * (1 + 2.0 * static_cast<double>(i));
  const int all = member.allreduce(wrong, fermata::Op::kSum);
  if (member.rank() == 0) std::printf("%zu parts, %d elements wrong\n", kParts, all);
  return all;
}

}  // namespace

int main() {
  fermata::Team team(kMembers);
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < kMembers; ++rank)
    threads.emplace_back([&, rank] {
      fermata::Member member = team.join(rank);
      if (run(member) != 0) wrong.store(1);
    });
  threads.clear();
  return wrong.load();
}
