#include "profile/job.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "os/os.hpp"
#include "profile/pairs.hpp"
#include "profile/statistics.hpp"
#include "profile/utc.hpp"

namespace fermata {
namespace {

constexpr std::size_t kCosts = 3;  // of each pair: O, L, G
// Repeats of each point, as in section IV.A of heterogeneous-mpi-barriers. The result is the median instead
// of the mean, since machines are shared.
constexpr int kRepeats = 25;
constexpr int kLeastRepeats = 3;
constexpr int kMostLog2Bytes = 20, kLeastLog2Bytes = 6;
constexpr std::size_t kLongBytes = 256 * 1024;
constexpr int kLong = 5;
// Do pairs of hosts share a network? Each pair sends a long message kTogether times, alone and with all pairs
// at once. If messages at once take more than kShared times as long, the pairs share a network. A smaller
// increase is noise.
constexpr int kTogether = 9;
constexpr double kShared = 1.25;
constexpr int kSignals[] = {1, 2, 4, 8, 16, 32};
// One repeat of all points of a pair takes about as long as this many short messages. One point is a long
// message, another is 32 messages at once.
constexpr double kMessagesOfARepeat = 40;
// Shares of the time budget. kLinksShare covers memory and links together. The network gets the rest.
constexpr double kMemoryShare = 0.3, kLinksShare = 0.9;

// Where a process is. Each process sends its place to all others.
struct Place {
  Cpu cpu;                         // of a pinned process
  std::array<char, 40> machine{};  // equal for all hosts that share a machine
};

struct PairOfProcesses {
  std::int32_t a = 0, b = 0;
};

std::array<char, 40> machine_id() {
  std::array<char, 40> id{};
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  text.copy(id.data(), id.size() - 1);
  return id;
}

class JobMeasurement {
 public:
  JobMeasurement(const Job& job, const Topology& here, const JobOptions& options)
      : job_(job), here_(here), options_(options), n_(job.processes()), o_(n_), l_(n_), g_(n_) {}

  Result<Profile> run(const MeasureHost& measure_host) {
    Place mine;
    mine.machine = machine_id();
    if (const Cpu* cpu = here_.find(job_.pinned[at(job_.rank)])) mine.cpu = *cpu;
    places_.resize(at(n_));
    if (!job_.gather(&mine, sizeof mine, places_.data())) return lost();
    if (auto error = measure_hosts(measure_host)) return *error;
    if (auto error = measure_links()) return *error;
    if (auto error = measure_network()) return *error;
    return assembled();
  }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  static Error lost() { return {Status::kSystem, "the job's processes could not be reached"}; }
  std::int32_t host(std::int32_t process) const { return job_.hosts[at(process)]; }
  std::int32_t hosts() const { return static_cast<std::int32_t>(job_.names.size()); }
  std::int32_t leader(std::int32_t h) const {
    return static_cast<std::int32_t>(std::find(job_.hosts.begin(), job_.hosts.end(), h) - job_.hosts.begin());
  }
  void report(double done, const std::string& what) const {
    if (options_.progress) options_.progress(done, what);
  }

  // Returns the index of host h among the hosts that share its machine. Raises `most` to the largest number
  // of hosts that share one machine.
  std::int32_t turn_of(std::int32_t h, std::int32_t& most) const {
    std::map<std::array<char, 40>, std::int32_t> count;
    std::int32_t mine = 0;
    for (std::int32_t g = 0; g < hosts(); ++g) {
      std::int32_t& n = count[places_[at(leader(g))].machine];
      if (g == h) mine = n;
      most = std::max(most, ++n);
    }
    return mine;
  }

  // The CPUs to which the processes of host h are pinned. If one of them is not pinned: all CPUs that this
  // process may use.
  Topology machine_of(std::int32_t h) const {
    Topology t = here_;
    std::vector<Cpu> pinned;
    for (std::int32_t p = 0; p < n_; ++p) {
      if (host(p) != h) continue;
      if (job_.pinned[at(p)] < 0) return t;
      if (std::find(pinned.begin(), pinned.end(), places_[at(p)].cpu) == pinned.end())
        pinned.push_back(places_[at(p)].cpu);
    }
    t.cpus = std::move(pinned);
    return t;
  }

