// Measures a whole profile: chooses the measurements, their order, and their shares of the time.
#include "profile/measure.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/text.hpp"
#include "os/os.hpp"
#include "profile/pairs.hpp"
#include "profile/rounds.hpp"
#include "profile/statistics.hpp"
#include "profile/utc.hpp"

namespace fermata {

namespace {

constexpr std::size_t kMaxAdders = 128;

class Measurement {
 public:
  Measurement(const Topology& topology, const ProfileOptions& options, int round)
      : options_(options), round_(round) {
    p_.machine = topology.model;
    p_.fingerprint = fingerprint(topology);
    p_.origin = "measured";
    p_.engine = options.processes ? "processes" : "threads";
    p_.date = utc_now();
    p_.topology = topology;
  }

  // The planned number of rounds. Valid after run().
  int rounds() const { return plan_.rounds; }

  Result<Profile> run() {
    if (Error e = select_cpus(); !e.message.empty()) return e;
    plan_ = measuring_plan(p_.topology, options_);
    done_ = plan_.total / plan_.rounds * round_;
    if (!measure_selves() || !measure_pairs())
      return Error{Status::kSystem,
                   "the measurement on CPUs " + failed_ +
                       " did not finish: threads cannot be pinned there, or other programs use these CPUs"};
    if (rows() > 1) {
      measure_groups();
      measure_nearest();
      measure_pair_bytes();
      measure_domains();
      measure_memory();
    }
    measure_work();
    measure_copies();
    measure_scheduler();
    return std::move(p_);
  }

 private:
  std::int32_t rows() const { return static_cast<std::int32_t>(p_.topology.cpus.size()); }
  const Cpu& cpu(std::int32_t row) const { return p_.topology.cpus[static_cast<std::size_t>(row)]; }
  std::int32_t os(std::int32_t row) const { return cpu(row).os_index; }
  std::string names(const RowPair& pair) const {
    return std::to_string(os(pair.a)) + "," + std::to_string(os(pair.b));
  }

  Error select_cpus() {
    if (options_.cpus.empty()) return {};
    std::vector<Cpu> chosen;
    for (const std::int32_t index : options_.cpus) {
      const Cpu* found = p_.topology.find(index);
      if (found == nullptr)
        return {Status::kArgument,
                "CPU " + std::to_string(index) + " is not among those this process may use"};
      if (std::find(chosen.begin(), chosen.end(), *found) == chosen.end()) chosen.push_back(*found);
    }
    p_.topology.cpus = std::move(chosen);
    return {};
  }

  void report(double done, const std::string& what) {
    done_ = done;
    if (options_.progress) options_.progress(std::min(1.0, plan_.total > 0 ? done / plan_.total : 1.0), what);
  }
  void advance(double seconds, const std::string& what) { report(done_ + seconds, what); }

  bool measure_selves() {
    p_.o = Matrix(rows());
    p_.l = Matrix(rows());
    for (std::int32_t i = 0; i < rows(); ++i) {
      const auto cost = measure_self(os(i), plan_.self);
      if (!cost) {
        failed_ = std::to_string(os(i));
        return false;
      }
      p_.o.at(i, i) = rounded(cost->o);
      p_.l.at(i, i) = rounded(cost->l);
      advance(plan_.self, "CPU " + std::to_string(os(i)) + " alone");
    }
    return true;
  }

  bool measure_pairs() {
    for (const RowPair& pair : plan_.pairs) {
      const auto cost = measure_pair(os(pair.a), os(pair.b), options_.processes, plan_.each);
      if (!cost) {
        failed_ = names(pair);
        return false;
      }
      set(pair, *cost);
      if (p_.one_way_ns == 0 || cost->one_way < p_.one_way_ns) {
        p_.one_way_ns = rounded(cost->one_way);
        nearest_ = pair;
      }
      advance(plan_.each, "CPUs " + names(pair));
    }
    if (options_.sample) {
      replicate(p_);
      p_.remarks.push_back(
          "sampled: at most three pairs of each level were measured, their medians stand for the others");
    }
    return true;
  }

  void set(const RowPair& pair, const PairCost& cost) {
    p_.o.at(pair.a, pair.b) = p_.o.at(pair.b, pair.a) = rounded(cost.o);
    p_.l.at(pair.a, pair.b) = p_.l.at(pair.b, pair.a) = rounded(cost.l);
  }

