// The harness with subjects that are right, wrong, stuck, dying or missing. No test depends on a time.
#include "bench/session.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

namespace fermata::bench {
namespace {

enum class Fault { kNone, kNoWait, kOneShort, kBecomesSlow, kHang, kCrash, kRefuse };

// A barrier of one shared counter, with a fault.
class Barrier final : public Subject {
 public:
  explicit Barrier(Fault fault) : fault_(fault) {}
  std::string prepare(const Case& c, Arena& arena) override {
    members_ = static_cast<std::uint64_t>(c.members);
    word_ = arena.make<std::atomic<std::uint64_t>>(0);
    turns_.resize(members_);
    return fault_ == Fault::kRefuse ? "not on this machine" : "";
  }
  void work(int rank, Turn& turn) override {
    std::uint64_t goal = turns_[static_cast<std::size_t>(rank)];
    turn.run(rank, [&] {
      goal += members_;
      word_->fetch_add(1, std::memory_order_acq_rel);
      if (fault_ == Fault::kNoWait) return;
      if (fault_ == Fault::kBecomesSlow && rank == 0 && goal > 1000 * members_) usleep(1000);
      if (fault_ == Fault::kCrash && goal > 3 * members_) std::abort();
      const std::uint64_t enough = fault_ == Fault::kOneShort ? goal - 1 : goal;
      while (word_->load(std::memory_order_acquire) < enough || fault_ == Fault::kHang) sched_yield();
    });
    turns_[static_cast<std::size_t>(rank)] = goal;
  }

 private:
  const Fault fault_;
  std::uint64_t members_ = 0;
  std::atomic<std::uint64_t>* word_ = nullptr;
  std::vector<std::uint64_t> turns_;
};

// An allreduce that adds `error` to one element of the right result. Its barrier is two counters.
class Sum final : public Subject {
 public:
  explicit Sum(double error) : error_(error) {}
  std::string prepare(const Case& c, Arena& arena) override {
    case_ = c;
    word_ = arena.make<std::atomic<std::uint64_t>>(0);
    in_ = arena.make_array<double>(static_cast<std::size_t>(c.members * c.doubles()));
    turns_.resize(static_cast<std::size_t>(c.members));
    return {};
  }
  void work(int rank, Turn& turn) override {
    std::uint64_t goal = turns_[static_cast<std::size_t>(rank)];
    const int count = case_.doubles();
    const auto wait = [&] {
      goal += static_cast<std::uint64_t>(case_.members);
      word_->fetch_add(1, std::memory_order_acq_rel);
      while (word_->load(std::memory_order_acquire) < goal) sched_yield();
    };
    turn.run(rank, [&](const double* in, double* out) {
      for (int i = 0; i < count; ++i) in_[rank * count + i] = in[i];
      wait();
      for (int i = 0; i < count; ++i) {
        out[i] = 0;
        for (int r = 0; r < case_.members; ++r) out[i] += in_[r * count + i];
      }
      out[count - 1] += error_;
      wait();
    });
    turns_[static_cast<std::size_t>(rank)] = goal;
  }

