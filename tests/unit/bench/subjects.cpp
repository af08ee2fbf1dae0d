// Runs every subject of the table briefly: it gives right results and a number in each quantity. The test
// does not judge the numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string_view>

#include "bench/session.hpp"
#include "bench/subject.hpp"

namespace fermata::bench {
namespace {

// The rivals in this build that need no launcher: mpirun takes seconds.
std::vector<std::string> rivals() {
  std::vector<std::string> names;
  for (const Entry& entry : table())
    if (entry.role == Role::kRival && !entry.library) names.emplace_back(entry.name);
  return names;
}

struct Group {
  const char* name;
  Collective collective;
  std::vector<int> bytes;
  int members;
  Engine engine;
};

class Subjects : public testing::TestWithParam<Group> {};

TEST_P(Subjects, HaveANumberInEachQuantity) {
  const Group& group = GetParam();
  Options options;
  options.collective = group.collective;
  options.bytes = group.bytes;
  options.members = {group.members};
  options.engines = {group.engine};
  // With more members than CPUs a run takes long: one quantity is enough.
  if (group.collective == Collective::kBarrier && group.members == 2)
    options.quantities.push_back(Quantity::kLatency);
  if (options.quantities.size() == 2 && group.engine == Engine::kThreads)
    options.quantities.push_back(Quantity::kEpcc);
  options.rivals = rivals();
  options.own = false;
  options.seconds = 0.02;
  options.worker_directory = FERMATA_BENCH_WORKERS;
  const Outcome outcome = run(options);
  std::multiset<std::string> left_out, rows;
  for (const LeftOut& l : outcome.left_out) {
    // A subject that spins on a shared CPU may be too slow to take part.
    constexpr std::string_view kMissing = "not available: needs ";
    // followed by the package's name
    const bool missing = l.reason.rfind(kMissing, 0) == 0 && l.reason.size() > kMissing.size();
    const bool expected = missing || (group.members > 2 && l.reason.rfind("left out: ", 0) == 0);
    EXPECT_TRUE(expected) << l.subject << " " << l.variant << ": " << l.reason;
    left_out.insert(l.subject);
  }
  for (const Row& row : outcome.rows) {
    SCOPED_TRACE(row.subject + ", " + row.variant + ", " + name_of(row.quantity));
    rows.insert(row.subject);
    EXPECT_GT(row.summary.count, 0u);
    if (row.quantity == Quantity::kEpcc) {  // a difference of two times, each of which may be disturbed
      EXPECT_TRUE(std::isfinite(row.summary.median));
    } else {
      EXPECT_GT(row.summary.median, 0);
      EXPECT_GT(row.summary.min, 0);
    }
    EXPECT_LE(row.summary.min, row.summary.p10);
    EXPECT_LE(row.summary.p10, row.summary.median);
    EXPECT_LE(row.summary.median, row.summary.p90);
    EXPECT_LE(row.summary.p90, row.summary.p99);
    EXPECT_EQ(row.what.members, row.role == Role::kProbe ? 2 : group.members);
  }
  // Each contestant is in one of the two lists, in each quantity; a floor is listed with its fastest variant
  // only.
  for (const int bytes : group.bytes.empty() ? std::vector<int>{0} : group.bytes)
    for (const Contestant& c : contestants(options, group.members, bytes, Quantity::kPeriod))
      EXPECT_GE(rows.count(c.name) + left_out.count(c.name),
                c.role == Role::kProbe ? 1 : options.quantities.size())
          << c.name;
}

INSTANTIATE_TEST_SUITE_P(
    Table, Subjects,
    testing::Values(Group{"barrier_threads_2", Collective::kBarrier, {}, 2, Engine::kThreads},
                    Group{"barrier_threads_3", Collective::kBarrier, {}, 3, Engine::kThreads},
                    Group{"barrier_processes_2", Collective::kBarrier, {}, 2, Engine::kProcesses},
                    Group{"barrier_processes_3", Collective::kBarrier, {}, 3, Engine::kProcesses},
                    Group{"allreduce_threads_2", Collective::kAllreduce, {8, 56}, 2, Engine::kThreads},
                    Group{"allreduce_threads_3", Collective::kAllreduce, {8}, 3, Engine::kThreads},
                    Group{"allreduce_processes_2", Collective::kAllreduce, {8, 56}, 2, Engine::kProcesses},
                    Group{"allreduce_processes_3", Collective::kAllreduce, {8}, 3, Engine::kProcesses}),
    [](const auto& group) { return group.param.name; });

}  // namespace
}  // namespace fermata::bench
