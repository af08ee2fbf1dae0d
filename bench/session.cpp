#include "bench/session.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <random>

#include "base/text.hpp"
#include "bench/energy.hpp"
#include "bench/own.hpp"

namespace fermata::bench {
namespace {

constexpr double kNever = std::numeric_limits<double>::quiet_NaN();
constexpr double kTooSlowNs = 100e6;  // of an episode; a slower subject would use up the others' rounds
constexpr double kDelayNs = 100;      // EPCC's delay between episodes
// Under load a batch holds many time slices, and several periods of a quota: its length is a time, not a
// number of episodes. Else slow phases would have long batches.
constexpr double kWindowNs = 300e6;
constexpr std::size_t kMinRounds = 5;
// Overlap: members compute for 2 ms in chunks of 10 us. They begin up to 1 ms apart, so each begins before
// any has finished computing.
constexpr double kChunkNs = 10e3;
constexpr std::uint64_t kChunks = 200, kApartNs = 1'000'000;

// Rounds of delay() per nanosecond on this machine.
double delay_rate() {
  double best = 0;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const std::uint64_t begin = now_ns();
    delay(200000);
    best = std::max(best, 200000.0 / static_cast<double>(std::max<std::uint64_t>(now_ns() - begin, 1)));
  }
  return best;
}

double median_count(const std::vector<double>& counts) {  // NaN: none of them was counted
  const Summary s = summarize(counts);
  return s.count == 0 ? kNever : s.median;
}

struct Player {
  Contestant who;
  Remote remote;
  Remote second;  // another team of the same subject, which runs at the same time
  Order order;
  double batch_ns = 0;  // time of its last batch, with warm-up
  double batch_episodes = 1;
  double used_ns = 0;  // time of all its rounds
  std::vector<double> rounds, references;
  std::vector<double> cpu_ns, switches;                   // of each round that it ran in
  std::array<std::vector<double>, kCounterCount> counts;  // likewise
  double joules = 0, joules_episodes = 0;  // of all its turns with a known energy, warm-up included
  double reference_ns = 0;                 // in the last batch
  std::string error;
};

class Group {
 public:
  Group(const Options& options, Outcome& outcome, std::string title, double done, double share,
        const Quota* quota)
      : options_(options),
        outcome_(outcome),
        title_(std::move(title)),
        done_(done),
        share_(share),
        random_(options.seed),
        energy_(options.energy_root),
        by_time_(options.window_s > 0 || options.load.any()) {
    if (quota != nullptr) {
      procs_ = quota->procs();
      pulses_.push_back(quota->pulse());
    }
    outcome.energy = energy_.source();
    if (options.counters) outcome.counters = counter_source();
    if (options.load.take_ms > 0) pulses_.push_back(taking_cpus(options.load.take_ms));
  }

  void run(std::vector<Contestant> list) {
    rate_ = delay_rate();
    const double per_round_ns = options_.seconds * 1e9 / 40;
    target_ns_ =
        std::clamp(per_round_ns / static_cast<double>(std::max<std::size_t>(list.size(), 1)), 2e6, 20e6);
    if (by_time_) target_ns_ = options_.window_s > 0 ? options_.window_s * 1e9 : kWindowNs;
    for (std::size_t i = 0; i < list.size(); ++i) {
      report(0.3 * static_cast<double>(i) / static_cast<double>(list.size()), "starting " + list[i].name);
      enlist(std::move(list[i]));
    }
    play();
    finish();
  }

 private:
  void report(double part, const std::string& what) const {
    if (options_.progress) options_.progress(done_ + share_ * part, title_ + ": " + what);
  }

  void size_batch(Player& p, double ns_per_episode) const {
    const double most = p.who.quantity == Quantity::kLatency ? static_cast<double>(kMaxStamps - 1) : 2e7;
    const double fit = std::clamp(target_ns_ / std::max(ns_per_episode, 1.0), 1.0, most);
    p.order.episodes = static_cast<std::uint64_t>(fit);
    p.order.warm = std::clamp<std::uint64_t>(p.order.episodes / 16, 1, 2000);
    // A check costs about two line moves. A batch that has become slow can end only at a check.
    p.order.check_every =
        std::clamp<std::uint64_t>(p.order.episodes / 8, 1, ns_per_episode < 1000 ? 256 : 16);
    p.order.limit_ns = static_cast<std::uint64_t>(5 * target_ns_);
    if (!by_time_) return;
    p.order.limit_ns = static_cast<std::uint64_t>(target_ns_);
    p.order.warm = 1;
    // A subject without such a limit (Order::limit_ns) has the number of episodes that fit.
    const Case& c = p.who.what;
    if (!c.rotating && !root_gets(c.collective) && p.who.quantity != Quantity::kLatency)
      p.order.episodes = std::uint64_t{1} << 40;
  }

