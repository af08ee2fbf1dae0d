// The parts of the measurement of an MPI job (profile/job.hpp). All processes of the job do each part
// together.
#ifndef FERMATA_PROFILE_JOB_PARTS_HPP
#define FERMATA_PROFILE_JOB_PARTS_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/job.hpp"
#include "profile/pairs.hpp"

namespace fermata {

using MachineId = std::array<char, 40>;  // of the running kernel; equal for all hosts on it

// Where a process is. Each process sends its place to all others.
struct PlaceOfProcess {
  Cpu cpu;  // of a pinned process
  MachineId machine{};
};

constexpr std::size_t kLongBytes = 256 * 1024;  // of a message from which G comes

// The processes of a job, and where they are.
class JobProcesses {
 public:
  JobProcesses(const Job& of, const JobOptions& how) : job(of), options(how), n(of.processes()) {}

  // `here`: the CPUs that this process may use. False: not all processes could be reached.
  bool find_places(const Topology& here);

  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  std::int32_t host(std::int32_t process) const { return job.hosts[at(process)]; }
  std::int32_t hosts() const { return static_cast<std::int32_t>(job.names.size()); }
  std::int32_t leader(std::int32_t h) const;  // the first process of host h
  const PlaceOfProcess& place(std::int32_t process) const { return places_[at(process)]; }
  void report(double done, const std::string& what) const {
    if (options.progress) options.progress(done, what);
  }

  const Job& job;
  const JobOptions& options;
  const std::int32_t n;

 private:
  std::vector<PlaceOfProcess> places_;
};

// Costs between each two processes.
struct JobCosts {
  explicit JobCosts(std::int32_t n) : o(n), l(n), g(n) {}
  // Sets the costs of both directions.
  void set(std::int32_t a, std::int32_t b, double of_o, double of_l, double of_g);
  Matrix o, l, g;
};

inline Error job_is_lost() { return {Status::kSystem, "the job's processes could not be reached"}; }

// Measures the memory of each host. The result has one profile for each host, and all processes get it. A
// host that did not measure gets the profile of the lowest host on the same machine that did and has a lower
// number, else that of the first host. Errors: kSystem if the first host has none, or a process could not be
// reached; those of profile_from_json().
Result<std::vector<Profile>> measure_memory(const JobProcesses& processes, const Topology& here,
                                            const MeasureHost& measure);

struct JobLinks {
  std::vector<RowPair> measured;
  std::size_t left_out = 0;  // pairs for which there was no time
  double left_ns = 0;        // of the time budget, equal in all processes; without a budget: no meaning
};
// Measures messages between processes of different hosts, and sets the costs of all such pairs, and each
// process's own O (on the diagonal of costs.o). begin_ns: when the measurement of the job began.
Result<JobLinks> measure_links(const JobProcesses& processes, std::int64_t begin_ns, JobCosts& costs);

struct JobNetwork {
  double byte_ns = 0;     // of a network that pairs of hosts share; 0: none
  bool left_out = false;  // there was no time for it
};
// Looks for a shared network if there are at least four hosts.
Result<JobNetwork> measure_network(const JobProcesses& processes, const JobLinks& links,
                                   const JobCosts& costs);

}  // namespace fermata
#endif
