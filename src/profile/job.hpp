// The profile of an MPI job: the cost of a signal between each pair of its processes. Within a host signals
// go through memory; between hosts they are messages.
#ifndef FERMATA_PROFILE_JOB_HPP
#define FERMATA_PROFILE_JOB_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// The functions of an MPI job that a measurement needs (fermata/job.h has the same with C's types). gather()
// and rest() are collective. gather() returns false if it failed. Only the processes a and b call time(), or
// one process with a == b. It returns the median of the repeats in ns; below 0: it failed. rest() waits
// until all processes have called it, and mostly sleeps meanwhile, so that it does not disturb a measurement.
struct Job {
  std::int32_t rank = 0;
  std::vector<std::int32_t> hosts;   // each process's host
  std::vector<std::int32_t> pinned;  // the CPU to which each process is pinned on its host; -1: not pinned
  std::vector<std::string> names;    // the hosts' names
  std::function<bool(const void* mine, std::size_t bytes, void* all)> gather;
  std::function<double(int a, int b, std::size_t bytes, int signals, int repeats)> time;
  std::function<void()> rest;
  std::int32_t processes() const { return static_cast<std::int32_t>(hosts.size()); }
};

struct JobOptions {
  // Measures one pair of processes for each pair of hosts, and a few pairs of each level within a host. The
  // other pairs get these costs.
  bool sample = false;
  // The aim for each pair, if `seconds` is 0. A pair is measured in one way: in memory if it is on one host,
  // else by messages. Slow messages may take longer.
  double seconds_per_pair = 0.3;
  // The aim for everything; 0: none, so all pairs (with `sample`, all that it leaves). Measures as many pairs
  // as fit: first one pair for each pair of hosts. One pair of messages is measured in any case.
  double seconds = 0;
  std::function<void(double done, const std::string& what)> progress;  // done: the part done, 0..1
};

// Measures the memory of this process's host, between processes on the CPUs of `topology`. The rows of the
// result are in the order of these CPUs.
using MeasureHost = std::function<Result<Profile>(const Topology& topology, const ProfileOptions& options)>;

// Collective. All processes get the same profile, or each gets an error. `here`: the CPUs that this process
// may use. Hosts measure their memory at the same time, but hosts on one machine take turns (with `sample`,
// only the first of them measures). Pairs of processes measure messages one after the other. At the end, if
// there are four hosts or more, and if the time suffices, pairs of hosts also send at once, to find out
// whether they share a network.
Result<Profile> measure_job(const Job& job, const Topology& here, const JobOptions& options,
                            const MeasureHost& measure_host);

// Measures messages between processes a and b, as in section IV.A of heterogeneous-mpi-barriers. Both call
// it.
// - O: the intercept of half a round trip over the message size: 1 to 2^20 bytes. If the time is short, the
//   largest sizes are left out, but 1 to 64 bytes are always measured.
// - L: the time of each further message, from 1 to 32 empty synchronous messages at once.
// - G: the time of a 256 KiB message beyond O, per byte.
// o < 0: the measurement failed. If messages are too slow for the budget, each point gets fewer repeats, but
// at least 3.
struct MessageCost {
  double o = 0, l = 0, g = 0;  // ns, ns, ns per byte
  double spent = 0;            // ns: what all points took together
};
MessageCost measure_messages(const Job& job, std::int32_t a, std::int32_t b, double seconds);

}  // namespace fermata
#endif