 private:
  const double error_;
  Case case_;
  std::atomic<std::uint64_t>* word_ = nullptr;
  double* in_ = nullptr;
  std::vector<std::uint64_t> turns_;
};

template <class Make>
Outcome run_alone(Make make, int members = 3, Engine engine = Engine::kThreads,
                  Collective collective = Collective::kBarrier, double limit_s = 60) {
  Options options;
  options.collective = collective;
  options.members = {members};
  if (collective != Collective::kBarrier) options.bytes = {24};
  options.engines = {engine};
  options.rivals = {};
  options.own = options.floors = false;
  options.seconds = 0.1;
  options.limit_s = limit_s;
  Contestant c;
  c.name = "subject";
  c.launch.make = make;
  options.extra.push_back(c);
  return run(options);
}

Outcome run_barrier(Fault fault, Engine engine = Engine::kThreads) {
  return run_alone([fault] { return std::make_unique<Barrier>(fault); }, 3, engine, Collective::kBarrier,
                   fault == Fault::kHang ? 1.5 : 60);
}

void expect_left_out(const Outcome& outcome, const std::string& reason) {
  EXPECT_TRUE(outcome.rows.empty()) << "it has a number";
  ASSERT_EQ(outcome.left_out.size(), 1u);
  EXPECT_NE(outcome.left_out[0].reason.find(reason), std::string::npos) << outcome.left_out[0].reason;
}

class BothEngines : public testing::TestWithParam<Engine> {};
INSTANTIATE_TEST_SUITE_P(Session, BothEngines, testing::Values(Engine::kThreads, Engine::kProcesses),
                         [](const auto& each) { return std::string(name_of(each.param)); });

TEST_P(BothEngines, ARightBarrierHasANumber) {
  const Outcome outcome = run_barrier(Fault::kNone, GetParam());
  ASSERT_EQ(outcome.rows.size(), 1u) << (outcome.left_out.empty() ? "" : outcome.left_out[0].reason);
  EXPECT_GT(outcome.rows[0].summary.count, 0u);
  EXPECT_GT(outcome.rows[0].summary.min, 0);
  EXPECT_TRUE(outcome.left_out.empty());
}
TEST_P(BothEngines, ABarrierThatDoesNotWaitHasNoNumber) {
  expect_left_out(run_barrier(Fault::kNoWait, GetParam()), "wrong");
}
TEST_P(BothEngines, ABarrierThatWaitsForOneTooFewHasNoNumber) {
  expect_left_out(run_barrier(Fault::kOneShort, GetParam()), "wrong");
}
TEST_P(BothEngines, AHangingBarrierIsKilledAndSaidToHang) {
  expect_left_out(run_barrier(Fault::kHang, GetParam()), "hung");
}

TEST_P(BothEngines, ABatchThatBecomesSlowEndsEarlyForAll) {
  const Outcome outcome = run_barrier(Fault::kBecomesSlow, GetParam());
  EXPECT_EQ(outcome.rows.size(), 1u) << (outcome.left_out.empty() ? "" : outcome.left_out[0].reason);
}

TEST(Session, ACrashIsReported) { expect_left_out(run_barrier(Fault::kCrash), "signal 6"); }
TEST(Session, ASubjectMayRefuse) { expect_left_out(run_barrier(Fault::kRefuse), "not on this machine"); }

TEST_P(BothEngines, AResultIsCompared) {
  const auto with_error = [](double error) { return [error] { return std::make_unique<Sum>(error); }; };
  EXPECT_EQ(run_alone(with_error(0), 3, GetParam(), Collective::kAllreduce).rows.size(), 1u);
  expect_left_out(run_alone(with_error(0.5), 3, GetParam(), Collective::kAllreduce), "wrong");
}

TEST(Session, AMissingWorkerNamesWhatToInstall) {
  Options options;
  options.rivals = {"libomp_hyper"};
  options.own = options.floors = false;
  options.seconds = 0.05;
  options.worker_directory = "/nonexistent";
  expect_left_out(run(options), "not available: needs clang++ with libomp");
}

char state_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t end = text.rfind(')');
  return end == std::string::npos ? '?' : text[end + 2];
}

TEST(Session, AWorkerIsStoppedOutsideItsTurn) {
  Remote remote;
  Launch launch;
  launch.make = [] { return std::make_unique<Barrier>(Fault::kNone); };
  const Case what;
  ASSERT_EQ(remote.start(launch, what), "");
  const pid_t pid = remote.pid();
  EXPECT_EQ(state_of(pid), 'T');
  Order order;
  order.episodes = 10;
  const Remote::Outcome outcome = remote.turn(order, 5);
  EXPECT_EQ(outcome.error, "");
  EXPECT_GT(outcome.reply.value_ns, 0);
  EXPECT_EQ(state_of(pid), 'T');
  remote.end();
  EXPECT_EQ(kill(pid, 0), -1);
}

}  // namespace
}  // namespace fermata::bench
