// One call wakes all threads that park at a barrier, whatever its shape.
#include <gtest/gtest.h>

#include <deque>
#include <set>

#include "anonymous/tree.hpp"

namespace fermata::anonymous {
namespace {

// Notes what the barrier asks of the system, and never sleeps.
struct NotedCalls {
  std::set<const void*> slept_at;
  std::vector<const void*> woken;
  void wake_all(std::atomic<std::uint32_t>& bell) { woken.push_back(&bell); }
  void sleep(std::atomic<std::uint32_t>& bell, std::uint32_t, std::int64_t) { slept_at.insert(&bell); }
  void relax() {}
};

struct Memory {
  explicit Memory(std::uint32_t leaves) : domains(leaves), nodes(kInnerNodes) {}
  std::deque<Domain<RealAtomics>> domains;
  std::deque<Node<RealAtomics>> nodes;
  Members<RealAtomics> all{};
  Domain<RealAtomics>& domain(std::uint32_t d) { return domains[d]; }
  Node<RealAtomics>& inner(std::uint32_t i) { return nodes[i]; }
  Members<RealAtomics>& members() { return all; }
  std::uint32_t leaves() const { return static_cast<std::uint32_t>(domains.size()); }
};

TEST(Wakes, OneCallWakesTheThreadsOfAllDomains) {
  for (const std::uint32_t leaves : {1U, 2U, 8U, 16U}) {
    constexpr std::uint32_t kMembers = 64;
    Memory memory(leaves);
    NotedCalls os;
    Tree<RealAtomics, Memory, NotedCalls> tree(memory, os);
    tree.open(kMembers, 1);
    for (int episode = 0; episode < 2; ++episode) {
      os = {};
      for (std::uint32_t m = 0; m < kMembers; ++m) {
        const auto arrival = tree.arrive(
            m % leaves, 1, [&](std::uint64_t token) { tree.release(token); },
            [](std::uint64_t) { FAIL() << "nobody has to wait for a release"; });
        EXPECT_EQ(arrival.last, m == kMembers - 1);
        if (!arrival.last)
          park(memory.domain(m % leaves).phase, memory.domain(0).phase.bell, arrival.token, os, 0);
      }
      EXPECT_EQ(os.woken.size(), 1u) << leaves;
      EXPECT_EQ(os.slept_at, std::set<const void*>(os.woken.begin(), os.woken.end())) << leaves;
    }
  }
}

}  // namespace
}  // namespace fermata::anonymous