  double take_turn(Player& p) {
    p.order.seed = random_();
    if (p.second.alive()) {
      Order order = p.order;
      order.limit_ns *= 1000;
      p.error = p.second.keep_busy(order);
      if (!p.error.empty()) p.error = "its second team: " + p.error;
      if (!p.error.empty()) return kNever;
    }
    energy_.spent();
    const Remote::Outcome outcome = p.remote.turn(p.order, options_.limit_s, pulses_);
    const std::optional<double> joules = energy_.spent();
    p.second.stop();
    p.error = outcome.error;
    if (p.error.empty()) {
      p.cpu_ns.push_back(outcome.reply.cpu_ns);
      p.switches.push_back(outcome.reply.switches);
      for (std::size_t i = 0; i < kCounterCount; ++i) p.counts[i].push_back(outcome.reply.counts[i]);
    }
    if (p.error.empty() && joules) {
      p.joules += *joules;
      p.joules_episodes += static_cast<double>(outcome.reply.episodes);
    }
    p.batch_ns = outcome.reply.elapsed_ns;
    p.reference_ns = outcome.reply.reference_ns;
    p.batch_episodes = static_cast<double>(std::max<std::uint64_t>(outcome.reply.episodes, 1));
    return outcome.reply.value_ns;
  }

  // Time per episode with the quantity's own additions; it decides the size of batches.
  static double cost(const Player& p) { return p.batch_ns / p.batch_episodes; }

  void calibrate(Player& p) {
    p.order = Order{};
    p.order.quantity = p.who.quantity;
    const bool computes = p.who.quantity == Quantity::kSkewed || p.who.quantity == Quantity::kOverlap;
    p.order.delay_rounds = static_cast<std::uint64_t>((computes ? kChunkNs : kDelayNs) * rate_);
    p.order.chunks = computes ? kChunks : 1;
    p.order.skew_ns = computes ? kApartNs : static_cast<std::uint64_t>(options_.skew_ns * rate_);
    p.order.shape = options_.shape;
    p.order.counters = options_.counters;
    take_turn(p);
    if (p.error.empty() && cost(p) > kTooSlowNs) take_turn(p);  // the first turn only wakes the members
    if (!p.error.empty()) return;
    if (cost(p) > kTooSlowNs) {
      p.error = format("left out: %.0f ms an episode", cost(p) / 1e6);
      return;
    }
    // One member after the other comes late; every episode is checked.
    const Order timed = p.order;
    const double timed_ns = p.batch_ns, timed_episodes = p.batch_episodes, each = cost(p) + 50e3;
    p.order.quantity = Quantity::kStagger;
    p.order.warm = 0;
    p.order.skew_ns = 50000;
    const double members = p.who.what.members;
    p.order.episodes = static_cast<std::uint64_t>(
        std::clamp(3e8 / each, std::max(4.0, members), std::max(16.0, 2 * members)));
    take_turn(p);
    p.order = timed;
    p.batch_ns = timed_ns;
    p.batch_episodes = timed_episodes;
    for (int step = 0; step < 6 && p.error.empty(); ++step) {
      const double known = cost(p);
      const std::uint64_t before = p.order.episodes;
      size_batch(p, known);
      p.order.episodes = std::min(p.order.episodes, before * 64);
      if ((by_time_ || p.order.episodes <= before) && p.batch_ns >= target_ns_ / 2) break;
      take_turn(p);
    }
  }

  void enlist(Contestant who) {
    auto p = std::make_unique<Player>();
    p->who = std::move(who);
    p->error = p->who.unavailable;
    p->who.launch.procs = procs_;
    if (p->error.empty()) p->error = p->remote.start(p->who.launch, p->who.what);
    if (p->error.empty()) {
      describe(*p);
      calibrate(*p);
    }
    if (p->error.empty() && options_.load.beside > 0 && p->who.role != Role::kProbe) {
      Case second = p->who.what;
      second.members = options_.load.beside;
      if (second.members > static_cast<int>(second.cpus.size())) second.cpus.clear();
      const std::string error = p->second.start(p->who.launch, second);
      if (!error.empty()) p->error = "its second team: " + error;
    }
    p->cpu_ns.clear();
    p->switches.clear();
    p->counts.fill({});
    p->joules = p->joules_episodes = 0;
    leave_out_failed(*p);
    if (p->error.empty()) players_.push_back(std::move(p));
  }

  // Names the planner's choice; records versions and the plan's text.
  void describe(Player& p) {
    Contestant& who = p.who;
    if (who.role != Role::kOwn) {
      if (!p.remote.version.empty()) outcome_.versions[who.name] = p.remote.version;
      return;
    }
    outcome_.versions["fermata"] = p.remote.version;
    const PlanFacts facts = facts_of(p.remote.description);
    if (facts.stages > 0) who.stages = facts.stages;
    if (p.remote.description.empty()) return;
    if (who.name == "planned") {
      who.variant = facts.algorithm + "/" + facts.layout;
      const Case& c = who.what;
      outcome_.plans["n=" + std::to_string(c.members) + " " + name_of(c.engine) + " " +
                     std::to_string(c.bytes) + " bytes"] = p.remote.description;
    } else if (who.name.find('/') == std::string::npos && !facts.layout.empty()) {
      who.name += "/" + facts.layout;
    }
  }

