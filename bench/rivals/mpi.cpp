// MPI's blocking collectives on MPI_COMM_WORLD, compiled once per MPI library into a worker of its own
// (bench/CMakeLists.txt). The bench starts the worker as the host. The host makes the library's mpirun start
// the ranks, which run the same executable, adopt the host's arena and sleep there between turns.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "bench/worker.hpp"
#include "bench/workers.hpp"

namespace fermata::bench {
namespace {

std::string executable() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::string scratch() {
  const char* folder = getenv("TMPDIR");
  return folder != nullptr ? folder : "/tmp";
}

// The library's own launcher, with options to start any number of ranks on this host and to bind none of
// them. With more ranks than CPUs, waiting ranks yield.
std::vector<std::string> launcher(const Case& c) {
  const bool crowded = c.members > static_cast<int>(allowed_cpus().size());
  std::vector<std::string> list = {FERMATA_MPIRUN};
  const auto add = [&](std::initializer_list<std::string> words) { list.insert(list.end(), words); };
#if defined(OPEN_MPI)
  // The run-time's files go into the folder that the bench removes afterwards.
#if OMPI_MAJOR_VERSION >= 5
  add({"--allow-run-as-root", "--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"});
  add({"--mca", "btl_sm_backing_directory", scratch()});
#else
  add({"--allow-run-as-root", "--oversubscribe", "--bind-to", "none"});
  add({"--mca", "orte_tmpdir_base", scratch(), "--mca", "btl_vader_backing_directory", scratch()});
#endif
  // Its setting in the environment, if there is one, holds.
  if (getenv("OMPI_MCA_mpi_yield_when_idle") == nullptr)
    add({"--mca", "mpi_yield_when_idle", crowded ? "1" : "0"});
#else
  // MPICH yields after this many polls; its default is 1,000. MPICH 4.0 has the setting, but its ch4 device
  // never yields: the library does not even import sched_yield.
  setenv("MPIR_CVAR_POLLS_BEFORE_YIELD", crowded ? "1" : "1000", 1);
  add({"-launcher", "fork", "-bind-to", "none"});
#endif
  add({"-n", std::to_string(c.members)});
  return list;
}

// The launcher's rank, known before MPI_Init: memory is placed where it is first touched.
int rank_of_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}) {
    if (const char* text = getenv(name)) return std::atoi(text);
  }
  return -1;
}

class Mpi final : public Subject {
 public:
  explicit Mpi(std::string name) : name_(std::move(name)) {}
  ~Mpi() override {
    if (launcher_ <= 0) return;
    kill(launcher_, SIGTERM);  // the launcher ends its ranks and cleans up
    waitpid(launcher_, nullptr, 0);
  }

  std::string prepare(const Case& c, Arena&) override {
    case_ = c;
    return c.engine == Engine::kProcesses ? "" : "processes only";
  }

