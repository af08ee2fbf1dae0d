// The time on a machine with another clock: a part of it takes a number of cycles, the rest is fixed
// (equation 1 of remote-store-barriers, section IV.C).
#ifndef FERMATA_SIM_CLOCK_HPP
#define FERMATA_SIM_CLOCK_HPP

#include "profile/profile.hpp"

namespace fermata::sim {

// time = cycles / clock + fixed, where the clock is relative to this machine's.
struct ClockSplit {
  double cycles_ns = 0;  // at this machine's clock
  double fixed_ns = 0;
  double ns(double clock) const { return cycles_ns / clock + fixed_ns; }
};
// From the times at this machine's clock and at another one. Precondition: clock is above 0 and not 1.
ClockSplit split_of(double ns, double ns_at_clock, double clock);

// The profile of the same machine with a clock `clock` times as fast. What is assumed:
// - Signals between CPUs that share a core or a cache scale with the clock, and shared words of such CPUs.
// - Signals between other CPUs of a host go over an interconnect and keep their time, except the members' own
//   work at both ends, work_ns each. Messages between hosts keep theirs.
// The costs of bytes, and of switches between members on one CPU, stay: no barrier with a CPU for each member
// has them. Precondition: clock > 0.
Profile at_clock(Profile profile, double clock, double work_ns);

}  // namespace fermata::sim
#endif
