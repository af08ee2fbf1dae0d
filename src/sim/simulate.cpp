#include "sim/simulate.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "exec/cursor.hpp"

namespace fermata::sim {
namespace {

constexpr std::uint32_t kSpins = 0xffff'0000;  // pauses: a wait ends when its signal comes
constexpr Time kQuiet = 100'000'000'000;       // ps: after so long nothing is left of a call
constexpr std::int32_t kWarm = 4;              // calls before the latency of one is taken
constexpr std::int32_t kMeasured = 3;          // so many latencies, of which the last one counts
constexpr std::int32_t kLongestCycle = 64;  // calls: times repeat themselves after so many at most, or a lap
constexpr std::int32_t kLeastSame = 8;      // so many calls must repeat earlier ones

// The memory that a program's offsets refer to. Doors are nobody's: members never park here.
class SharedMemory {
 public:
  using Counter = sim::Counter;
  SharedMemory(std::vector<std::uint64_t>& words) : words_(words.data()) {
    static_assert(sizeof(Counter) == sizeof(std::uint64_t));
  }
  Counter& header(std::uint32_t offset) const { return *reinterpret_cast<Counter*>(words_ + offset / 8); }
  Counter& word(std::uint32_t offset) const { return header(offset); }
  Counter& credit(std::uint32_t offset) const { return header(offset); }
  std::uint64_t& payload(std::uint32_t slot, std::uint32_t i) const { return words_[slot / 8 + 1 + i]; }
  void ring(const Step&) const {}
  void carry(const Step& step, std::uint32_t offset, std::uint64_t header, std::uint32_t words,
             const std::uint64_t* payload) const {
    std::vector<Engine::Word> line;
    for (std::uint32_t i = 0; i < words; ++i) line.push_back({words_ + offset / 8 + 1 + i, payload[i]});
    line.push_back({words_ + offset / 8, header});
    Engine::now_running().send(static_cast<std::int32_t>(step.peer), std::move(line));
  }

 private:
  std::uint64_t* words_;
};

std::uint64_t sum_word(std::uint64_t left, std::uint64_t right) { return left + right; }
Status sum_line(void* to, const std::uint64_t* left, const std::uint64_t* right, std::uint32_t words) {
  for (std::uint32_t i = 0; i < words; ++i) static_cast<std::uint64_t*>(to)[i] = left[i] + right[i];
  return Status::kOk;
}

// The calls of all members, and when each is over.
class Run {
 public:
  Run(const std::vector<std::byte>& program, const PlanKey& key, const Machine& machine,
      const Options& options)
      : key_(key),
        options_(options),
        header_(program_header(program.data())),
        words_(header_.region_bytes / 8 + 64, 0),
        memory_(words_),
        engine_(machine, words_),
        most_(options.episodes) {
    for (std::int32_t m = 0; m < key.members; ++m) {
      const auto rank = static_cast<std::uint32_t>(m);
      std::vector<Step> steps(copy_steps(program.data(), header_, rank, nullptr, 0));
      copy_steps(program.data(), header_, rank, steps.data(), static_cast<std::uint32_t>(steps.size()));
      for (const Step& step : steps) lap_ = std::max(lap_, lap_of(step));
      steps_.push_back(std::move(steps));
    }
    // Enough for slots and credits to begin again.
    if (options.quantity == Quantity::kPeriod) most_ = std::max(most_, 5 * lap_ + kLeastSame + 2);
    engine_.set_deeds(options.deeds_from <= 0 ? options.deeds : nullptr);
  }

  Result<Outcome> run() {
    const bool ended = engine_.run([this](std::int32_t member) {
      if (key_.collective == Collective::kBarrier) return calls<Load::kNothing>(member);
      header_.payload <= 8 ? calls<Load::kOneWord>(member) : calls<Load::kWords>(member);
    });
    if (!wrong_.empty()) return Error{Status::kBroken, wrong_};
    if (!ended)
      return Error{Status::kBroken, "the members wait for ever in call " +
                                        std::to_string(static_cast<std::int32_t>(ends_.size()) + 1)};
    outcome_.episodes = static_cast<std::int32_t>(ends_.size());
    outcome_.events = engine_.events();
    for (const Time end : ends_) outcome_.ends_ns.push_back(to_ns(end));
    return outcome_;
  }

