// Predicts the time of a schedule: of one episode, from the arrival of all members to the departure of all,
// and of each of many episodes that run back to back.
#ifndef FERMATA_SCHEDULE_COST_HPP
#define FERMATA_SCHEDULE_COST_HPP

#include <cstdint>
#include <numeric>
#include <vector>

#include "base/sizes.hpp"
#include "schedule/grouped_costs.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// How collectives on blocks move their bytes (exec/blocks.hpp), in addition to G. With the defaults, copying
// in and copying out overlap entirely, and folding is free.
struct ByteCosts {
  // Bytes of a ring buffer's slot. The sender copies the first slotful of a chunk in before the receiver
  // copies it out. The rest of the copies overlap.
  double slot = 0;
  Direct direct;           // sizes of chunks that a receiver reads from the sender's memory (single copy)
  double direct_once = 0;  // ns for each direct read of a chunk
  double fold = 0;         // extra ns per byte that is folded instead of copied
  double direct_fold = 0;  // the same for a direct read
  // ns per byte that the busiest member folds, added to the total. It is for models that do not know the
  // overlap of folds with copies.
  double fold_apart = 0;
  double chunk = 0;  // ns for each further chunk of a message
  // bytes that a core's own caches hold; 0: no limit. Each byte of a larger chunk costs `beyond` times as
  // much.
  double cached = 0;
  double beyond = 1;
  double together = 0;  // least ns per byte that all members move together: the bandwidth of their memory
  double between = 0;   // least ns per byte that all hosts send together: the bandwidth of their network
  bool operator==(const ByteCosts&) const = default;
};

// The costs of a model that all pairs have in common, ns.
struct CostTerms {
  ByteCosts bytes;
  double awaited = 0;    // each further slot that a receiver awaits in a stage, from another sender
  double reader = 0;     // each further reader of a published line
  double word_add = 0;   // an add on a shared word whose line another member holds
  double word_read = 0;  // a polling member's read of a word after the word's last write
  // The factor of each layout on a signal, relative to kPrivate with stride 1; 1 if it was not measured. The
  // factor of kPacked was measured by an exchange. It holds for pairs that signal each other in one stage.
  double layout_factor[kLayoutCount] = {1, 1, 1};
  // Number of signals that share a packed line. Each signal beyond two moves the line once more, since every
  // reader polls the whole line. Power8-barriers VI.B: 24 flags in one line take 21 us instead of 1.8 us.
  double packed_sharers = 2;
  double stride_factor[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};  // index: stride 1..8
  double switch_ns = 0;                                   // a context switch; counted when members share CPUs
  double members_per_cpu = 1;                             // > 1: oversubscribed
};

// The costs that the planner takes from a profile for one placement. Times are in ns. Matrices are
// members x members; the row is the sender.
struct CostModel : CostTerms {
  std::int32_t members = 0;
  std::vector<double> o;  // o(i,j): fixed cost of sending from i to j; o(i,i): a stage without a signal
  std::vector<double> l;  // l(i,j): cost of each signal from i to j
  GroupedCosts grouped;   // of a large team, where costs fall into groups: instead of o and l; else empty
  // g(i,j): ns per byte, in addition to the signal. Copying in takes this time, and copying out takes it
  // again. g(i,i): ns per byte of a copy within i. Empty: 0.
  std::vector<double> g;
  std::vector<double> direct;  // ns per byte that j reads directly from i's memory; empty: as g
  // The host of each member; empty: all share memory. A message between hosts costs the same in every layout.
  std::vector<std::int32_t> hosts;
  // Saves time if many schedules are compared: the caller sets it to further_share() of this model. 0: each
  // prediction computes that.
  double further = 0;
  bool is_message(std::int32_t i, std::int32_t j) const {
    return !hosts.empty() && hosts[static_cast<std::size_t>(i)] != hosts[static_cast<std::size_t>(j)];
  }
  double o_at(std::int32_t i, std::int32_t j) const {
    return grouped.empty() ? o[static_cast<std::size_t>(i) * members + j] : grouped.o(i, j);
  }
  double l_at(std::int32_t i, std::int32_t j) const {
    return grouped.empty() ? l[static_cast<std::size_t>(i) * members + j] : grouped.l(i, j);
  }
  double g_at(std::int32_t i, std::int32_t j) const {
    return g.empty() ? 0 : g[static_cast<std::size_t>(i) * members + j];
  }
  double direct_at(std::int32_t i, std::int32_t j) const {
    return direct.empty() ? g_at(i, j) : direct[static_cast<std::size_t>(i) * members + j];
  }
  void scale_signals(double factor) {
    for (double& each : o) each *= factor;
    for (double& each : l) each *= factor;
    if (!grouped.empty()) grouped.scale(factor);
  }
  // Calls visit(i, j, count) for unordered pairs of different members of `ranks`. `count` pairs cost the same
  // as i and j, and are visited once.
  template <class Visit>
  void each_pair(const std::vector<std::int32_t>& ranks, Visit&& visit) const {
    if (!grouped.empty()) return grouped.each_kind(ranks, visit);
    for (std::size_t a = 0; a < ranks.size(); ++a)
      for (std::size_t b = a + 1; b < ranks.size(); ++b) visit(ranks[a], ranks[b], 1.0);
  }
  std::vector<std::int32_t> everyone() const {
    std::vector<std::int32_t> ranks(static_cast<std::size_t>(members));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }
};

