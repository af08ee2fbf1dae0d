// The profile of an MPI job: what a signal costs between each pair of its processes, by memory within a host and by messages between hosts.
#ifndef FERMATA_PROFILE_JOB_HPP
#define FERMATA_PROFILE_JOB_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// What a job can do for those who measure it (fermata/job.h). Collective but for `time`.
struct Job {
  std::int32_t rank = 0;
  std::vector<std::int32_t> hosts;   // of each process
  std::vector<std::int32_t> pinned;  // the CPU of each process there, or -1
  std::vector<std::string> names;    // of the hosts
  std::function<bool(const void* mine, std::size_t bytes, void* all)> gather;
  std::function<double(int a, int b, std::size_t bytes, int signals, int repeats)> time;
  std::function<void()> rest;
  std::int32_t processes() const { return static_cast<std::int32_t>(hosts.size()); }
};

struct JobOptions {
  bool sample = false;            // one pair of processes for each pair of hosts, a few of each level within one; replicated
  double seconds_per_pair = 0.3;  // at most, of messages; of memory it is aimed at
  double seconds = 0;             // aimed at for the whole: as many pairs as fit, of each two hosts one first; 0: all pairs
  std::function<void(double done, const std::string& what)> progress;
};

// What one process learns about its host's memory: of the processes of that host, in this order of CPUs.
using MeasureHost = std::function<Result<Profile>(const Topology& topology, const ProfileOptions& options)>;

// Collective: all processes get the same profile, or an error each. `here`: what this process may use of its machine. Hosts are measured
// at the same time, but those that share a machine in turn; messages one pair after the other.
Result<Profile> measure_job(const Job& job, const Topology& here, const JobOptions& options, const MeasureHost& measure_host);

// Heterogeneous-mpi-barriers section IV.A between a and b, which both call it: O the intercept of half a round trip over a message's
// size, 1 to 2^20 bytes as far as the seconds go; L the slope over 1 to 32 empty synchronous messages at once; and G, what each byte of
// 256 KiB takes beyond O. o < 0: it failed. Where messages are so slow that the seconds don't hold all of this, each point is repeated less
// often, but kLeastRepeats times.
struct MessageCost {
  double o = 0, l = 0, g = 0;  // ns, ns, ns per byte
  double spent = 0;            // ns, by what the points took
};
MessageCost measure_messages(const Job& job, std::int32_t a, std::int32_t b, double seconds);

}  // namespace fermata
#endif