  std::optional<Error> measure_hosts(const MeasureHost& measure) {
    std::int32_t turns = 1;
    const std::int32_t h = host(job_.rank), mine = turn_of(h, turns);
    Result<Profile> found = Error{Status::kSystem, ""};
    for (std::int32_t turn = 0; turn < turns; ++turn) {
      report(0.3 * turn / turns, "memory");
      // With options_.sample, the result of the machine's first host counts for this host, too.
      const bool taken = options_.sample && mine > 0;
      if (turn == mine && leader(h) == job_.rank && !taken) {
        ProfileOptions how;
        how.processes = true;
        how.sample = options_.sample;
        how.seconds_per_pair = options_.seconds_per_pair;
        const Topology machine = machine_of(h);
        if (options_.seconds > 0) {
          how.seconds = options_.seconds * kMemoryShare / turns;
          how.seconds_per_pair = share_of_pair(how.seconds, options_.sample ? 4 : machine.cpus.size());
        }
        found = measure(machine, how);
      }
      job_.rest();
    }
    return exchange(found);
  }

  // Gives every process the memory profile of every host.
  std::optional<Error> exchange(const Result<Profile>& found) {
    const std::string text = found ? to_json(*found) : std::string();
    std::vector<std::int64_t> lengths(at(n_));
    const auto length = static_cast<std::int64_t>(text.size());
    if (!job_.gather(&length, sizeof length, lengths.data())) return lost();
    const auto most = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
    if (most == 0)
      return Error{Status::kSystem,
                   "no host could measure its memory: " + (found ? std::string() : found.error().message)};
    std::string padded = text, all(most * at(n_), ' ');
    padded.resize(most, ' ');
    if (!job_.gather(padded.data(), most, all.data())) return lost();
    std::map<std::array<char, 40>, std::size_t> known;
    for (std::int32_t g = 0; g < hosts(); ++g) {
      const std::int32_t p = leader(g);
      const auto& machine = places_[at(p)].machine;
      if (lengths[at(p)] == 0) {  // takes the result of a host of the same machine, else of the first host
        if (memory_.empty()) return Error{Status::kSystem, "the first host could not measure its memory"};
        memory_.push_back(memory_[known.contains(machine) ? known[machine] : 0]);
        continue;
      }
      auto read = profile_from_json(
          std::string_view(all).substr(at(p) * most, static_cast<std::size_t>(lengths[at(p)])));
      if (!read) return read.error();
      known.try_emplace(machine, memory_.size());
      memory_.push_back(*std::move(read));
    }
    return std::nullopt;
  }

  bool stands_for_hosts(const PairOfProcesses& pair) const {
    return leader(host(pair.a)) == pair.a && leader(host(pair.b)) == pair.b;
  }

  // All pairs of processes on different hosts. The pairs of the hosts' first processes come first. With
  // options.sample there are no other pairs.
  std::vector<PairOfProcesses> links() const {
    std::vector<PairOfProcesses> out;
    for (std::int32_t a = 0; a < n_; ++a)
      for (std::int32_t b = a + 1; b < n_; ++b)
        if (host(a) != host(b) && (!options_.sample || stands_for_hosts({a, b}))) out.push_back({a, b});
    std::stable_partition(out.begin(), out.end(),
                          [&](const PairOfProcesses& pair) { return stands_for_hosts(pair); });
    return out;
  }

  double elapsed_ns() const { return static_cast<double>(os::now_ns() - begin_ns_); }

  // Gives the value of process `teller` to all processes.
  bool tell(std::int32_t teller, double& value) const {
    std::vector<double> all(at(n_));
    if (!job_.gather(&value, sizeof value, all.data())) return false;
    value = all[at(teller)];
    return true;
  }

