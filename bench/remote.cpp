#include "bench/remote.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/text.hpp"
#include "bench/clock.hpp"

namespace fermata::bench {
namespace {

constexpr double kPrepareLimit = 60;  // seconds: the subject may have to search for a plan

void clear_settings() {
  std::vector<std::string> names;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string_view entry = *e;
    for (const char* prefix : {"OMP_", "GOMP_", "KMP_", "OMPI_", "OPAL_", "ORTE_", "PMIX_", "PMI_", "MPICH_",
                               "MPIR_", "HYDRA_", "MPIEXEC_", "UCX_", "PRTE_", "FI_"}) {
      if (entry.starts_with(prefix)) names.emplace_back(entry.substr(0, entry.find('=')));
    }
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

[[noreturn]] void execute(const Launch& launch, const Case& c) {
  clear_settings();
  for (const std::string& setting : launch.environment) {
    const std::size_t equals = setting.find('=');
    if (equals != std::string::npos)
      setenv(setting.substr(0, equals).c_str(), setting.c_str() + equals + 1, 1);
  }
  std::vector<std::string> list = worker_arguments(launch.name, c);
  list.insert(list.begin(), launch.executable);
  std::vector<char*> argv;
  for (std::string& argument : list) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execv(launch.executable.c_str(), argv.data());
  _exit(127);
}

// "" if no folder can be created.
std::string make_scratch() {
  for (std::string path : {"/dev/shm/fermata-bench-XXXXXX", "/tmp/fermata-bench-XXXXXX"}) {
    if (mkdtemp(path.data()) != nullptr) return path;
  }
  return {};
}

[[noreturn]] void become_worker(const Launch& launch, const Case& c, int socket, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (!launch.procs.empty() && !join(launch.procs)) _exit(1);
  // Other workers' sockets must not stay open here: the end of such a worker would then go unnoticed.
  if (socket == kWorkerSocket) {
    fcntl(socket, F_SETFD, 0);
  } else {
    dup2(socket, kWorkerSocket);
  }
  close_range(kWorkerSocket + 1, ~0u, 0);
  if (!launch.executable.empty()) execute(launch, c);
  const std::unique_ptr<Subject> subject = launch.make();
  serve(kWorkerSocket, c, *subject);
  _exit(0);  // the parent's buffers must not be flushed, nor its objects destroyed, a second time
}

}  // namespace

Remote& Remote::operator=(Remote&& other) noexcept {
  if (this != &other) {
    end();
    pid_ = std::exchange(other.pid_, -1);
    socket_ = std::exchange(other.socket_, -1);
    scratch_ = std::exchange(other.scratch_, {});
    busy_ = std::exchange(other.busy_, false);
    version = std::move(other.version);
    description = std::move(other.description);
  }
  return *this;
}

std::string Remote::start(const Launch& launch, const Case& c) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return "socketpair failed";
  if (!launch.executable.empty()) scratch_ = make_scratch();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0 && !scratch_.empty()) setenv("TMPDIR", scratch_.c_str(), 1);
  if (child < 0) {
    remove_scratch();
    close(sockets[0]);
    close(sockets[1]);
    return "fork failed";
  }
  if (child == 0) become_worker(launch, c, sockets[1], parent);
  setpgid(child, child);  // parent and child both do it, so the order does not matter
  close(sockets[1]);
  pid_ = child;
  socket_ = sockets[0];

  Reply reply;
  std::string text, error;
  const Order order;
  send_all(socket_, &order, sizeof order);  // if the child has died already, receive reports the cause
  error = receive(reply, text, kPrepareLimit, {});
  if (error.empty() && reply.verdict != Reply::kGood) error = text;
  if (!error.empty()) {
    end();
    return error;
  }
  version = text.substr(0, text.find('\0'));
  if (version.size() < text.size()) description = text.substr(version.size() + 1);
  suspend();
  return {};
}

