// What disturbs the subjects of a benchmark: co-tenants, limits of their CPU time, CPUs that are taken away.
#ifndef FERMATA_BENCH_LOAD_HPP
#define FERMATA_BENCH_LOAD_HPP

#include <sys/types.h>

#include <string>
#include <vector>

namespace fermata::bench {

struct Load {
  int burners = 0;           // processes that use up CPU time
  int nice = 0;              // added to their niceness
  bool own_session = false;  // Linux divides CPU time between sessions first (autogroup)
  int pulse_ms = 0;          // they burn and sleep in turns of this length; 0: they never sleep
  int quota = 0;             // CPU time that each subject may use, in percent of a CPU; 0: all
  int beside = 0;            // members of a second team of each subject, which runs at the same time
  int take_ms = 0;           // after so long each subject has one CPU, after as long again all; 0: always all

  bool any() const { return burners > 0 || quota > 0 || beside > 0 || take_ms > 0; }
};
std::string check(const Load& load);  // "" or what is wrong

// Child processes that use up CPU time while this object lives.
class Burners {
 public:
  explicit Burners(const Load& load);
  ~Burners();
  Burners(const Burners&) = delete;
  Burners& operator=(const Burners&) = delete;
  const std::vector<pid_t>& children() const { return children_; }

 private:
  std::vector<pid_t> children_;
};

// Something that happens to a process group while it runs, again and again: for on_ms it runs as it likes,
// for off_ms it does not.
struct Pulse {
  int on_ms = 0, off_ms = 0;  // off_ms = 0: nothing happens
  void (*act)(pid_t group, bool on) = nullptr;
};

// Limits the CPU time of processes that join: by a control group, which lives as long as this object, or, if
// none can be made here, by a pulse of SIGSTOP and SIGCONT.
class Quota {
 public:
  static constexpr int kPeriodMs = 100;
  explicit Quota(int percent);  // of one CPU; 0: no limit
  ~Quota();
  Quota(const Quota&) = delete;
  Quota& operator=(const Quota&) = delete;
  // The file to which a process writes 0 to join; "": none.
  const std::string& procs() const { return procs_; }
  const Pulse& pulse() const { return pulse_; }
  const char* means() const;  // "cgroup v1", "cgroup v2", "stop signals" or "none"

 private:
  bool try_group(const std::string& parent, const char* file, const std::string& value);
  std::string group_, procs_;
  int version_ = 0;
  Pulse pulse_;
};
bool join(const std::string& procs);  // the calling process joins a control group

// Takes all CPUs but one from each thread of the group's processes, and gives them back.
Pulse taking_cpus(int ms);

}  // namespace fermata::bench
#endif
