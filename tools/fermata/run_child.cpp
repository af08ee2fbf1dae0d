#include "run_child.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "commands.hpp"
#include "os/environment.hpp"
#include "topo/topology.hpp"

namespace fermata::tool {
namespace {

void set_environment(const RunProgram& program, const std::vector<std::string>& libraries,
                     const std::string& stats_directory) {
  std::string preload;
  for (const std::string& library : libraries) preload += (preload.empty() ? "" : ":") + library;
  if (const char* given = getenv("LD_PRELOAD"); given != nullptr && *given != '\0' && !preload.empty())
    preload += std::string(":") + given;
  if (!preload.empty()) setenv("LD_PRELOAD", preload.c_str(), 1);
  const auto set = [](os::Variable variable, const std::string& value) {
    setenv(os::row_of(variable).name, value.c_str(), 1);
  };
  if (!stats_directory.empty()) set(os::Variable::kStats, stats_directory);
  if (program.trace) set(os::Variable::kTrace, "1");
  if (program.brief_spins && !libraries.empty()) setenv("GOMP_SPINCOUNT", kBriefSpins, 0);
  if (program.stall > 0) set(os::Variable::kStallSeconds, fmt::format("{}", program.stall));
}

[[noreturn]] void execute(const std::vector<std::string>& command) {
  std::vector<char*> argv;
  for (const std::string& s : command) argv.push_back(const_cast<char*>(s.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  fmt::print(stderr, "fermata run: {}: {}\n", command[0], std::strerror(errno));
  _exit(errno == ENOENT ? 127 : 126);
}

pid_t started = -1;

// Forwards a signal that a process sent to this one alone. The kernel sends the terminal's signals to the
// whole foreground group (si_code > 0), so the child has those already.
void forward(int signal, siginfo_t* from, void*) {
  if (started > 0 && from->si_code <= 0) kill(started, signal);
}

// Forwards signals to a child while it lives. They stay blocked until pass(), so none is lost in between. An
// ignored signal stays ignored in parent and child.
class SignalsPassed {
 public:
  SignalsPassed() {
    sigset_t all;
    sigemptyset(&all);
    for (const int s : kPassed) sigaddset(&all, s);
    sigprocmask(SIG_BLOCK, &all, &mask_);
    for (std::size_t i = 0; i < std::size(kPassed); ++i) sigaction(kPassed[i], nullptr, &before_[i]);
  }
  ~SignalsPassed() { restore(); }
  SignalsPassed(const SignalsPassed&) = delete;
  SignalsPassed& operator=(const SignalsPassed&) = delete;

  // Called in the parent, after `started` is set.
  void pass() {
    struct sigaction passing = {};
    passing.sa_sigaction = forward;
    passing.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < std::size(kPassed); ++i)
      if (before_[i].sa_handler != SIG_IGN) sigaction(kPassed[i], &passing, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  void restore() {
    for (std::size_t i = 0; i < std::size(kPassed); ++i) sigaction(kPassed[i], &before_[i], nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  static constexpr int kPassed[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  sigset_t mask_;
  struct sigaction before_[std::size(kPassed)] = {};
};

}  // namespace

void bind_to_cpus(const RunProgram& program) {
  if (program.cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string places;
  for (const std::int32_t cpu : take(parse_cpu_list(program.cpus))) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) throw CommandError(fmt::format("this machine has no CPU {}", cpu));
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    places += fmt::format("{}{{{}}}", places.empty() ? "" : ",", cpu);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw CommandError(fmt::format("--cpus {}: {}", program.cpus, std::strerror(errno)));
  setenv("OMP_PLACES", places.c_str(), 0);
  setenv("OMP_PROC_BIND", "true", 0);
}

void share_cpus(RunProgram& program) {
  if (getenv("OMP_WAIT_POLICY") != nullptr || getenv("GOMP_SPINCOUNT") != nullptr) return;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return;
  const int cpus = CPU_COUNT(&set);
  const char* const asked = getenv("OMP_NUM_THREADS");
  const int threads = asked != nullptr ? std::max(std::atoi(asked), 1) : cpus;
  // "0.20 0.18 0.12 1/80 11206": the fourth counts the threads that run or are ready, with this one.
  int ready = 0;
  if (std::FILE* const file = std::fopen("/proc/loadavg", "re"); file != nullptr) {
    if (std::fscanf(file, "%*f %*f %*f %d", &ready) != 1) ready = 0;
    std::fclose(file);
  }
  program.brief_spins = ready > 1 && threads + ready - 1 > cpus;
}

void become(const RunProgram& program, const std::vector<std::string>& libraries) {
  set_environment(program, libraries, "");
  execute(program.command);
}

Ended run_child(const RunProgram& program, const std::vector<std::string>& libraries,
                const std::string& stats_directory, bool silent) {
  const auto begin = std::chrono::steady_clock::now();
  SignalsPassed signals;
  started = fork();
  if (started < 0) throw CommandError(fmt::format("fork: {}", std::strerror(errno)));
  if (started == 0) {
    signals.restore();
    if (silent && freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    set_environment(program, libraries, stats_directory);
    execute(program.command);
  }
  signals.pass();
  Ended ended;
  rusage usage{};
  while (wait4(started, &ended.status, 0, &usage) < 0 && errno == EINTR) {
  }
  started = -1;
  ended.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  ended.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  return ended;
}

void end_like(int status) {
  std::fflush(nullptr);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    const rlimit no_core{0, 0};  // the program has dumped its own
    setrlimit(RLIMIT_CORE, &no_core);
    kill(getpid(), WTERMSIG(status));
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
}

bool is_interrupted(int status) {
  if (!WIFSIGNALED(status)) return false;
  const int by = WTERMSIG(status);
  return by == SIGINT || by == SIGQUIT || by == SIGTERM || by == SIGHUP;
}

}  // namespace fermata::tool