 private:
  template <Load L>
  void calls(std::int32_t member) {
    const std::vector<Step>& steps = steps_[static_cast<std::size_t>(member)];
    Cursor<Atomics, SharedMemory> cursor;
    std::uint64_t regs[kMaxRegisters][kPayloadWords];
    Carried carried;
    carried.words = L == Load::kWords ? kPayloadWords : L == Load::kOneWord ? 1 : 0;
    carried.folds = {sum_word, sum_line};
    for (std::uint64_t episode = 1; !over_; ++episode) {
      begin(episode);
      engine_.begin_call();
      for (std::uint32_t i = 0; i < kPayloadWords; ++i) regs[0][i] = contribution(member, episode) + i;
      cursor.template start<L>(memory_, steps.data(), episode, 0, carried.words,
                               [&](std::uint32_t i) { return regs[0][i]; });
      while (!cursor.template advance<L>(memory_, carried, regs, kSpins)) {
      }
      check<L>(member, episode, regs[0], cursor.status());
      end(member, episode);
    }
  }

  static std::uint64_t contribution(std::int32_t member, std::uint64_t episode) {
    return (static_cast<std::uint64_t>(member) + 1) * episode;
  }

  template <Load L>
  void check(std::int32_t member, std::uint64_t episode, const std::uint64_t* result, Status status) {
    const bool mine = key_.collective == Collective::kReduce && member != 0;
    bool right = status == Status::kOk;
    const auto n = static_cast<std::uint64_t>(key_.members);
    for (std::uint32_t i = 0; L != Load::kNothing && !mine && i < header_.payload / 8; ++i)
      right = right &&
              result[i] == (key_.collective == Collective::kBroadcast ? contribution(0, episode) + i
                                                                      : n * (n + 1) / 2 * episode + n * i);
    if (right) return;
    wrong_ = "member " + std::to_string(member) + " got a wrong result in call " + std::to_string(episode);
    engine_.stop();
  }

  // For latencies: all members begin at once, long after the last one has left the call before.
  void begin(std::uint64_t episode) {
    if (options_.quantity != Quantity::kLatency || episode == 1) return;
    if (++waiting_ < key_.members) return engine_.wait_for_all();
    waiting_ = 0;
    begun_ = latest_ + kQuiet;
    engine_.wake_all(begun_);
    engine_.wait_until(begun_);
  }

  // The last member of a call to leave it notes its end. Members may be several calls apart.
  void end(std::int32_t member, std::uint64_t episode) {
    const Time now = engine_.time();
    latest_ = std::max(latest_, now);
    if (open_.size() < episode - ends_.size()) open_.resize(episode - ends_.size());
    Open& open = open_[episode - 1 - ends_.size()];
    if (now >= open.last) open.last = now, open.who = member;
    ++open.members;
    ++ended_;
    while (!open_.empty() && open_.front().members == key_.members) {
      ends_.push_back(open_.front().last);
      counts_.push_back({engine_.memory().misses, engine_.memory().stores, engine_.memory().adds,
                         engine_.messages(), ended_});
      if (options_.deeds_from > 0 && static_cast<std::int32_t>(ends_.size()) == options_.deeds_from)
        engine_.set_deeds(options_.deeds);
      outcome_.last = open_.front().who;
      open_.erase(open_.begin());
      judge();
    }
  }

  // After how many calls a step's slots, or its credits, begin again.
  static std::int32_t lap_of(const Step& step) {
    switch (step.code) {
      case Code::kSend:
      case Code::kSendAway:
      case Code::kAwait: return static_cast<std::int32_t>(step.mask) + 1;
      case Code::kCreditGive:
      case Code::kCreditGiveAway: return static_cast<std::int32_t>(step.threshold);
      default: return 1;
    }
  }