  // Each process measures one row: the pairs in which it is the first process, and its own O_ii. All
  // processes gather the rows.
  std::optional<Error> measure_links() {
    std::vector<double> row(kCosts * at(n_), 0);
    const std::vector<PairOfProcesses> pairs = links();
    bool ok = true;
    const bool limited = options_.seconds > 0;
    double spent = elapsed_ns();
    if (limited && !tell(0, spent)) return lost();
    double told = elapsed_ns();
    std::size_t k = 0;
    for (; k < pairs.size(); ++k) {
      const auto [a, b] = pairs[k];
      const double left = kLinksShare * options_.seconds - spent * 1e-9;
      if (limited && k > 0 && left <= 0) break;
      double took = 0;
      report(0.3 + 0.7 * static_cast<double>(k) / static_cast<double>(pairs.size()),
             job_.names[at(host(a))] + " - " + job_.names[at(host(b))]);
      if (job_.rank == a || job_.rank == b) {
        const double share =
            limited ? std::max(0.0, left) / static_cast<double>(pairs.size() - k) : options_.seconds_per_pair;
        const MessageCost cost = measure_messages(job_, a, b, share);
        ok = ok && cost.o >= 0;
        if (job_.rank == a) row[at(b)] = cost.o, row[at(n_ + b)] = cost.l, row[at(2 * n_ + b)] = cost.g;
        took = cost.spent;
      }
      job_.rest();
      took = std::max(took, elapsed_ns() - told);  // includes the wait in rest()
      if (limited && !tell(a, took)) return lost();
      told = elapsed_ns();
      spent += took;
    }
    measured_.assign(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(k));
    left_out_ = pairs.size() - k;
    left_ns_ = options_.seconds * 1e9 - spent;
    row[at(job_.rank)] = ok ? job_.time(job_.rank, job_.rank, 0, n_, kRepeats) : -1;
    std::vector<double> all(kCosts * at(n_) * at(n_));
    if (!job_.gather(row.data(), row.size() * sizeof(double), all.data())) return lost();
    for (std::int32_t a = 0; a < n_; ++a)
      for (std::int32_t b = a; b < n_; ++b) {
        const double* const costs = &all[kCosts * at(a) * at(n_) + at(b)];
        const double o = costs[0], l = costs[at(n_)], g = costs[2 * at(n_)];
        if (o < 0) return Error{Status::kSystem, "messages between the hosts could not be timed"};
        o_.at(a, b) = o_.at(b, a) = rounded(o);
        l_.at(a, b) = l_.at(b, a) = rounded(l);
        g_.at(a, b) = g_.at(b, a) = g;
      }
    replicate_links();
    report(1, "done");
    return std::nullopt;
  }

  double median_of(const Matrix& m) const {
    std::vector<double> values;
    for (const auto& [a, b] : measured_) values.push_back(m.at(a, b));
    return median(std::move(values));
  }

  double long_message_ns() const { return median_of(o_) + median_of(g_) * static_cast<double>(kLongBytes); }

  // Section IV.B of heterogeneous-mpi-barriers. A pair that was not measured gets the costs of its hosts'
  // first processes. If they were not measured either, it gets the medians of all links.
  void replicate_links() {
    if (measured_.empty()) return;
    std::vector<bool> known(at(n_) * at(n_));
    const auto is_known = [&](std::int32_t a, std::int32_t b) {
      return known[at(std::min(a, b)) * at(n_) + at(std::max(a, b))];
    };
    for (const auto& [a, b] : measured_) known[at(a) * at(n_) + at(b)] = true;
    for (Matrix* m : {&o_, &l_, &g_}) {
      const double usual = median_of(*m);
      for (std::int32_t a = 0; a < n_; ++a)
        for (std::int32_t b = a + 1; b < n_; ++b) {
          if (host(a) == host(b) || is_known(a, b)) continue;
          const std::int32_t x = leader(host(a)), y = leader(host(b));
          m->at(a, b) = m->at(b, a) = is_known(x, y) ? m->at(x, y) : usual;
        }
    }
  }