// Waits until the worker has answered; false: it has not within the limit. Leaves all pulses on.
bool Remote::await_reply(double limit_s, std::span<const Pulse> pulses) {
  struct Beat {
    Pulse pulse;
    std::uint64_t next_ns;
    bool on = true;
  };
  constexpr std::uint64_t kMs = 1'000'000;
  const std::uint64_t end_ns = now_ns() + static_cast<std::uint64_t>(limit_s * 1e9);
  std::vector<Beat> beats;
  for (const Pulse& pulse : pulses)
    if (pulse.off_ms > 0) beats.push_back({pulse, now_ns() + static_cast<std::uint64_t>(pulse.on_ms) * kMs});
  int ready = 0;
  for (std::uint64_t now = now_ns(); ready <= 0 && now < end_ns; now = now_ns()) {
    std::uint64_t until = end_ns;
    for (Beat& beat : beats) {
      if (now >= beat.next_ns) {
        beat.on = !beat.on;
        beat.pulse.act(pid_, beat.on);
        beat.next_ns = now + static_cast<std::uint64_t>(beat.on ? beat.pulse.on_ms : beat.pulse.off_ms) * kMs;
      }
      until = std::min(until, beat.next_ns);
    }
    pollfd poller{socket_, POLLIN, 0};
    ready = poll(&poller, 1, static_cast<int>((until - now) / kMs) + 1);
  }
  for (const Beat& beat : beats)
    if (!beat.on) beat.pulse.act(pid_, true);
  return ready > 0;
}

std::string Remote::receive(Reply& reply, std::string& text, double limit_s, std::span<const Pulse> pulses) {
  if (!await_reply(limit_s, pulses)) return format("hung: no end of a batch within %.3g s", limit_s);
  if (!receive_all(socket_, &reply, sizeof reply)) {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_t group = pid_;
    pid_ = -1;
    kill(-group, SIGKILL);  // its members, if they are processes
    if (WIFSIGNALED(status))
      return format("died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return format("ended with exit code %d", WEXITSTATUS(status));
  }
  text.resize(reply.length);
  return receive_all(socket_, text.data(), text.size()) ? "" : "closed its socket";
}

void Remote::suspend() {
  if (pid_ <= 0) return;
  kill(-pid_, SIGSTOP);
  // Waits until the kernel reports that the host has stopped. Members of a process team sleep at their gate.
  int status = 0;
  if (waitpid(pid_, &status, WUNTRACED) == pid_ && !WIFSTOPPED(status)) pid_ = -1;
}

Remote::Outcome Remote::turn(const Order& order, double limit_s, std::span<const Pulse> pulses) {
  Outcome outcome;
  if (!alive()) {
    outcome.error = "is gone";
    return outcome;
  }
  kill(-pid_, SIGCONT);
  std::string text;
  send_all(socket_, &order, sizeof order);
  outcome.error = receive(outcome.reply, text, limit_s, pulses);
  if (outcome.error.empty() && outcome.reply.verdict != Reply::kGood) outcome.error = text;
  if (outcome.error.empty()) {
    suspend();
  } else {
    end();
  }
  return outcome;
}

std::string Remote::keep_busy(const Order& order) {
  if (!alive()) return "is gone";
  kill(-pid_, SIGCONT);
  std::string error;
  if (pollfd poller{socket_, POLLIN, 0}; busy_ && poll(&poller, 1, 0) > 0) {
    Reply reply;
    std::string text;
    error = receive(reply, text, 1, {});
    if (error.empty() && reply.verdict != Reply::kGood) error = text;
    busy_ = false;
  }
  if (!busy_ && error.empty()) {
    send_all(socket_, &order, sizeof order);
    busy_ = true;
  }
  if (!error.empty()) end();
  return error;
}

void Remote::end() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);  // also when stopped
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  remove_scratch();
}

void Remote::remove_scratch() {
  std::error_code ignored;
  if (!scratch_.empty()) std::filesystem::remove_all(scratch_, ignored);
  scratch_.clear();
}

}  // namespace fermata::bench
