// fermata run: runs an unmodified program with Fermata's barriers, or unchanged if none of them applies.
#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>

#include "commands.hpp"
#include "elf_symbols.hpp"
#include "os/environment.hpp"
#include "profile/statistics.hpp"
#include "run_alone.hpp"
#include "run_mpi.hpp"
#include "run_stats.hpp"
#include "topo/topology.hpp"

namespace fermata::tool {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  std::vector<std::string> command;
  std::string preloads = "auto", cpus, trace, json;
  bool stats = false, quiet = false;
  int compare = 0;
  double stall = 0;
};

struct Preload {
  const char* name;
  std::vector<const char*> symbols;  // a program that imports one of these can gain
};

const Preload kPreloads[] = {
    {"pthread", {"pthread_barrier_wait"}},
    {"openmp", {"GOMP_parallel", "GOMP_barrier", "__kmpc_barrier", "__kmpc_fork_call"}},
    {"mpi-openmpi", {}},  // the linked library or the launcher decides: see run_mpi.hpp
    {"mpi-mpich", {}},
    {"mpi-openmpi5", {}},
    {"mpi-mpich5", {}},
};

std::string library_of(const std::string& preload) {
  return library_beside("preload/" + preload.substr(0, preload.find('-')), "libfermata-" + preload + ".so");
}

struct Choice {
  std::vector<std::string> libraries;
  std::string why;  // one line for people
};

// Why no preload can reach this program; empty: preloads can.
std::string out_of_reach(const std::string& program) {
  if (has_foreign_rights(program))
    return program + " is setuid, setgid or has file capabilities: the loader ignores preloads for it";
  const auto symbols = elf_symbols(program);
  if (!symbols || !symbols->dynamic) return program + " is not dynamically linked: preloads cannot reach it";
  return "";
}

Choice choose(const RunArguments& a) {
  Choice choice;
  std::vector<std::string> wanted;
  const MpiChoice mpi = choose_mpi(a.command);
  if (std::string why = why_alone(mpi.program); !why.empty()) return {{}, why};
  if (a.preloads == "auto") {
    const auto objects = loaded_objects(mpi.program);
    if (!objects) return {{}, objects.error().message};  // execute() reports the error
    if (const std::string why = out_of_reach(objects->front()); !why.empty()) return {{}, why};
    if (!mpi.preload.empty()) {
      const bool there = mpi.preload.back() != '5' || !library_of(mpi.preload).empty();
      wanted.push_back(there ? mpi.preload : mpi.preload.substr(0, mpi.preload.size() - 1));
      choice.why = mpi.why;
    }
    for (const Preload& p : kPreloads) {
      std::string found;
      for (const std::string& object : *objects) {
        const auto symbols = elf_symbols(object);
        if (!symbols) continue;
        for (const char* s : p.symbols)
          if (found.empty() && symbols->imported.contains(s))
            found = fmt::format("{} uses {}", fs::path(object).filename().string(), s);
      }
      if (found.empty()) continue;
      wanted.emplace_back(p.name);
      choice.why += (choice.why.empty() ? "" : "; ") + found;
    }
    if (wanted.empty())
      return {{},
              "it imports no barrier of pthreads or OpenMP and no MPI: left unchanged (if it loads them "
              "later, use --preload pthread,openmp)"};
  } else if (a.preloads != "none") {
    for (std::size_t at = 0; at <= a.preloads.size();) {
      const auto comma = std::min(a.preloads.find(',', at), a.preloads.size());
      wanted.push_back(a.preloads.substr(at, comma - at));
      at = comma + 1;
    }
    choice.why = "as asked";
    const auto objects = loaded_objects(a.command[0]);
    const std::string why = objects ? out_of_reach(objects->front()) : "";
    if (!why.empty()) choice.why += "; " + why + "; preloads reach only programs that it starts";
  }
  if (const auto openmp = std::find(wanted.begin(), wanted.end(), "openmp"); openmp != wanted.end()) {
    if (const std::string why = why_openmp_alone(mpi.program); !why.empty()) {
      wanted.erase(openmp);
      choice.why += "; " + why;
    }
  }
  for (const std::string& name : wanted) {
    const bool known = std::any_of(std::begin(kPreloads), std::end(kPreloads),
                                   [&](const Preload& p) { return name == p.name; });
    if (!known)
      throw CommandError(
          "--preload takes auto, none, or a list of pthread, openmp, mpi-openmpi, mpi-mpich, mpi-openmpi5 "
          "and mpi-mpich5, not '" +
          name + "'");
    const std::string library = library_of(name);
    if (library.empty())
      choice.why += fmt::format("; libfermata-{}.so is not installed beside this tool", name);
    else choice.libraries.push_back(library);
  }
  return choice;
}

void set_environment(const RunArguments& a, const std::vector<std::string>& libraries,
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
  if (!a.trace.empty()) set(os::Variable::kTrace, "1");
  if (a.stall > 0) set(os::Variable::kStallSeconds, fmt::format("{}", a.stall));
}