// Returns the model of these ranks alone, without `further`. has_bytes: with the matrices g and direct; else
// these are empty. All CostTerms stay.
CostModel part_of(const CostModel& model, const std::vector<std::int32_t>& ranks, bool has_bytes);

// Returns the cost of a further awaited slot, as a share of its L. It looks at all pairs. `awaited` was
// measured between nearest members, so it is a share of the smallest L.
double further_share(const CostModel& model);

struct CostStep {
  std::int32_t stage = 0;
  std::int32_t vertex = 0;  // the member that continues at at_ns, or the word whose add is then done
  double at_ns = 0;
};

struct Cost {
  double critical_path_ns = 0;          // from the last arrival, at time 0, to the last departure
  std::vector<double> departure_ns;     // per member; without fold_apart, and limits of memory and network
  std::vector<double> stage_ns;         // latest end of each stage; without these, too
  std::vector<CostStep> critical_path;  // first to last
};

// The model, per stage. Precondition: the schedule passed verify, or is half of an algorithm;
// model.members >= schedule.members.
//
// Slots:
// - A member's signals leave one after another. The k-th one begins after the sum of the L of the k - 1
//   before it. It takes its own O + L to a receiver that awaits nothing else. The sender is done after
//   max(O) + sum(L) of all.
// - A receiver pays max(O) + sum(L) over the slots that come at once. `awaited` was measured between nearest
//   members. If it is known, each further slot costs awaited x L / (smallest L) instead of L. A slot from
//   another host always costs its L.
// - The factors of layout and stride scale O and L.
// - On a published line there is one store. The k-th reader gets it (k - 1) x `reader` later.
// - A slot from a member to itself is free, except for its bytes.
//
// Bytes:
// - A message takes its sender chunks x chunk_bytes x G longer, and its receiver as well. The two overlap.
// - A member's writes and its reads in a stage do not overlap, except messages between hosts.
// - The chunks that one member sends to another in one stage, listed next to each other, are one message with
//   one O and one L.
// - A chunk that is read directly costs its sender only the wait until it was read. Several members can read
//   from one sender at once.
// - A schedule takes at least the time that memory and the network between hosts need to move all its bytes.
//
// Hosts:
// - The messages of all members of a host leave it one after another.
// - A sender i waits neither until its messages have left the host nor until they arrive. Sending costs it
//   O(i,i) + sum(L).
// - A member takes messages after it has sent its own of the stage, and each takes it L. So a member that
//   sends to k others and awaits k is busy for both (o of LogGP at both ends).
//
// Words:
// - Adds to a word come one after another and take word_add each. The last adder is the completer; it need
//   not read the word.
// - The others read the word word_read after it is complete, the k-th of them (k - 1) x `reader` later.
//
// Shared CPUs:
// - A member that has to wait gets its CPU back after the CPU's other members have run. With its own switch,
//   this takes members_per_cpu x switch_ns.
// - Members that poll a word read it from another CPU before one add in two. So an add to a polled word takes
//   half a word_read more. This fits counter beside sense_reversing, which polls another word, with 16
//   members on 2 CPUs (bench/results/barrier-crowded.json).
//
// This function predicts one episode in which all members arrive at time 0.
Cost cost(const Schedule& schedule, const CostModel& model, const Layouts& layouts, double chunk_bytes = 0);

// Returns Cost::critical_path_ns alone. It takes less time.
double latency_cost(const Schedule& schedule, const CostModel& model, const Layouts& layouts,
                    double chunk_bytes = 0);

// Returns the time per episode when episodes run back to back, without fold_apart and the limits of memory
// and network. It is the growth per episode of the member whose time grows most, once that growth is steady,
// or after 48 episodes. Writes the result of latency_cost() to `latency_ns`, unless it is null.
double period_cost(const Schedule& schedule, const CostModel& model, const Layouts& layouts,
                   double chunk_bytes = 0, double* latency_ns = nullptr);

// Equations 1 and 2 of heterogeneous-mpi-barriers for the signals from `from` to each of `to`. Equation 2 is
// for receivers that are known to wait.
double stage_cost_eq1(const CostModel& model, std::int32_t from, const std::vector<std::int32_t>& to);
double stage_cost_eq2(const CostModel& model, std::int32_t from, const std::vector<std::int32_t>& to);

}  // namespace fermata
#endif
