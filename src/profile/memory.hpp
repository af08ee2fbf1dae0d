// From the times of accesses to the parameters of coherent memory (MemoryParameters). Pure arithmetic. Each
// function leaves a parameter empty if the times do not tell it.
#ifndef FERMATA_PROFILE_MEMORY_HPP
#define FERMATA_PROFILE_MEMORY_HPP

#include <vector>

#include "profile/profile.hpp"

namespace fermata {

// Times of one access between two CPUs that share no core, in ns (profile/access_loops.hpp). In a chain, an
// access begins when the one before it has returned.
struct AccessTimes {
  double read = 0;       // of a line that the other CPU has just written, in a chain
  double read_own = 0;   // of a line that only this CPU has, in a chain
  double add = 0;        // to a line that this CPU wrote last and that the other one has read, in a chain
  double add_own = 0;    // to a line that only this CPU has, in a chain
  double await = 0;      // as a stage awaits several slots: of lines that the other CPU has just written
  double await_own = 0;  // the same, of lines that only this CPU has
  // [j - 1]: as `read`, after this CPU has read the line j lines before it; or three lines in a row, of which
  // the last one is j lines before it.
  std::vector<double> after_one = {}, after_three = {};
};

// From the ns of each point of the probe, a whole chain (probe::access_point).
AccessTimes access_times(const std::vector<double>& ns);

// The miss R = read - read_own and the invalidation U = add - add_own give miss_share = R / (R + U).
//
// Lines that a stage awaits cost R each if their loads follow each other. If they overlap, each costs far
// less. So overlap is 2 if a line costs less than half of R.
//
// A line came along with another one's miss if it costs less than half of R. prefetch counts the lines next
// to the missed one that all came along, after one miss or after three, whichever has more.
void deduce_accesses(const AccessTimes& times, MemoryParameters& memory);

// own[k]: ns of a store and a taken signal on a line that never leaves the CPU, while k siblings spin on its
// core. work_ns is half of own[0]. sibling_share is the slope of own[k] / own[0] - 1 over k, through 0.
void deduce_work(const std::vector<double>& own, MemoryParameters& memory);

// published[k - 1]: ns from a store until one of k readers has read it and has said so, the mean over all of
// them. So twice its slope is the time for which the line serves one reader. line_share is its share of
// `miss` (R of deduce_accesses), at most 1.
void deduce_readers(const std::vector<double>& published, double miss, MemoryParameters& memory);

}  // namespace fermata
#endif