  // A cost is half a round trip, and counts for both directions, as for O and L.
  void measure_pair_bytes() {
    p_.g = p_.g_direct = Matrix(rows());
    std::vector<double> once;
    bool direct = false;
    for (const RowPair& pair : plan_.byte_pairs) {
      const double one_way = p_.o.at(pair.a, pair.b) + p_.l.at(pair.a, pair.b);
      const auto cost = measure_bytes(os(pair.a), os(pair.b), options_.processes, one_way, plan_.byte_each);
      advance(plan_.byte_each, "bytes, CPUs " + names(pair));
      if (!cost) continue;
      set_bytes(pair, *cost);
      direct = direct || cost->direct > 0;
      if (cost->direct > 0) once.push_back(cost->direct_once);
    }
    replicate_bytes(p_);
    if (!direct) {
      p_.g_direct = Matrix(0);
      if (options_.processes)
        p_.remarks.push_back(
            "processes cannot read each other's memory directly here (process_vm_readv is refused)");
    }
    p_.direct_ns = rounded(median(std::move(once)));
  }

  void set_bytes(const RowPair& pair, const ByteCost& cost) {
    p_.g.at(pair.a, pair.b) = p_.g.at(pair.b, pair.a) = rounded_byte(cost.slot);
    p_.g_direct.at(pair.a, pair.b) = p_.g_direct.at(pair.b, pair.a) = rounded_byte(cost.direct);
  }

  // For each level: all CPUs that share it with the first CPU of its representative, one member per CPU.
  void measure_domains() {
    std::size_t before = 1;
    for (const RowPair& pair : plan_.representatives) {
      const Level level = common_level(cpu(pair.a), cpu(pair.b));
      std::vector<std::int32_t> cpus;
      for (std::int32_t i = 0; i < rows() && cpus.size() < kMaxAdders; ++i)
        if (i == pair.a || common_level(cpu(i), cpu(pair.a)) <= level) cpus.push_back(os(i));
      const bool larger = cpus.size() > before;  // else the inner level has the same CPUs
      const double ns = larger ? measure_domain_bytes(cpus, options_.processes, plan_.extra) : 0;
      advance(plan_.extra, std::string("bytes, all of one ") + name_of(level));
      if (ns > 0) p_.domains.push_back({level, static_cast<std::int32_t>(cpus.size()), rounded_byte(ns)});
      before = std::max(before, cpus.size());
    }
  }

  void measure_copies() {
    if (const auto own = measure_own_bytes(os(0), plan_.extra)) {
      p_.fold_byte_ns = rounded_byte(own->fold);
      for (std::int32_t i = 0; i < p_.g.n; ++i) p_.g.at(i, i) = rounded_byte(own->copy);
    }
    advance(plan_.extra, "copies and folds");
  }

  // Returns the first CPU of each core, then the SMT siblings; at most `most`. Ignores the cgroup quota.
  std::vector<std::int32_t> team(std::size_t most) const {
    Topology all = p_.topology;
    all.quota_cpus = 0;
    std::vector<std::int32_t> order = place(all, rows(), Placement::kCore);
    order.resize(std::min(order.size(), most));
    return order;
  }

  void measure_groups() {
    const double seconds = plan_.extra;
    if (const auto many = measure_many(team(kMostTogether), options_.processes, 2 * seconds)) {
      p_.awaited_ns = rounded(many->awaited);
      p_.reader_ns = rounded(many->reader);
      if (many->estimated)
        p_.remarks.push_back(
            "awaited_ns and reader_ns are estimates: with two CPUs, further lines of one sender stand for "
            "further members");
    }
    advance(2 * seconds, "several members");
    for (const double ns : measure_word_add(team(kMaxAdders), options_.processes, seconds))
      p_.word_add_ns.push_back(rounded(ns));
    advance(seconds, "adds on a word");
  }

  void measure_nearest() {
    const double seconds = plan_.extra;
    const std::int32_t a = os(nearest_.a), b = os(nearest_.b);
    const bool processes = options_.processes;
    const double add = p_.word_add_ns.size() > 1 ? p_.word_add_ns[1] : 0;
    p_.word_read_ns = rounded(std::max(0.0, measure_word_read(a, b, processes, seconds) - add));
    advance(seconds, "reads of a word");
    p_.layouts = measure_layouts(a, b, p_.topology.line_bytes, processes, 2 * seconds);
    for (LayoutCost& layout : p_.layouts) layout.period_ns = rounded(layout.period_ns);
    advance(2 * seconds, "layouts");
    p_.blocks = measure_blocks(a, b, 3 * seconds);
    for (BlockWay& block : p_.blocks) block.ns = rounded(block.ns);
    advance(3 * seconds, "blocks between processes");
    measure_tears();
  }

  void measure_tears() {
    bool any = false;
    for (const RowPair& pair : plan_.representatives) {
      for (const std::int32_t bytes : {16, 32, 64}) {
        const auto tearing = measure_tearing(os(pair.a), os(pair.b), bytes, options_.processes, plan_.extra);
        advance(plan_.extra, "stores of " + std::to_string(bytes) + " bytes");
        if (!tearing) continue;
        any = true;
        p_.tearing.push_back(*tearing);
        p_.tearing.back().level = common_level(cpu(pair.a), cpu(pair.b));
      }
    }
    if (!any) p_.remarks.push_back("tearing of SIMD stores: not available on this architecture");
  }

