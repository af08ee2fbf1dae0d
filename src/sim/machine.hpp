// The simulated machine: what a signal between two cores and a message between two hosts cost, in virtual
// time. Its values come from a profile, as the planner's do.
#ifndef FERMATA_SIM_MACHINE_HPP
#define FERMATA_SIM_MACHINE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan.hpp"
#include "profile/profile.hpp"
#include "topo/topology.hpp"

namespace fermata::sim {

using Time = std::int64_t;  // virtual time in ps: whole numbers, so that a sum does not depend on its order

constexpr Time from_ns(double ns) { return static_cast<Time>(ns * 1e3 + 0.5); }
constexpr double to_ns(Time time) { return static_cast<double>(time) / 1e3; }

// How coherent memory behaves (MemoryParameters in profile/profile.hpp). The defaults are assumptions;
// docs/simulation.md has more.
struct MemoryCosts {
  // The share of a signal that is the reader's miss; the rest is the writer's invalidation of the readers.
  double miss_share = 0.5;
  // How far loads of one stage overlap: a load counts as issued when the one before it has returned (1), or
  // when that was issued (2).
  int overlap = 2;
  double work_ns = 5;  // a member's own work for each store and each signal that it takes
  // What each further member on the core adds to that work, as a share of it.
  double sibling_share = 1;
  int prefetch = 0;  // further lines that a miss takes, too
};

// Each value is the wanted one, else the profile's, else the default.
MemoryCosts memory_costs(const Profile& profile, const MemoryParameters& wanted = {});

// The part of a signal that is not the work of its two ends; the whole, O + L, takes `ns`.
inline double without_work(double ns, double work_ns) { return std::max(ns - 2 * work_ns, 0.25 * ns); }

// All that a run needs to know of the members' places. Cores and hosts have numbers from 0.
struct Machine {
  std::int32_t members = 0, cores = 0, hosts = 1;
  std::uint32_t line_bytes = 64;    // of coherent memory
  std::vector<std::int32_t> core;   // of each member
  std::vector<std::int32_t> host;   // of each member
  std::vector<Time> work;           // of each member, by how many members are on its core
  std::vector<Time> signal;         // [writer's core x cores + reader's core]: a signal, without own work
  std::vector<Time> further;        // the same: between two accesses of one core
  double served_share = 1;          // of a signal: between two readers of a line; at most the miss
  std::vector<Time> message, gap;   // [sender x members + receiver], of members on different hosts; else 0
  std::vector<Time> send;           // of each member: its own time for a message, without the gap
  Network network;                  // between the hosts
  std::vector<std::int32_t> place;  // of each host: its number in the network
  MemoryCosts costs = {};

  std::size_t pair(std::int32_t from, std::int32_t to) const {  // of members
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(members) + static_cast<std::size_t>(to);
  }
  Time signal_of(std::int32_t from, std::int32_t to) const { return signal[at(from, to)]; }
  Time further_of(std::int32_t from, std::int32_t to) const { return further[at(from, to)]; }
  Time miss(std::int32_t from, std::int32_t to) const {
    return static_cast<Time>(costs.miss_share * static_cast<double>(signal_of(from, to)));
  }
  Time served(std::int32_t from, std::int32_t to) const {
    return std::min(miss(from, to),
                    static_cast<Time>(served_share * static_cast<double>(signal_of(from, to))));
  }
  Time invalidation(std::int32_t from, std::int32_t to) const { return signal_of(from, to) - miss(from, to); }

 private:
  std::size_t at(std::int32_t from, std::int32_t to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(cores) + static_cast<std::size_t>(to);
  }
};

// Precondition: key.cpus has an entry for each member, all of them CPUs of the topology.
Machine machine_of(const Profile& profile, const Topology& topology, const PlanKey& key,
                   const MemoryCosts& costs);

}  // namespace fermata::sim
#endif
