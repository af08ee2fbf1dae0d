// Predicted time of a schedule: the critical path from all arrivals through all departures.
#ifndef FERMATA_SCHEDULE_COST_HPP
#define FERMATA_SCHEDULE_COST_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "base/sizes.hpp"
#include "schedule/layout.hpp"
#include "schedule/schedule.hpp"

namespace fermata {

// How operations on blocks move their bytes (exec/blocks.hpp), beyond G. By default: copied in and out at the same time, folding is free.
struct ByteCosts {
  double slot = 0;         // bytes of a slot: the first slotful of a chunk is copied out after it was copied in, the rest meanwhile
  Direct direct;           // sizes of a chunk that is read where it lies
  double direct_once = 0;  // ns of each such reading
  double fold = 0;         // ns per byte that is folded instead of copied
  double direct_fold = 0;  // likewise where it is read directly
  double fold_apart = 0;   // ns per byte that the busiest member folds, on top of all: where it isn't known what that overlaps with
  double chunk = 0;        // ns of each further chunk of a message
  double cached = 0;       // chunks of more bytes leave the cores' own caches: each byte costs `beyond` times as much; 0: none do
  double beyond = 1;
  double together = 0;  // ns per byte that all members read at once: what their memory gives
  double between = 0;   // likewise that all hosts send at once: what the network between them gives
  bool operator==(const ByteCosts&) const = default;
};

// What the planner takes out of a profile for one placement. All in ns; matrices are members x members, row =
// sender.
struct CostModel {
  std::int32_t members = 0;
  std::vector<double> o;  // o(i,j): intercept at zero signals; o(i,i): a stage without a signal
  std::vector<double> l;  // l(i,j): each signal
  // g(i,j): each byte beyond the signal's line, ns: copied in, and as long copied out; g(i,i): copied within. Empty: not counted
  std::vector<double> g;
  std::vector<double> direct;  // each byte that j reads where it lies at i, ns. Empty: as g
  ByteCosts bytes;
  double awaited = 0;    // each further slot awaited in a stage, from different senders
  double reader = 0;     // each further reader of a published line
  double word_add = 0;   // an add on a shared word whose line another member holds
  double word_read = 0;  // a poller's reading of a word after its last write
  // Factor on a signal of each layout, relative to kPrivate with stride 1 (measured; 1 if unknown).
  // kPacked's was measured on an exchange, and holds for pairs that signal each other in one stage.
  double layout_factor[kLayoutCount] = {1, 1, 1};
  // Signals that share a line when packed. Each beyond two moves it once more, since every reader polls all of it (21 us instead of
  // 1.8 with 24 flags in one line: power8-barriers VI.B).
  double packed_sharers = 2;
  double stride_factor[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};  // [1..8]
  std::vector<std::int32_t> hosts;  // of each member: a message costs the same in every layout. Empty: all share memory
  double switch_ns = 0;             // the scheduler's switch; counted when members share CPUs
  double members_per_cpu = 1;       // > 1: oversubscribed
  bool is_message(std::int32_t i, std::int32_t j) const {
    return !hosts.empty() && hosts[static_cast<std::size_t>(i)] != hosts[static_cast<std::size_t>(j)];
  }
  double o_at(std::int32_t i, std::int32_t j) const { return o[static_cast<std::size_t>(i) * members + j]; }
  double l_at(std::int32_t i, std::int32_t j) const { return l[static_cast<std::size_t>(i) * members + j]; }
  double g_at(std::int32_t i, std::int32_t j) const { return g.empty() ? 0 : g[static_cast<std::size_t>(i) * members + j]; }
  double direct_at(std::int32_t i, std::int32_t j) const {
    return direct.empty() ? g_at(i, j) : direct[static_cast<std::size_t>(i) * members + j];
  }
};

struct CostStep {
  std::int32_t stage = 0;
  std::int32_t vertex = 0;  // the vertex whose wait ends the step
  double at_ns = 0;
};

struct Cost {
  double critical_path_ns = 0;          // last arrival at 0 -> last departure
  std::vector<double> departure_ns;     // per member
  std::vector<double> stage_ns;         // latest end of each stage
  std::vector<CostStep> critical_path;  // first to last
};

// The model, per stage (DESIGN.md, "Cost"). Precondition: the schedule passed verify, or is an algorithm's
// half; model.members >= schedule.members.
//  slots: a member's signals leave one after the other: all are out after max(O) + sum(L), the k-th reaches a
//         receiver that awaits nothing else O + L after the k - 1 before it were paid for. A receiver pays
//         max(O) + sum(L) over what comes at once; with `awaited` known, a further slot costs awaited x L /
//         (the smallest L), for awaited is measured between nearest members; a message its L. O and L are scaled by the
//         layout's and the stride's factor. On a published line there is one store, and the k-th reader comes
//         k - 1 times `reader` later. A slot to oneself is free.
//  bytes: a message takes chunks x chunk_bytes x G longer, at the sender's and, as it is read while it is written, at the
//         same time at the receiver; what one member writes and reads in a stage follows one another, unless it goes to or comes
//         from another host. The chunks that two members exchange in one stage, listed side by side, are one message with one O
//         and one L. A chunk that is read where it lies costs its sender nothing but the wait until it was read, so many may read
//         one member's at once. No schedule is done before memory, and what lies between hosts, have moved all their bytes.
//  hosts: the messages of all members of a host leave it one after the other; their senders don't wait for that, nor for a message
//         to come: sending costs O(i,i) + sum(L).
//  words: adds on a word queue up, word_add each; the last adder is its completer, who goes on without
//         reading. Others read it word_read after its completion, the k-th of them k - 1 times `reader`
//         later.
//  shared CPUs: whoever has to wait gets its CPU back after the other members' turns: members_per_cpu x
//               switch_ns. Before every second add on a word that members wait on, one of them has looked at it from another
//               CPU: half a word_read more (16 members, 2 CPUs: counter 13.4 us, sense_reversing, which polls another word, 11.8).
// One-shot latency when all members arrive at time 0.
Cost cost(const Schedule& schedule, const CostModel& model, const Layouts& layouts, double chunk_bytes = 0);

// Back-to-back time per episode: the growth of the critical path per episode, unrolled until it is steady.
double period_cost(const Schedule& schedule, const CostModel& model, const Layouts& layouts, double chunk_bytes = 0);

// heterogeneous-mpi-barriers equations 1 and 2 for a set of signals from i; eq. 2 when receivers are known to
// wait.
double stage_cost_eq1(const CostModel& model, std::int32_t from, const std::vector<std::int32_t>& to);
double stage_cost_eq2(const CostModel& model, std::int32_t from, const std::vector<std::int32_t>& to);

}  // namespace fermata
#endif