  // Coherence belongs to cores, so siblings of one core tell nothing of it.
  void measure_memory() {
    const RowPair* nearest = nullptr;
    const auto signal = [&](const RowPair& pair) {
      return p_.o.at(pair.a, pair.b) + p_.l.at(pair.a, pair.b);
    };
    for (const RowPair& pair : plan_.pairs)
      if (common_level(cpu(pair.a), cpu(pair.b)) > Level::kCore &&
          (nearest == nullptr || signal(pair) < signal(*nearest)))
        nearest = &pair;
    if (nearest == nullptr) return;
    const std::int32_t line_bytes = p_.topology.line_bytes;
    const auto times =
        measure_accesses(os(nearest->a), os(nearest->b), line_bytes, options_.processes, plan_.extra);
    advance(plan_.extra, "reads of lines");
    if (!times) return;
    deduce_accesses(*times, p_.memory);
    std::vector<std::int32_t> one_of_each;
    std::set<std::int32_t> cores;
    for (const Cpu& c : p_.topology.cpus)
      if (cores.insert(c.core).second) one_of_each.push_back(c.os_index);
    if (cores.size() < 3) return;
    deduce_readers(measure_readers(one_of_each, line_bytes, options_.processes, plan_.extra),
                   times->read - times->read_own, p_.memory);
    advance(plan_.extra, "readers of a line");
  }

  // The core of the first CPU that has siblings, or the first CPU.
  void measure_work() {
    std::vector<std::int32_t> siblings;
    std::int32_t row = 0;
    for (std::int32_t i = 0; i < rows() && siblings.empty(); ++i)
      for (std::int32_t j = 0; j < rows(); ++j)
        if (common_level(cpu(i), cpu(j)) == Level::kCore) siblings.push_back(os(j)), row = i;
    std::vector<double> own = {p_.l.at(row, row)};
    for (std::size_t k = 1; k <= siblings.size(); ++k) {
      const auto cost = measure_self(os(row), plan_.self, {siblings.begin(), siblings.begin() + k});
      if (!cost) break;
      own.push_back(cost->l);
    }
    deduce_work(own, p_.memory);
  }

  void measure_scheduler() {
    const double seconds = plan_.extra;
    p_.yield_ns = rounded(measure_yield(os(nearest_.a), options_.processes, seconds));
    advance(seconds, "switch by yield");
    p_.futex_ns = rounded(
        measure_futex(os(nearest_.a), os(rows() > 1 ? nearest_.b : nearest_.a), options_.processes, seconds));
    advance(seconds, "wake through a futex");
    if (rows() == 1) p_.remarks.push_back("only one CPU: costs between CPUs could not be measured");
  }

  const ProfileOptions& options_;
  const int round_;
  Profile p_;
  MeasuringPlan plan_;
  RowPair nearest_;
  double done_ = 0;
  std::string failed_;
};

// Medians tolerate a small load of other processes, but not a large one.
void note_load(Profile& p) {
  double load = 0;
  if (getloadavg(&load, 1) != 1 || load < p.topology.cpus_total + 0.5) return;
  p.remarks.push_back(
      format("other programs ran: load average %.1f on %d CPUs; measure again when none of them runs", load,
             p.topology.cpus_total));
}

}  // namespace

Result<Profile> measure_profile(const Topology& topology, const ProfileOptions& options) {
  if (topology.source != "this machine")
    return Error{Status::kArgument, "only this machine can be measured, not " + topology.source};
  if (topology.cpus.size() > 4096)
    return Error{Status::kUnsupported, "more than 4096 CPUs: choose some with --cpus"};
  std::vector<Profile> rounds;
  // If other processes use the CPUs, a round takes longer, so fewer rounds fit into the time.
  const std::int64_t begin = os::now_ns();
  const auto has_time = [&](int done) {
    const double spent = static_cast<double>(os::now_ns() - begin) * 1e-9;
    return options.seconds <= 0 || done == 0 || spent + spent / done <= options.seconds;
  };
  for (int round = 0, most = 1; round < most && has_time(round); ++round) {
    Measurement measurement(topology, options, round);
    auto measured = measurement.run();
    if (!measured) return measured.error();
    rounds.push_back(std::move(measured.value()));
    most = measurement.rounds();
  }
  Profile p = combined(rounds);
  note_load(p);
  for (std::string& remark : contradictions(p)) p.remarks.push_back(std::move(remark));
  if (options.progress) options.progress(1, "done");
  return p;
}

}  // namespace fermata