  // Times disjoint pairs of hosts: each pair alone, then all pairs at once.
  std::optional<Error> measure_network() {
    const std::int32_t pairs = hosts() / 2;
    if (pairs < 2) return std::nullopt;
    if (options_.seconds > 0 && (pairs + 1) * 2 * (kTogether + 1) * long_message_ns() > left_ns_) {
      network_left_out_ = true;
      return std::nullopt;
    }
    double took[2] = {0, 0};  // if this process is a pair's first: the time beyond O, alone and at once
    bool ok = true;
    const auto time = [&](std::int32_t k, double& ns) {
      const std::int32_t x = leader(2 * k), y = leader(2 * k + 1), a = std::min(x, y), b = std::max(x, y);
      if (job_.rank != a && job_.rank != b) return;
      const double measured = job_.time(a, b, kLongBytes, 0, kTogether);
      ok = ok && measured >= 0;
      if (job_.rank == a) ns = std::max(1.0, measured - o_.at(a, b));
    };
    for (std::int32_t k = 0; k < pairs; ++k) {
      time(k, took[0]);
      job_.rest();
    }
    for (std::int32_t k = 0; k < pairs; ++k) time(k, took[1]);
    job_.rest();
    if (!ok) took[0] = -1;
    std::vector<double> all(2 * at(n_)), longer, ns;
    if (!job_.gather(took, sizeof took, all.data())) return lost();
    for (std::size_t p = 0; p < all.size(); p += 2) {
      if (all[p] < 0) return Error{Status::kSystem, "messages between the hosts could not be timed"};
      if (all[p] > 0) longer.push_back(all[p + 1] / all[p]), ns.push_back(all[p + 1]);
    }
    if (median(std::move(longer)) > kShared)
      network_byte_ns_ = median(std::move(ns)) / (static_cast<double>(kLongBytes) * pairs);
    return std::nullopt;
  }

  // Costs between two processes of one host. If both are pinned: the costs between their CPUs. Else: the
  // medians over all pairs of the host's CPUs.
  void fill_memory(const Profile& p, std::int32_t a, std::int32_t b) {
    const auto row = [&](std::int32_t process) {
      const auto& cpus = p.topology.cpus;
      const auto found = std::find_if(cpus.begin(), cpus.end(),
                                      [&](const Cpu& c) { return c.os_index == job_.pinned[at(process)]; });
      return found == cpus.end() ? -1 : static_cast<std::int32_t>(found - cpus.begin());
    };
    const std::int32_t i = row(a), j = row(b);
    double o = 0, l = 0, g = 0;
    if (i >= 0 && j >= 0) {
      o = p.o.at(i, j) + (i == j ? std::max(p.yield_ns, 1.0) : 0);
      l = p.l.at(i, j);
      g = p.g.n > 0 ? p.g.at(i, j) : 0;
    } else {
      std::vector<double> all_o, all_l, all_g;
      for (std::int32_t x = 0; x < p.o.n; ++x)
        for (std::int32_t y = x + 1; y < p.o.n; ++y) {
          all_o.push_back(p.o.at(x, y));
          all_l.push_back(p.l.at(x, y));
          all_g.push_back(p.g.n > 0 ? p.g.at(x, y) : 0);
        }
      g = p.o.n > 1 ? median(std::move(all_g)) : 0;
      o = p.o.n > 1 ? median(std::move(all_o)) : p.o.at(0, 0) + p.yield_ns;
      l = p.o.n > 1 ? median(std::move(all_l)) : p.l.at(0, 0);
    }
    o_.at(a, b) = o_.at(b, a) = rounded(o);
    l_.at(a, b) = l_.at(b, a) = rounded(l);
    g_.at(a, b) = g_.at(b, a) = g;
  }

  Topology topology() const {
    Topology t;
    t.source = "processes of an MPI job";
    t.model = "job";
    for (const std::string& name : job_.names) t.model += " " + name;
    t.line_bytes = memory_.front().topology.line_bytes;
    t.cpus_total = n_;
    // A host's domain ids are unique within the host. Here each domain gets an id that is unique in the job,
    // in order of first appearance.
    std::array<std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t>, 5> ids;
    for (std::int32_t p = 0; p < n_; ++p) {
      const bool pinned = job_.pinned[at(p)] >= 0;
      const Cpu& c = places_[at(p)].cpu;
      const auto id = [&](std::size_t kind, std::int32_t own) {
        const std::pair key(host(p), own);
        return ids[kind].try_emplace(key, static_cast<std::int32_t>(ids[kind].size())).first->second;
      };
      Cpu out;
      out.os_index = p;
      out.host = host(p);
      out.core = id(0, pinned ? c.core : -1 - p);
      out.l2 = id(1, pinned ? c.l2 : -1 - p);
      out.l3 = id(2, pinned ? c.l3 : -1);
      out.numa = id(3, pinned ? c.numa : -1);
      out.package = id(4, pinned ? c.package : -1);
      t.cpus.push_back(out);
    }
    return t;
  }

