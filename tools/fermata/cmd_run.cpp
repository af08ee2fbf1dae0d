// fermata run: runs an unmodified program with Fermata's barriers, or unchanged if none of them applies.
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "commands.hpp"
#include "elf_symbols.hpp"
#include "profile/statistics.hpp"
#include "run_child.hpp"
#include "run_choice.hpp"
#include "run_stats.hpp"

namespace fermata::tool {
namespace {

namespace fs = std::filesystem;

struct RunArguments {
  RunProgram program;
  std::string preloads = "auto", trace, json;
  bool stats = false, quiet = false;
  int compare = 0;
};

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
      sides[side] = run_child(a.program, side == 1 ? choice.libraries : std::vector<std::string>{}, "",
                              i > 0 || side == 0);
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
    if (one && (!one->sites.empty() || !one->regions.empty() || !one->fell_back.empty()))
      all.push_back(std::move(*one));
  }
  std::sort(all.begin(), all.end(),
            [](const ProcessStats& x, const ProcessStats& y) { return x.process < y.process; });
  if (a.stats && a.program.brief_spins)
    fmt::print(stderr, "fermata run: GOMP_SPINCOUNT={}, because other programs want the same CPUs\n",
               kBriefSpins);
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

void run(RunArguments& a) {
  if (a.compare > 0 && (a.stats || !a.trace.empty()))
    throw CommandError("--compare excludes --stats and --trace: their own time would distort the comparison");
  check_output(a.trace);
  check_output(a.json);
  const Choice choice = choose_preloads(a.preloads, a.program.command);
  if (!a.quiet) {
    std::string names;
    for (const std::string& library : choice.libraries) names += " " + file_name(library);
    fmt::print(stderr, "fermata run:{} ({})\n", names.empty() ? " no preload" : names, choice.why);
  }
  bind_to_cpus(a.program);
  const auto is_openmp = [](const std::string& library) {
    return file_name(library).find("-openmp.") != std::string::npos;
  };
  if (std::any_of(choice.libraries.begin(), choice.libraries.end(), is_openmp)) share_cpus(a.program);
  if (a.compare > 0) return compare(a, choice);
  if (!a.stats && a.trace.empty() && a.json.empty()) become(a.program, choice.libraries);
  Ended ended;
  {
    const StatsFolder folder;
    ended = run_child(a.program, choice.libraries, folder.path(), false);
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
  command->add_option("--cpus", a->program.cpus,
                      "run on these CPUs only, e.g. 0-3; OpenMP threads are bound to them in this order");
  command->add_flag("--stats", a->stats,
                    "print episodes, waits and last arrivals per barrier and call site at the end (stderr)");
  command->add_option("--trace", a->trace, "write every wait to this file, for chrome://tracing or Perfetto");
  command
      ->add_option("--compare", a->compare,
                   "run it this many times with and without Fermata, alternately; print paired ratios")
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--stall-report", a->program.stall,
                   "name missing members after this many seconds of waiting")
      ->check(CLI::PositiveNumber);
  command->add_option("--json", a->json, "write the statistics, or the comparison, to this file");
  command->add_flag("--quiet", a->quiet, "don't print which preloads were chosen");
  command->add_option("command", a->program.command, "the program and its arguments")->required();
  command->positionals_at_end();
  command->callback([a] {
    a->program.trace = !a->trace.empty();
    run(*a);
  });
}

}  // namespace fermata::tool