  bool recruits() const override { return true; }
  std::string recruit(const std::string& invitation, Muster& muster) override {
    fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);  // so the bench notices when the host ends
    std::vector<std::string> list = launcher(case_);
    list.push_back(executable());
    const std::vector<std::string> own = worker_arguments(name_, case_);
    list.insert(list.end(), own.begin(), own.end());
    list.insert(list.end(),
                {"--member", invitation + ":" + std::to_string(reinterpret_cast<std::uintptr_t>(&muster))});
    const pid_t host = getpid();
    launcher_ = fork();
    if (launcher_ < 0) return "fork failed";
    if (launcher_ == 0) become_launcher(list, host);
    return {};
  }

  std::string trouble() override {
    int status = 0;
    if (launcher_ <= 0 || waitpid(launcher_, &status, WNOHANG) != launcher_) return {};
    launcher_ = -1;
    std::string text =
        std::string(FERMATA_MPIRUN) + " ended with code " + std::to_string(WEXITSTATUS(status));
    std::ifstream log(log_file());
    for (std::string line; text.size() < 600 && std::getline(log, line);) {
      if (line.find_first_not_of(" -=") != std::string::npos) text += "; " + line;
    }
    return text;
  }

  void work(int rank, Turn& turn) override {
    if (turn.order.quantity == Quantity::kOverlap) return overlap(rank, turn);
    const int n = turn.doubles;
    const MPI_Datatype type = MPI_DOUBLE;
    const MPI_Op sum = MPI_SUM;
    const MPI_Comm all = MPI_COMM_WORLD;
    const auto run = [&](auto call) { run_calls(rank, turn, call); };
    switch (turn.collective) {
      case Collective::kBarrier: return run([=] { return MPI_Barrier(all); });
      case Collective::kBroadcast:
        return run([=](In in, Out out, int root) {
          return MPI_Bcast(rank == root ? const_cast<double*>(in) : out, n, type, root, all);
        });
      case Collective::kReduce:
        return run([=](In in, Out out, int root) { return MPI_Reduce(in, out, n, type, sum, root, all); });
      case Collective::kAllreduce:
        return run([=](In in, Out out) { return MPI_Allreduce(in, out, n, type, sum, all); });
      case Collective::kGather:
        return run(
            [=](In in, Out out, int root) { return MPI_Gather(in, n, type, out, n, type, root, all); });
      case Collective::kScatter:
        return run(
            [=](In in, Out out, int root) { return MPI_Scatter(in, n, type, out, n, type, root, all); });
      case Collective::kAllgather:
        return run([=](In in, Out out) { return MPI_Allgather(in, n, type, out, n, type, all); });
      case Collective::kReduceScatter:
        return run([=](In in, Out out) { return MPI_Reduce_scatter_block(in, out, n, type, sum, all); });
      case Collective::kAlltoall:
        return run([=](In in, Out out) { return MPI_Alltoall(in, n, type, out, n, type, all); });
      case Collective::kScan:
        return run([=](In in, Out out) { return MPI_Scan(in, out, n, type, sum, all); });
      case Collective::kExscan:
        return run([=](In in, Out out) { return MPI_Exscan(in, out, n, type, sum, all); });
    }
  }

  std::string version() const override {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);  // may be called before MPI_Init
    std::string line(text, static_cast<std::size_t>(length));
    line = line.substr(0, line.find_first_of(",\n"));
    for (char& each : line) {
      if (each == '\t') each = ' ';
    }
    return line;
  }

 private:
  using In = const double*;
  using Out = double*;

  // Begins the request, computes with a call for progress after each chunk, and waits.
  static void overlap(int rank, Turn& turn) {
    run_calls(rank, turn, [&](In in, Out out) {
      MPI_Request request = MPI_REQUEST_NULL;
      int status = MPI_Iallreduce(in, out, turn.doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
      int over = 0;
      for (std::uint64_t chunk = 0; chunk < turn.order.chunks; ++chunk) {
        delay(turn.order.delay_rounds);
        if (over == 0 && status == MPI_SUCCESS) status = MPI_Test(&request, &over, MPI_STATUS_IGNORE);
      }
      if (over == 0 && status == MPI_SUCCESS) status = MPI_Wait(&request, MPI_STATUS_IGNORE);
      return status;
    });
    if (turn.collective != Collective::kAllreduce) turn.lines[rank].status = MPI_ERR_OP;
  }
  static std::string log_file() { return scratch() + "/launcher.log"; }
  [[noreturn]] static void become_launcher(std::vector<std::string>& list, pid_t host) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != host) _exit(1);
    const int nothing = open("/dev/null", O_RDONLY);
    const int log = open(log_file().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(nothing, STDIN_FILENO);
    dup2(log < 0 ? nothing : log, STDOUT_FILENO);
    dup2(log < 0 ? nothing : log, STDERR_FILENO);
    std::vector<char*> argv;
    for (std::string& argument : list) argv.push_back(argument.data());
    argv.push_back(nullptr);
    execv(argv[0], argv.data());
    std::perror(argv[0]);
    _exit(127);
  }
  const std::string name_;
  Case case_;
  pid_t launcher_ = -1;
};

std::unique_ptr<Subject> make(std::string_view name) {
  return name.empty() ? nullptr : std::make_unique<Mpi>(std::string(name));
}

int member_main(int argc, char** argv, const WorkerArguments& arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // some launchers leave their ranks running when they are killed
  const Case& c = arguments.what;
  const int expected = rank_of_environment();
  if (expected >= 0 && expected < static_cast<int>(c.cpus.size()))
    pin_self(c.cpus[static_cast<std::size_t>(expected)]);
  const std::size_t colon = arguments.member.rfind(':');
  const std::string error = Arena::adopt(arguments.member.substr(0, colon));
  if (!error.empty()) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  auto& muster = *reinterpret_cast<Muster*>(std::strtoull(arguments.member.c_str() + colon + 1, nullptr, 10));
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != c.members || (expected >= 0 && rank != expected)) {
    std::fprintf(stderr, "rank %d of %d, expected %d of %d\n", rank, size, expected, c.members);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  Mpi subject(arguments.subject);
  live_as_member(c, subject, muster, rank);
  return MPI_Finalize();
}

}  // namespace
}  // namespace fermata::bench

int main(int argc, char** argv) {
  using namespace fermata::bench;
  const WorkerArguments arguments = parse_worker_arguments(argc, argv);
  return arguments.member.empty() ? worker_main(argc, argv, make) : member_main(argc, argv, arguments);
}
