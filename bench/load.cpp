#include "bench/load.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "bench/case.hpp"
#include "bench/clock.hpp"
#include "os/os.hpp"

namespace fermata::bench {
namespace {

[[noreturn]] void burn(int pulse_ms) {
  const std::uint64_t turn_ns = static_cast<std::uint64_t>(pulse_ms) * 1'000'000;
  for (volatile unsigned long spin = 0;;) {
    for (int i = 0; i < 10'000; ++i) spin = spin + 1;
    if (turn_ns == 0) continue;
    const std::uint64_t now = now_ns();
    if (now / turn_ns % 2 == 0) continue;  // all of them burn at the same times
    const std::uint64_t rest = turn_ns - now % turn_ns;
    const timespec sleep{static_cast<time_t>(rest / 1'000'000'000), static_cast<long>(rest % 1'000'000'000)};
    nanosleep(&sleep, nullptr);
  }
}

bool write_to(const std::string& path, const std::string& text) {
  const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  close(file);
  return written;
}

void stop_or_continue(pid_t group, bool on) { kill(-group, on ? SIGCONT : SIGSTOP); }

template <class Each>
void for_each_number(const std::string& folder, Each each) {
  DIR* const directory = opendir(folder.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (const int number = std::atoi(entry->d_name); number > 0) each(number);
  }
  closedir(directory);
}

void give_cpus(pid_t group, bool all) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : allowed_cpus()) {
    CPU_SET(cpu, &set);
    if (!all) break;
  }
  for_each_number("/proc", [&](pid_t process) {
    if (getpgid(process) != group) return;
    for_each_number("/proc/" + std::to_string(process) + "/task",
                    [&](pid_t thread) { sched_setaffinity(thread, sizeof set, &set); });
  });
}

}  // namespace

std::string check(const Load& load) {
  if (load.burners < 0 || load.burners > 1024) return "--burners: 0 to 1024";
  if (load.nice < 0 || load.nice > 19) return "--nice: 0 to 19";
  if (load.pulse_ms < 0 || load.pulse_ms > 10'000) return "--pulse: 0 to 10000 ms";
  if (load.quota < 0 || load.quota > 100'000) return "--quota: 0 to 100000 percent of one CPU";
  if (load.beside < 0 || load.beside > 1024) return "--beside: 0 to 1024 members";
  if (load.take_ms < 0 || load.take_ms > 10'000) return "--take: 0 to 10000 ms";
  if (load.burners == 0 && (load.nice > 0 || load.pulse_ms > 0 || load.own_session))
    return "--nice, --pulse and --session say how --burners burn: give their number";
  return {};
}

Burners::Burners(const Load& load) {
  const pid_t parent = getpid();
  for (int i = 0; i < load.burners; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // also when the parent is killed
      if (getppid() != parent) _exit(1);
      if (load.own_session) setsid();
      setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + load.nice);
      burn(load.pulse_ms);
    }
    if (child > 0) children_.push_back(child);
  }
}

Burners::~Burners() {
  for (const pid_t child : children_) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

bool join(const std::string& procs) { return write_to(procs, "0"); }

bool Quota::try_group(const std::string& parent, const char* file, const std::string& value) {
  if (parent.empty()) return false;
  group_ = parent + "/fermata-bench-" + std::to_string(getpid());
  if (mkdir(group_.c_str(), 0755) != 0) return false;
  procs_ = group_ + "/cgroup.procs";
  // A child tries whether processes may join.
  const pid_t child = write_to(group_ + "/" + file, value) ? fork() : -1;
  if (child == 0) _exit(join(procs_) ? 0 : 1);
  int status = 1;
  if (child > 0 && waitpid(child, &status, 0) == child && status == 0) return true;
  rmdir(group_.c_str());
  procs_.clear();
  return false;
}

Quota::Quota(int percent) {
  if (percent == 0) return;
  const std::string us = std::to_string(percent * kPeriodMs * 10);  // the kernel's own period is 100 ms, too
  const os::CgroupQuota own = os::cgroup_quota();
  if (try_group(own.group, own.version == 1 ? "cpu.cfs_quota_us" : "cpu.max", us)) {
    version_ = own.version;
  } else {
    // A subject that uses all CPUs has its quota after this part of the period.
    const int on = percent * kPeriodMs / (100 * static_cast<int>(allowed_cpus().size()));
    pulse_ = {.on_ms = std::clamp(on, 1, kPeriodMs), .off_ms = 0, .act = stop_or_continue};
    pulse_.off_ms = kPeriodMs - pulse_.on_ms;
  }
}

Quota::~Quota() {
  // Its last processes may not be gone yet.
  for (int tries = 0; version_ != 0 && rmdir(group_.c_str()) != 0 && tries < 100; ++tries) usleep(10'000);
}

const char* Quota::means() const {
  if (version_ == 0) return pulse_.act == nullptr ? "none" : "stop signals";
  return version_ == 1 ? "cgroup v1" : "cgroup v2";
}

Pulse taking_cpus(int ms) { return {.on_ms = ms, .off_ms = ms, .act = give_cpus}; }

}  // namespace fermata::bench