  void leave_out_failed(Player& p) {
    if (p.error.empty()) return;
    p.remote.end();
    p.second.end();
    outcome_.left_out.push_back({p.who.name, p.who.variant, p.error, p.who.what, p.who.quantity});
  }

  void play() {
    const std::uint64_t begin = now_ns();
    const double budget = options_.seconds * 1e9;
    const auto spent = [&] { return static_cast<double>(now_ns() - begin); };
    std::size_t round = 0;
    for (; (spent() < budget || round < kMinRounds) && spent() < 4 * budget; ++round) {
      std::shuffle(players_.begin(), players_.end(), random_);
      for (const auto& p : players_) {
        p->rounds.resize(round, kNever);
        p->references.resize(round, kNever);
        if (!p->error.empty() || sits_out(*p, spent())) continue;
        report(0.3 + 0.7 * std::min(spent() / budget, 1.0), "round " + std::to_string(round + 1));
        const double value = take_turn(*p);
        leave_out_failed(*p);
        if (!p->error.empty()) continue;
        p->rounds.push_back(value);
        p->references.push_back(p->reference_ns);
        p->used_ns += p->batch_ns;
        if (by_time_ || p->batch_ns > 3 * target_ns_ || p->batch_ns < target_ns_ / 3)
          size_batch(*p, cost(*p));
      }
    }
    for (const auto& p : players_) {
      p->rounds.resize(round, kNever);
      p->references.resize(round, kNever);
    }
  }

  // A subject that has used twice its share of the time sits out, so that slow subjects don't take the rounds
  // of the others.
  bool sits_out(const Player& p, double elapsed_ns) const {
    return p.used_ns > 0 &&
           p.used_ns + p.batch_ns > 2 * (elapsed_ns + p.batch_ns) / static_cast<double>(players_.size()) &&
           p.batch_ns > 3 * target_ns_;
  }

  void finish() {
    std::vector<Row> rows;
    for (const auto& p : players_) {
      if (!p->error.empty()) continue;
      const Contestant& c = p->who;
      Row& row = rows.emplace_back();
      row.subject = c.name;
      row.variant = c.variant;
      row.role = c.role;
      row.what = c.what;
      row.quantity = c.quantity;
      row.rounds = p->rounds;
      if (has_reference(c.quantity)) row.references = p->references;
      row.summary = summarize(p->rounds);
      row.cpu_ns = summarize(p->cpu_ns).median;
      row.switches = summarize(p->switches).median;
      for (std::size_t i = 0; i < kCounterCount; ++i) row.counts[i] = median_count(p->counts[i]);
      if (p->joules_episodes > 0) row.joules = p->joules / p->joules_episodes;
      row.stages = c.stages;
    }
    settle(rows);
    outcome_.rows.insert(outcome_.rows.end(), rows.begin(), rows.end());
  }

  const Options& options_;
  Outcome& outcome_;
  const std::string title_;
  const double done_, share_;
  std::mt19937_64 random_;
  Energy energy_;
  const bool by_time_;  // a batch ends after a time, not after a number of episodes
  std::string procs_;
  std::vector<Pulse> pulses_;
  double rate_ = 1, target_ns_ = 5e6;
  std::vector<std::unique_ptr<Player>> players_;
};

}  // namespace

void run_group(const Options& options, std::vector<Contestant> list, const std::string& title, double done,
               double share, Outcome& outcome, const Quota* quota) {
  Group(options, outcome, title, done, share, quota).run(std::move(list));
}

Outcome run(const Options& options) {
  Outcome outcome;
  std::vector<int> payloads = options.bytes;
  if (payloads.empty()) payloads = {options.collective == Collective::kBarrier ? 0 : 8};
  const Quota quota(options.load.quota);
  outcome.quota = quota.means();
  const Burners burners(options.load);
  const double groups =
      static_cast<double>(options.members.size() * payloads.size() * options.quantities.size());
  double done = 0;
  for (const int members : options.members) {
    for (const int bytes : payloads) {
      for (const Quantity quantity : options.quantities) {
        std::string title = "n=" + std::to_string(members);
        if (bytes != 0) title += " " + std::to_string(bytes) + " bytes";
        if (quantity != Quantity::kPeriod) title += std::string(" ") + name_of(quantity);
        run_group(options, contestants(options, members, bytes, quantity), title, done / groups, 1 / groups,
                  outcome, &quota);
        ++done;
      }
    }
  }
  return outcome;
}

}  // namespace fermata::bench
