// What disturbs the subjects of a benchmark. No test depends on a time.
#include "bench/load.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "bench/session.hpp"

namespace fermata::bench {
namespace {

TEST(Load, BurnersDoNotOutliveTheRun) {
  std::vector<pid_t> children;
  {
    const Burners burners({.burners = 2, .nice = 1, .own_session = true});
    children = burners.children();
    ASSERT_EQ(children.size(), 2u);
    for (const pid_t child : children) EXPECT_EQ(kill(child, 0), 0);
    // Once they burn, they have what was asked for.
    for (const pid_t child : children) {
      while (getpriority(PRIO_PROCESS, static_cast<id_t>(child)) != getpriority(PRIO_PROCESS, 0) + 1)
        sched_yield();
      EXPECT_EQ(getsid(child), child);
    }
  }
  for (const pid_t child : children) {
    EXPECT_EQ(kill(child, 0), -1);
    EXPECT_EQ(errno, ESRCH);
  }
}

TEST(Load, WrongNumbersAreNamed) {
  EXPECT_EQ(check(Load{}), "");
  EXPECT_EQ(check({.burners = 2, .nice = 19, .own_session = true, .pulse_ms = 100}), "");
  EXPECT_NE(check({.burners = -1}).find("--burners"), std::string::npos);
  EXPECT_NE(check({.burners = 1, .nice = 20}).find("--nice"), std::string::npos);
  EXPECT_NE(check({.pulse_ms = 10}).find("--burners"), std::string::npos);
  EXPECT_NE(check({.quota = -5}).find("--quota"), std::string::npos);
  EXPECT_NE(check({.beside = 2000}).find("--beside"), std::string::npos);
  EXPECT_NE(check({.take_ms = -1}).find("--take"), std::string::npos);
}

// A child that sleeps, in a process group of its own.
class Child {
 public:
  explicit Child(const std::string& procs = "") {
    pid_ = fork();
    if (pid_ == 0) {
      if (!procs.empty() && !join(procs)) _exit(1);
      for (;;) pause();
    }
    setpgid(pid_, pid_);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(Load, AQuotaIsAGroupOfProcessesOrAPulse) {
  EXPECT_STREQ(Quota(0).means(), "none");
  std::string folder;
  {
    const Quota quota(150);
    if (quota.procs().empty()) {
      EXPECT_STREQ(quota.means(), "stop signals");
      EXPECT_EQ(quota.pulse().on_ms + quota.pulse().off_ms, Quota::kPeriodMs);
      EXPECT_NE(quota.pulse().act, nullptr);
      return;
    }
    EXPECT_EQ(std::string(quota.means()).substr(0, 8), "cgroup v");
    EXPECT_EQ(quota.pulse().act, nullptr);
    folder = std::filesystem::path(quota.procs()).parent_path();
    const std::string limits = text_of(folder + "/cpu.max") + text_of(folder + "/cpu.cfs_quota_us");
    EXPECT_NE(limits.find("150000"), std::string::npos) << limits;
    const Child child(quota.procs());
    while (text_of(quota.procs()).find(std::to_string(child.pid())) == std::string::npos) sched_yield();
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

int cpus_of(pid_t pid) {
  cpu_set_t set;
  return sched_getaffinity(pid, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
}

TEST(Load, CpusAreTakenFromAWholeGroupAndGivenBack) {
  const Child child;
  const int all = cpus_of(0);
  const Pulse pulse = taking_cpus(10);
  pulse.act(child.pid(), false);
  EXPECT_EQ(cpus_of(child.pid()), 1);
  EXPECT_EQ(cpus_of(0), all);
  pulse.act(child.pid(), true);
  EXPECT_EQ(cpus_of(child.pid()), all);
}

// A barrier by one counter, whose episodes take a millisecond.
class Slow final : public Subject {
 public:
  std::string prepare(const Case& c, Arena& arena) override {
    members_ = static_cast<std::uint64_t>(c.members);
    word_ = arena.make<std::atomic<std::uint64_t>>(0);
    return members_ == 5 ? "not five" : "";
  }
  void work(int rank, Turn& turn) override {
    std::uint64_t goal = word_->load() / members_ * members_;
    turn.run(rank, [&] {
      goal += members_;
      word_->fetch_add(1);
      while (word_->load() < goal) usleep(1000);
    });
  }

 private:
  std::uint64_t members_ = 0;
  std::atomic<std::uint64_t>* word_ = nullptr;
};

std::vector<bool> g_beats;

TEST(Load, PulsesActDuringATurnAndEndWithIt) {
  Remote remote;
  Launch launch;
  launch.make = [] { return std::make_unique<Slow>(); };
  ASSERT_EQ(remote.start(launch, Case{}), "");
  Order order;
  order.episodes = 20;
  g_beats.clear();
  const Pulse pulse{.on_ms = 1, .off_ms = 1, .act = [](pid_t, bool on) { g_beats.push_back(on); }};
  EXPECT_EQ(remote.turn(order, 30, std::span(&pulse, 1)).error, "");
  ASSERT_GE(g_beats.size(), 2u);
  for (std::size_t i = 0; i < g_beats.size(); ++i) EXPECT_EQ(g_beats[i], i % 2 == 1) << i;
  EXPECT_TRUE(g_beats.back());
}

Outcome run_beside(Load load) {
  Options options;
  options.rivals = {};
  options.own = options.floors = false;
  options.seconds = 0.1;
  options.window_s = 0.01;
  options.load = load;
  Contestant c;
  c.name = "subject";
  c.launch.make = [] { return std::make_unique<Slow>(); };
  options.extra.push_back(c);
  return run(options);
}

TEST(Load, EachSubjectRunsUnderEachLoad) {
  for (const Load& load :
       {Load{.burners = 1, .pulse_ms = 1}, Load{.quota = 150}, Load{.beside = 3}, Load{.take_ms = 2}}) {
    const Outcome outcome = run_beside(load);
    ASSERT_EQ(outcome.rows.size(), 1u) << (outcome.left_out.empty() ? "" : outcome.left_out[0].reason);
    EXPECT_GE(outcome.rows[0].summary.count, 5u);
    EXPECT_GT(outcome.rows[0].cpu_ns, 0);
    EXPECT_GT(outcome.rows[0].switches, 0);  // its members sleep
    EXPECT_EQ(outcome.quota == "none", load.quota == 0);
  }
}

TEST(Load, ASecondTeamThatCannotRunIsSaid) {
  const Outcome outcome = run_beside({.beside = 5});
  EXPECT_TRUE(outcome.rows.empty());
  ASSERT_EQ(outcome.left_out.size(), 1u);
  EXPECT_EQ(outcome.left_out[0].reason, "its second team: not five");
}

}  // namespace
}  // namespace fermata::bench
