// Runs episodes of a schedule on the cost model, stage by stage. For cost.cpp only.
#ifndef FERMATA_SCHEDULE_SIMULATION_HPP
#define FERMATA_SCHEDULE_SIMULATION_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/cost.hpp"

namespace fermata {

// A slot that a receiver awaits in a stage.
struct Incoming {
  double at = 0;           // when its sender begins to send it
  double o = 0, l = 0;     // O and L of the signal, for its layout
  std::int32_t step = -1;  // the sender's last step before it
  double bulk = 0;         // the receiver's time for its bytes
  double first = 0;        // time to copy its first slotful in; only then can the receiver copy it out
  std::int32_t held = -1;  // the sender, if it must wait until its data was read; else -1
  double further = 1;      // cost after another awaited slot, as a share of its L
  bool message = false;    // it comes from another host
};

// The cost of a message's bytes.
struct Bulk {
  double in = 0, out = 0;  // the sender's and the receiver's time
  double first = 0;        // as Incoming::first
  bool held = false;       // the receiver reads directly, and the sender waits for that
};

// Simulates episodes on the model. Each vertex has a time: for a member, when it continues; for a word, when
// the last add to it so far was done. Adds that come at the same time are served in list order.
class Simulation {
 public:
  Simulation(const Schedule& s, const CostModel& model, const Layouts& layouts, double chunk_bytes,
             bool keep_path);
  void run_episode(std::vector<double>* stage_ns);
  double latest() const { return *std::max_element(time_.begin(), time_.begin() + s_.members); }
  const std::vector<double>& times() const { return time_; }
  std::vector<CostStep> critical_path() const;

 private:
  struct Adding {  // an add waiting for the word's line
    double at = 0;
    std::int32_t member = 0;  // the member that executes it
    std::int32_t word = 0;
    std::int32_t step = -1;
    std::size_t order = 0;  // index among the stage's adds
  };
  struct PathStep {
    CostStep step;
    std::int32_t before = -1;
  };

  void run_stage(const Stage& stage, std::int32_t index);
  void send(const Transfer& t, std::int64_t chunks);
  Bulk bulk_of(const Transfer& t, std::int64_t chunks) const;
  void find_exchanges(const Stage& stage);
  void count_moves(const Stage& stage);
  void lay_out(std::size_t stage);
  void make_room(const Stage& stage);
  void collect(const Stage& stage);
  void add_all(std::int32_t stage);
  void poll(const Transfer& t, std::int32_t stage);
  void await(std::int32_t member, std::int32_t stage);
  // A member that has to wait on a shared CPU gets the CPU back only after the CPU's other members have run.
  // (Adds to polled words take longer on shared CPUs, too: add_all().)
  double turn(double now, double until) const {
    return until > now && model_.members_per_cpu > 1 ? model_.switch_ns * model_.members_per_cpu : 0;
  }
  std::int32_t push_step(std::int32_t stage, std::int32_t vertex, double at, std::int32_t before) {
    if (!keep_path_) return -1;
    path_.push_back({{stage, vertex, at}, before});
    return static_cast<std::int32_t>(path_.size()) - 1;
  }

  const Schedule& s_;
  const CostModel& model_;
  const Layouts& layouts_;
  const bool keep_path_;
  const double chunk_bytes_;
  // Does the receiver read a chunk directly? [1]: if its sender moves nothing else in the stage; [0]: else.
  bool direct_[2];
  // How many messages each member sends and receives in the stage. It is counted only if direct_[0] and
  // direct_[1] differ.
  std::vector<std::int32_t> moving_;
  bool published_ = false, packed_ = false;  // the stage's layout (schedule/layout.hpp)
  double factor_ = 1;
  // The factor on a packed signal for the signals that share its line. If its receiver sends none back in the
  // stage, the rest of the factor is that of a line of its own.
  double sharers_factor_;
  // For packed stages: sender and receiver of each signal between members, sorted.
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs_;
  // Cost of a further awaited slot, as a share of its L.
  double further_;
  std::vector<double> time_, next_;
  std::vector<std::int32_t> step_;       // per vertex: its last step
  std::vector<std::int32_t> completer_;  // per word: the member that executed the last add
  // per word: polls since the last add; each of them delays the next poll by model_.reader
  std::vector<std::int32_t> readers_;
  std::vector<bool> polled_;  // per word: members poll it
  std::vector<std::int32_t> next_step_;
  // For the current stage, per vertex: the cost of what it has sent so far, and until when its data is read.
  std::vector<double> sent_l_, sent_o_, sent_bulk_, held_until_;
  std::vector<std::int32_t> sent_count_;
  std::vector<double> link_;        // per host: when the last message so far has left it
  std::vector<Incoming> incoming_;  // of the current stage, each receiver's together
  // Per member: its first one in incoming_, and how many there are so far. expected_: how many there can be.
  std::vector<std::int32_t> first_in_, count_in_, expected_;
  std::vector<std::int32_t> senders_, receivers_;
  std::vector<Adding> adds_;
  std::vector<PathStep> path_;
};

}  // namespace fermata
#endif