  void judge() {
    const auto done = static_cast<std::int32_t>(ends_.size());
    if (options_.quantity == Quantity::kLatency) {
      if (done < kWarm + kMeasured) return;
      outcome_.ns = to_ns(ends_.back() - begun_);
      outcome_.steady = true;
      return finish(kMeasured);
    }
    for (std::int32_t cycle = lap_; cycle <= std::max(kLongestCycle, lap_); cycle *= 2) {
      if (2 * lap_ + 3 * cycle >= done || !repeats(cycle)) continue;
      outcome_.ns = to_ns(ends_.back() - ends_[static_cast<std::size_t>(done - 1 - cycle)]) / cycle;
      outcome_.steady = true;
      return finish(cycle);
    }
    if (done < most_) return;
    const std::int32_t half = std::max(1, done / 2);
    outcome_.ns =
        to_ns(ends_.back() - (half < done ? ends_[static_cast<std::size_t>(done - 1 - half)] : 0)) / half;
    finish(half);
  }
  // Each of the last calls took as long as the one a cycle before it: at least three cycles, and kLeastSame
  // calls.
  bool repeats(std::int32_t cycle) const {
    const auto n = static_cast<std::int32_t>(ends_.size());
    const std::int32_t same = std::max(2 * cycle, kLeastSame);
    if (same + cycle + 1 > n) return false;
    // Nor do members get further ahead of each other.
    const auto ended = [&](std::int32_t back) { return counts_[static_cast<std::size_t>(n - back)].ended; };
    const auto calls = static_cast<std::uint64_t>(key_.members) * static_cast<std::uint64_t>(cycle);
    if (ended(1) - ended(1 + cycle) != calls || ended(1 + cycle) - ended(1 + 2 * cycle) != calls)
      return false;
    const auto at = [&](std::int32_t back) { return ends_[static_cast<std::size_t>(n - back)]; };
    for (std::int32_t k = 1; k <= same; ++k)
      if (at(k) - at(k + cycle) != at(1) - at(1 + cycle)) return false;
    return true;
  }
  // calls: the last ones, over which accesses are counted
  void finish(std::int32_t calls) {
    const Counts now = counts_.back();
    const auto from = static_cast<std::int32_t>(counts_.size()) - 1 - calls;
    const Counts before = from >= 0 ? counts_[static_cast<std::size_t>(from)] : Counts{};
    outcome_.misses = static_cast<double>(now.misses - before.misses) / calls;
    outcome_.stores = static_cast<double>(now.stores - before.stores) / calls;
    outcome_.adds = static_cast<double>(now.adds - before.adds) / calls;
    outcome_.messages = static_cast<double>(now.messages - before.messages) / calls;
    over_ = true;
    engine_.stop();
  }

  struct Open {
    Time last = 0;
    std::int32_t who = 0;  // the last one so far
    std::int32_t members = 0;
  };
  struct Counts {
    std::uint64_t misses = 0, stores = 0, adds = 0, messages = 0;
    std::uint64_t ended = 0;  // calls that members have ended, one by one
  };
  const PlanKey& key_;
  const Options& options_;
  const ProgramHeader& header_;
  std::vector<std::uint64_t> words_;
  SharedMemory memory_;
  Engine engine_;
  std::vector<std::vector<Step>> steps_;
  std::vector<Open> open_;  // calls that some members have ended, the first after ends_
  std::vector<Time> ends_;
  std::vector<Counts> counts_;  // at each end
  std::uint64_t ended_ = 0;
  std::int32_t most_ = 0;  // calls at most
  std::int32_t lap_ = 1;   // calls after which the slots and the credits of all members begin again
  Time latest_ = 0, begun_ = 0;
  std::int32_t waiting_ = 0;
  bool over_ = false;
  std::string wrong_;
  Outcome outcome_;
};

}  // namespace

Result<Outcome> simulate(const std::vector<std::byte>& program, const PlanKey& key, const Topology& topology,
                         const Profile& profile, const Options& options) {
  ProgramHeader header;
  if (!program_is_sound(program.data(), program.size(), &header) ||
      header.members != static_cast<std::uint32_t>(key.members))
    return Error{Status::kArgument, "the program is not one of this team"};
  if (header.members > kMaxTeamMembers)
    return Error{Status::kUnsupported, "a simulated team has at most " + std::to_string(kMaxTeamMembers) +
                                           " members, not " + std::to_string(key.members)};
  if (key.cpus.size() != static_cast<std::size_t>(key.members))
    return Error{Status::kArgument, "a simulated team needs a CPU for each member"};
  for (const std::int32_t cpu : key.cpus)
    if (topology.find(cpu) == nullptr)
      return Error{Status::kArgument, "the machine has no CPU " + std::to_string(cpu)};
  if (options.episodes < kWarm + kMeasured)
    return Error{Status::kArgument, "at least " + std::to_string(kWarm + kMeasured) + " calls are needed"};
  if (std::set<std::int32_t>(key.cpus.begin(), key.cpus.end()).size() != key.cpus.size())
    return Error{Status::kUnsupported, "members that share a CPU are not simulated"};
  const Machine machine = machine_of(profile, topology, key, options.costs);
  return std::make_unique<Run>(program, key, machine, options)->run();
}

}  // namespace fermata::sim