void place(const RunArguments& a) {
  if (a.cpus.empty()) return;
  const auto cpus = parse_cpu_list(a.cpus);
  if (!cpus) throw CommandError(cpus.error().message);
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string places;
  for (const std::int32_t cpu : *cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) throw CommandError(fmt::format("this machine has no CPU {}", cpu));
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    places += fmt::format("{}{{{}}}", places.empty() ? "" : ",", cpu);
  }
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    throw CommandError(fmt::format("--cpus {}: {}", a.cpus, std::strerror(errno)));
  setenv("OMP_PLACES", places.c_str(), 0);
  setenv("OMP_PROC_BIND", "true", 0);
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

struct Ended {
  int status = 0;
  double wall_s = 0, cpu_s = 0;
};

// Runs the command as a child and forwards signals to it. `silent` discards its standard output.
Ended run_child(const RunArguments& a, const std::vector<std::string>& libraries,
                const std::string& stats_directory, bool silent) {
  const auto begin = std::chrono::steady_clock::now();
  SignalsPassed signals;
  started = fork();
  if (started < 0) throw CommandError(fmt::format("fork: {}", std::strerror(errno)));
  if (started == 0) {
    signals.restore();
    if (silent && freopen("/dev/null", "w", stdout) == nullptr) _exit(126);
    set_environment(a, libraries, stats_directory);
    execute(a.command);
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

// Ends with the program's exit status, or by the signal that ended the program.
[[noreturn]] void end_like(int status) {
  std::fflush(nullptr);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    const rlimit no_core{0, 0};  // the program has dumped its own
    setrlimit(RLIMIT_CORE, &no_core);
    kill(getpid(), WTERMSIG(status));
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
}

// Whether the program ended by a signal with which a user also means to end all further runs.
bool is_interrupted(int status) {
  if (!WIFSIGNALED(status)) return false;
  const int by = WTERMSIG(status);
  return by == SIGINT || by == SIGQUIT || by == SIGTERM || by == SIGHUP;
}

void write_json(const std::string& path, const nlohmann::ordered_json& out) {
  write_output(path, out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void compare(const RunArguments& a, const Choice& choice) {
  std::vector<double> wall, cpu, with_wall, without_wall;
  int status = 0;
  for (int i = 0; i < a.compare; ++i) {
    // The sides alternate in running first, so that caches warmed by the first run favour neither.
    Ended sides[2];
    for (const int side : {i % 2, 1 - i % 2}) {
      sides[side] =
          run_child(a, side == 1 ? choice.libraries : std::vector<std::string>{}, "", i > 0 || side == 0);
      if (is_interrupted(sides[side].status)) end_like(sides[side].status);
    }
    status = sides[1].status;
    wall.push_back(sides[0].wall_s / std::max(1e-9, sides[1].wall_s));
    cpu.push_back(sides[0].cpu_s / std::max(1e-9, sides[1].cpu_s));
    without_wall.push_back(sides[0].wall_s);
    with_wall.push_back(sides[1].wall_s);
    if (!a.quiet)
      fmt::print(stderr,
                 "pair {:>2}: without {:9.3f} s, with {:9.3f} s, {:5.2f}x; CPU {:9.3f} s, {:9.3f} s\n", i + 1,
                 sides[0].wall_s, sides[1].wall_s, wall.back(), sides[0].cpu_s, sides[1].cpu_s);
    if (sides[0].status != sides[1].status) {
      fmt::print(stderr, "fermata run: wait status {} without, {} with: the runs differ, comparison ended\n",
                 sides[0].status, sides[1].status);
      break;
    }
  }
  fmt::print(stderr,
             "{} pairs: {:.3f} s without, {:.3f} s with: {:.2f} times as fast, {:.2f} times the CPU time "
             "(medians of paired ratios)\n",
             wall.size(), median(without_wall), median(with_wall), median(wall),
             1 / std::max(1e-9, median(cpu)));
  if (!a.json.empty())
    write_json(a.json, {{"pairs", wall.size()},
                        {"without_s", without_wall},
                        {"with_s", with_wall},
                        {"speedup", median(wall)},
                        {"cpu_ratio", 1 / std::max(1e-9, median(cpu))}});
  end_like(status);
}

void report(const RunArguments& a, const Choice& choice, const fs::path& directory) {
  std::vector<ProcessStats> all;
  bool reached = false;
  for (const auto& entry : fs::directory_iterator(directory)) {
    reached = true;
    auto one = read_stats(entry.path().string());
    if (one && (!one->sites.empty() || !one->fell_back.empty())) all.push_back(std::move(*one));
  }
  std::sort(all.begin(), all.end(),
            [](const ProcessStats& x, const ProcessStats& y) { return x.process < y.process; });
  if (a.stats) {
    if (choice.libraries.empty())
      fmt::print(stderr, "fermata run: no statistics, since no preload was loaded ({})\n", choice.why);
    else if (!reached)
      fmt::print(stderr,
                 "fermata run: no statistics, since no process loaded the preload or called its functions\n");
    else if (all.empty())
      fmt::print(stderr, "fermata run: no thread waited at a barrier, and no collective was called\n");
    for (const ProcessStats& p : all) fmt::print(stderr, "{}", to_text(p));
  }
  if (!a.trace.empty()) write_json(a.trace, trace_of(all));
  if (a.json.empty()) return;
  nlohmann::ordered_json out = {
      {"format", "fermata-run"}, {"version", 1}, {"processes", nlohmann::ordered_json::array()}};
  for (const ProcessStats& p : all) out["processes"].push_back(to_json(p));
  write_json(a.json, out);
}

// The folder that preloads write to. The destructor removes it; if this process is killed, a cleaner process
// does.
class StatsFolder {
 public:
  StatsFolder() {
    path_ = (fs::temp_directory_path() / "fermata-run-XXXXXX").string();
    if (mkdtemp(path_.data()) == nullptr)
      throw CommandError(fmt::format("{}: {}", path_, std::strerror(errno)));
    if (pipe2(alive_, O_CLOEXEC) == 0) start_cleaner();
  }
  ~StatsFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    if (cleaner_ > 0) kill(cleaner_, SIGKILL), waitpid(cleaner_, nullptr, 0);
  }
  StatsFolder(const StatsFolder&) = delete;
  StatsFolder& operator=(const StatsFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  // The cleaner reads a pipe whose other end only this process holds: end of file means that this process has
  // ended. A session of its own protects it from signals to the process group. It keeps nothing else open.
  void start_cleaner() {
    cleaner_ = fork();
    if (cleaner_ != 0) return void(close(alive_[0]));
    setsid();
    for (const int s : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) signal(s, SIG_IGN);
    const int end = dup2(alive_[0], 3);
    for (const int fd : {0, 1, 2}) close(fd);
    close_range(4, ~0u, 0);
    char none;
    while (read(end, &none, 1) < 0 && errno == EINTR) {
    }
    // Processes of the program may still create files.
    std::error_code failed;
    for (int i = 0; i < 100 && (fs::remove_all(path_, failed), fs::exists(path_, failed)); ++i)
      usleep(10'000);
    _exit(0);
  }

  std::string path_;
  int alive_[2] = {-1, -1};
  pid_t cleaner_ = -1;
};

void run(const RunArguments& a) {
  if (a.compare > 0 && (a.stats || !a.trace.empty()))
    throw CommandError("--compare excludes --stats and --trace: their own time would distort the comparison");
  check_output(a.trace);
  check_output(a.json);
  const Choice choice = choose(a);
  if (!a.quiet) {
    std::string names;
    for (const std::string& library : choice.libraries) names += " " + fs::path(library).filename().string();
    fmt::print(stderr, "fermata run:{} ({})\n", names.empty() ? " no preload" : names, choice.why);
  }
  place(a);
  if (a.compare > 0) return compare(a, choice);
  if (!a.stats && a.trace.empty() && a.json.empty()) {
    set_environment(a, choice.libraries, "");
    execute(a.command);
  }
  Ended ended;
  {
    const StatsFolder folder;
    ended = run_child(a, choice.libraries, folder.path(), false);
    report(a, choice, folder.path());
  }
  end_like(ended.status);
}

}  // namespace

void add_run(CLI::App& app) {
  auto a = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand(
      "run", "run an unmodified program with Fermata's barriers: fermata run [options] -- command");
  command
      ->add_option("--preload", a->preloads,
                   "auto: chosen by the program's imports; none; or a list of pthread, openmp, mpi-openmpi, "
                   "mpi-mpich, mpi-openmpi5, mpi-mpich5")
      ->capture_default_str();
  command->add_option("--cpus", a->cpus,
                      "run on these CPUs only, e.g. 0-3; OpenMP threads are bound to them in this order");
  command->add_flag("--stats", a->stats,
                    "print episodes, waits and last arrivals per barrier and call site at the end (stderr)");
  command->add_option("--trace", a->trace, "write every wait to this file, for chrome://tracing or Perfetto");
  command
      ->add_option("--compare", a->compare,
                   "run it this many times with and without Fermata, alternately; print paired ratios")
      ->check(CLI::Range(1, 1000));
  command->add_option("--stall-report", a->stall, "name missing members after this many seconds of waiting")
      ->check(CLI::PositiveNumber);
  command->add_option("--json", a->json, "write the statistics, or the comparison, to this file");
  command->add_flag("--quiet", a->quiet, "don't print which preloads were chosen");
  command->add_option("command", a->command, "the program and its arguments")->required();
  command->positionals_at_end();
  command->callback([a] { run(*a); });
}

}  // namespace fermata::tool
