// Counters of the kernel: those of software are counted here, those of hardware where there are some.
#include "bench/counters.hpp"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <thread>

#include "bench/report.hpp"
#include "bench/session.hpp"

namespace fermata::bench {
namespace {

constexpr std::size_t kPage = 4096;

constexpr std::size_t index_of(std::string_view name) {
  std::size_t i = 0;
  while (kCounters[i].name != name) ++i;
  return i;
}

// Touches so many new pages.
void fault(std::size_t pages) {
  void* const memory =
      mmap(nullptr, pages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * kPage, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < pages; ++i) static_cast<volatile char*>(memory)[i * kPage] = 1;
  munmap(memory, pages * kPage);
}

bool counts(const char* name) {
  const ThreadCounters counters;
  const ThreadCounters::Readings begin = counters.read();
  return !std::isnan(counters.since(begin)[index_of(name)]);
}

TEST(Counters, PageFaults) {
  if (!counts("page_faults")) GTEST_SKIP() << counter_source();
  const ThreadCounters counters;
  const ThreadCounters::Readings begin = counters.read();
  fault(64);
  const double faults = counters.since(begin)[index_of("page_faults")];
  EXPECT_GE(faults, 64);
  EXPECT_LE(faults, 80);
}

TEST(Counters, AnEventThatHadATurnNowAndThenIsScaledUp) {
  ThreadCounters::Readings begin, end;
  begin[0] = {.count = 10, .enabled_ns = 100, .running_ns = 40};
  end[0] = {.count = 60, .enabled_ns = 300, .running_ns = 90};  // 50 in 50 of 200 ns
  begin[1] = end[1] = begin[0];
  end[1].enabled_ns = 300;  // it had none
  const Counts counts = ThreadCounters::between(begin, end);
  EXPECT_DOUBLE_EQ(counts[0], 200);
  EXPECT_TRUE(std::isnan(counts[1]));
  EXPECT_TRUE(std::isnan(counts[2]));
}

TEST(Counters, EachThreadHasItsOwn) {
  if (!counts("page_faults")) GTEST_SKIP() << counter_source();
  const ThreadCounters::Readings begin = ThreadCounters::mine().read();
  double of_thread = 0;
  std::thread([&] {
    const ThreadCounters::Readings own = ThreadCounters::mine().read();
    fault(1000);
    of_thread = ThreadCounters::mine().since(own)[index_of("page_faults")];
  }).join();
  EXPECT_GE(of_thread, 1000);
  EXPECT_LT(ThreadCounters::mine().since(begin)[index_of("page_faults")], 500);
}

TEST(Counters, CyclesAndInstructions) {
  if (!counts("cycles") || !counts("instructions")) GTEST_SKIP() << counter_source();
  const ThreadCounters counters;
  const ThreadCounters::Readings begin = counters.read();
  for (int i = 0; i < 1'000'000; ++i) asm volatile("" : "+r"(i)::);
  const Counts found = counters.since(begin);
  EXPECT_GE(found[index_of("instructions")], 1e6);
  EXPECT_GT(found[index_of("cycles")], 1e5);
}

// Two threads that write one line in turns move it, so its readers miss.
TEST(Counters, MissesOfASharedLine) {
  if (!counts("l1d_load_misses")) GTEST_SKIP() << counter_source();
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one CPU";
  constexpr int kTurns = 20'000;
  alignas(kMaxLine) std::atomic<int> turn{0};
  std::thread other([&] {
    for (int i = 1; i < kTurns; i += 2) {
      while (turn.load() != i) std::this_thread::yield();
      turn.store(i + 1);
    }
  });
  const ThreadCounters counters;
  const ThreadCounters::Readings begin = counters.read();
  for (int i = 0; i < kTurns; i += 2) {
    turn.store(i + 1);
    while (turn.load() != i + 2) std::this_thread::yield();
  }
  other.join();
  EXPECT_GT(counters.since(begin)[index_of("l1d_load_misses")], 0);
}

TEST(Counters, TheSourceSaysWhyThereAreNone) {
  EXPECT_TRUE(counter_source(EACCES).starts_with("none: not allowed")) << counter_source(EACCES);
  EXPECT_EQ(counter_source(ENOENT), "none: this machine has none");
  EXPECT_EQ(counter_source(ENOSYS), "none: Function not implemented");
}

// A barrier by one counter, whose members each touch a new page in each episode.
class Faulty final : public Subject {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    members_ = static_cast<std::uint64_t>(c.members);
    word_ = arena.make<std::atomic<std::uint64_t>>(0);
    return {};
  }
  void work(int, Turn& turn) override {
    std::uint64_t goal = word_->load() / members_ * members_;
    turn.run(0, [&] {
      fault(1);
      goal += members_;
      word_->fetch_add(1);
      while (word_->load() < goal) std::this_thread::yield();
    });
  }

 private:
  std::uint64_t members_ = 0;
  std::atomic<std::uint64_t>* word_ = nullptr;
};

Outcome run_faulty(bool counters) {
  Options options;
  options.members = {1};
  options.rivals = {};
  options.own = options.floors = false;
  options.seconds = 0.05;
  options.counters = counters;
  options.extra.push_back(own_contestant("faulty", [] { return std::make_unique<Faulty>(); }));
  return run(options);
}

TEST(Counters, ARunShowsThem) {
  if (!counts("page_faults")) GTEST_SKIP() << counter_source();
  const Outcome outcome = run_faulty(true);
  ASSERT_EQ(outcome.rows.size(), 1u);
  EXPECT_NEAR(outcome.rows[0].counts[index_of("page_faults")], 1, 0.1);
  const std::string table = to_table(outcome);
  EXPECT_NE(table.find("events of an episode and member, barrier, threads, n = 1, period\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find(" faults "), std::string::npos) << table;
  EXPECT_NE(table.find(" switch\n"), std::string::npos) << table;
  EXPECT_NE(table.find("counted: "), std::string::npos) << table;
  const nlohmann::json json = to_json({}, outcome, "fermata bench");
  EXPECT_NEAR(json.at("results")[0].at("page_faults").get<double>(), 1, 0.1);
  EXPECT_TRUE(json.at("results")[0].contains("cache_misses"));
  EXPECT_EQ(json.at("machine").at("counters"), counter_source());
}

TEST(Counters, WithoutTheOptionThereAreNone) {
  const Outcome outcome = run_faulty(false);
  ASSERT_EQ(outcome.rows.size(), 1u);
  EXPECT_TRUE(std::isnan(outcome.rows[0].counts[index_of("page_faults")]));
  EXPECT_EQ(to_table(outcome).find("events of"), std::string::npos);
  const nlohmann::json json = to_json({}, outcome, "fermata bench");
  EXPECT_FALSE(json.at("results")[0].contains("page_faults"));
  EXPECT_EQ(json.at("machine").at("counters"), "");
}

}  // namespace
}  // namespace fermata::bench