  Profile assembled() {
    Profile p = memory_.front();  // for the costs that do not depend on a pair
    for (std::int32_t a = 0; a < n_; ++a)
      for (std::int32_t b = a + 1; b < n_; ++b)
        if (host(a) == host(b)) fill_memory(memory_[at(host(a))], a, b);
    p.machine = std::to_string(hosts()) + (hosts() == 1 ? " host: " : " hosts: ") + memory_.front().machine;
    p.topology = topology();
    p.fingerprint = fingerprint(p.topology);
    p.date = utc_now();
    p.hosts = job_.names;
    p.pinned = job_.pinned;
    p.o = o_;
    p.l = l_;
    for (std::int32_t a = 0; a < n_; ++a) g_.at(a, a) = p.g.n > 0 ? p.g.at(0, 0) : 0;
    p.g = g_;
    p.g_direct = Matrix(0);
    p.domains.clear();
    if (network_byte_ns_ > 0) p.domains.push_back({Level::kNetwork, n_, network_byte_ns_});
    p.blocks.clear();
    p.remarks.clear();
    if (options_.sample)
      p.remarks.push_back("sampled: one pair of processes stands for all between its two hosts");
    if (left_out_ > 0)
      p.remarks.push_back("there was time for " + std::to_string(measured_.size()) + " of " +
                          std::to_string(measured_.size() + left_out_) +
                          " pairs of processes: the other pairs get the costs of measured pairs");
    if (network_left_out_)
      p.remarks.push_back("there was no time to find out whether the hosts share a network");
    return p;
  }

  const Job& job_;
  const Topology& here_;
  const JobOptions& options_;
  const std::int32_t n_;
  std::vector<Place> places_;
  std::vector<Profile> memory_;  // one per host
  Matrix o_, l_, g_;
  double network_byte_ns_ = 0;
  const std::int64_t begin_ns_ = os::now_ns();
  std::vector<PairOfProcesses> measured_;  // the measured links
  std::size_t left_out_ = 0;               // links for which there was no time
  double left_ns_ = 0;                     // what is left of the time budget; equal in all processes
  bool network_left_out_ = false;
};

}  // namespace

MessageCost measure_messages(const Job& job, std::int32_t a, std::int32_t b, double seconds) {
  constexpr MessageCost kFailed{.o = -1};
  std::vector<double> x, y;
  double spent = 0;
  // Times one point: `repeats` repeats and one to warm up. Both processes get the same time, so both make the
  // same decisions.
  const auto time = [&](std::size_t bytes, int signals, int repeats) {
    const double ns = job.time(a, b, bytes, signals, repeats);
    spent += (signals > 0 ? 1 : 2) * (repeats + 1) * ns;
    return ns;
  };
  const double one = time(1, 0, kLeastRepeats);
  if (one < 0) return kFailed;
  const int repeats = static_cast<int>(
      std::clamp<double>(seconds * 1e9 / (kMessagesOfARepeat * one), kLeastRepeats, kRepeats));
  for (int k = 0; k <= kMostLog2Bytes && (k <= kLeastLog2Bytes || spent < seconds * 1e9); ++k) {
    const double ns = time(std::size_t{1} << k, 0, repeats);
    if (ns < 0) return kFailed;
    x.push_back(static_cast<double>(std::size_t{1} << k));
    y.push_back(ns);
  }
  const double o = fit_line(x, y).intercept;
  // G needs a long message: the slope over short messages would be noise.
  const double longer = time(kLongBytes, 0, std::min(kLong, repeats));
  if (longer < 0) return kFailed;
  const auto long_bytes = static_cast<double>(kLongBytes);
  const double g = unit_cost((longer - o) / long_bytes, long_bytes, longer);
  x.clear();
  y.clear();
  for (const int signals : kSignals) {
    const double ns = time(0, signals, repeats);
    if (ns < 0) return kFailed;
    x.push_back(signals);
    y.push_back(ns);
  }
  return {o, fit_line(x, y).slope, g, spent};
}

Result<Profile> measure_job(const Job& job, const Topology& here, const JobOptions& options,
                            const MeasureHost& measure_host) {
  return JobMeasurement(job, here, options).run(measure_host);
}

}  // namespace fermata
