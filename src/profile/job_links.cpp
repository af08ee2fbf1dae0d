// Messages between the hosts of a job: the costs of each pair, and whether pairs share a network.
#include <algorithm>
#include <optional>
#include <utility>

#include "os/os.hpp"
#include "profile/job_parts.hpp"
#include "profile/statistics.hpp"

namespace fermata {
namespace {

constexpr std::size_t kCosts = 3;  // of each pair: O, L, G
constexpr int kRepeatsAlone = 25;  // of a process's own O
// Do pairs of hosts share a network? Each pair sends a long message kTogether times, alone and with all pairs
// at once. If messages at once take more than kShared times as long, the pairs share a network. A smaller
// increase is noise.
constexpr int kTogether = 9;
constexpr double kShared = 1.25;
// The share of the time budget for memory and links together. The network gets the rest.
constexpr double kLinksShare = 0.9;

std::size_t at(std::int32_t i) { return JobProcesses::at(i); }
Error not_timed() { return {Status::kSystem, "messages between the hosts could not be timed"}; }

bool stands_for_hosts(const JobProcesses& processes, const RowPair& pair) {
  return processes.leader(processes.host(pair.a)) == pair.a &&
         processes.leader(processes.host(pair.b)) == pair.b;
}

// All pairs of processes on different hosts. The pairs of the hosts' first processes come first. With
// options.sample there are no other pairs.
std::vector<RowPair> links(const JobProcesses& processes) {
  std::vector<RowPair> out;
  for (std::int32_t a = 0; a < processes.n; ++a)
    for (std::int32_t b = a + 1; b < processes.n; ++b)
      if (processes.host(a) != processes.host(b) &&
          (!processes.options.sample || stands_for_hosts(processes, {a, b})))
        out.push_back({a, b});
  std::stable_partition(out.begin(), out.end(),
                        [&](const RowPair& pair) { return stands_for_hosts(processes, pair); });
  return out;
}

// The time since the measurement began, as one process sees it, for all processes.
class TimeSpent {
 public:
  TimeSpent(const JobProcesses& processes, std::int64_t begin_ns)
      : processes_(processes), begin_ns_(begin_ns), told_(elapsed()) {}

  double spent_ns() const { return spent_; }
  // False: a process could not be reached.
  bool begin() {
    spent_ = elapsed();
    if (is_limited() && !tell(0, spent_)) return false;
    told_ = elapsed();
    return true;
  }
  // The pair of process a took so many ns, or as long as the wait for it.
  bool add(std::int32_t a, double took) {
    took = std::max(took, elapsed() - told_);
    if (is_limited() && !tell(a, took)) return false;
    told_ = elapsed();
    spent_ += took;
    return true;
  }
  bool is_limited() const { return processes_.options.seconds > 0; }

 private:
  double elapsed() const { return static_cast<double>(os::now_ns() - begin_ns_); }
  // Gives the value of process `teller` to all processes.
  bool tell(std::int32_t teller, double& value) const {
    std::vector<double> all(at(processes_.n));
    if (!processes_.job.gather(&value, sizeof value, all.data())) return false;
    value = all[at(teller)];
    return true;
  }

  const JobProcesses& processes_;
  const std::int64_t begin_ns_;
  double spent_ = 0, told_;
};

// All processes gather the rows that each has measured.
std::optional<Error> gather_rows(const JobProcesses& processes, const std::vector<double>& row,
                                 JobCosts& costs) {
  const std::size_t n = at(processes.n);
  std::vector<double> all(kCosts * n * n);
  if (!processes.job.gather(row.data(), row.size() * sizeof(double), all.data())) return job_is_lost();
  for (std::int32_t a = 0; a < processes.n; ++a)
    for (std::int32_t b = a; b < processes.n; ++b) {
      const double* const of_pair = &all[kCosts * at(a) * n + at(b)];
      if (of_pair[0] < 0) return not_timed();
      costs.set(a, b, of_pair[0], of_pair[n], of_pair[2 * n]);
    }
  return std::nullopt;
}

// Section IV.B of heterogeneous-mpi-barriers. A pair that was not measured gets the costs of its hosts'
// first processes. If they were not measured either, it gets the medians of all links.
void replicate_links(const JobProcesses& processes, const std::vector<RowPair>& measured, JobCosts& costs) {
  if (measured.empty()) return;
  const std::size_t n = at(processes.n);
  std::vector<bool> known(n * n);
  const auto is_known = [&](std::int32_t a, std::int32_t b) {
    return known[at(std::min(a, b)) * n + at(std::max(a, b))];
  };
  for (const auto& [a, b] : measured) known[at(a) * n + at(b)] = true;
  for (Matrix* m : {&costs.o, &costs.l, &costs.g}) {
    const double usual = median_of(*m, measured);
    for (std::int32_t a = 0; a < processes.n; ++a)
      for (std::int32_t b = a + 1; b < processes.n; ++b) {
        if (processes.host(a) == processes.host(b) || is_known(a, b)) continue;
        const std::int32_t x = processes.leader(processes.host(a)), y = processes.leader(processes.host(b));
        m->at(a, b) = m->at(b, a) = is_known(x, y) ? m->at(x, y) : usual;
      }
  }
}

// The times of disjoint pairs of hosts beyond O, in the pairs' first processes: first each pair alone, then
// all pairs at once. [0] < 0: a message could not be timed.
struct Together {
  double took[2] = {0, 0};
};
Together time_together(const JobProcesses& processes, const JobCosts& costs, std::int32_t pairs) {
  const Job& job = processes.job;
  Together out;
  bool ok = true;
  const auto time = [&](std::int32_t k, double& ns) {
    const std::int32_t x = processes.leader(2 * k), y = processes.leader(2 * k + 1);
    const std::int32_t a = std::min(x, y), b = std::max(x, y);
    if (job.rank != a && job.rank != b) return;
    const double measured = job.time(a, b, kLongBytes, 0, kTogether);
    ok = ok && measured >= 0;
    if (job.rank == a) ns = std::max(1.0, measured - costs.o.at(a, b));
  };
  for (std::int32_t k = 0; k < pairs; ++k) {
    time(k, out.took[0]);
    job.rest();
  }
  for (std::int32_t k = 0; k < pairs; ++k) time(k, out.took[1]);
  job.rest();
  if (!ok) out.took[0] = -1;
  return out;
}

}  // namespace

// Each process measures one row: the pairs in which it is the first process, and its own O_ii.
Result<JobLinks> measure_links(const JobProcesses& processes, std::int64_t begin_ns, JobCosts& costs) {
  const Job& job = processes.job;
  const JobOptions& options = processes.options;
  const std::size_t n = at(processes.n);
  std::vector<double> row(kCosts * n, 0);
  const std::vector<RowPair> pairs = links(processes);
  bool ok = true;
  TimeSpent clock(processes, begin_ns);
  if (!clock.begin()) return job_is_lost();
  std::size_t k = 0;
  for (; k < pairs.size(); ++k) {
    const auto [a, b] = pairs[k];
    const double left = kLinksShare * options.seconds - clock.spent_ns() * 1e-9;
    if (clock.is_limited() && k > 0 && left <= 0) break;
    double took = 0;
    processes.report(0.3 + 0.7 * static_cast<double>(k) / static_cast<double>(pairs.size()),
                     job.names[at(processes.host(a))] + " - " + job.names[at(processes.host(b))]);
    if (job.rank == a || job.rank == b) {
      const double share = clock.is_limited() ? std::max(0.0, left) / static_cast<double>(pairs.size() - k)
                                              : options.seconds_per_pair;
      const MessageCost cost = measure_messages(job, a, b, share);
      ok = ok && cost.o >= 0;
      if (job.rank == a) row[at(b)] = cost.o, row[n + at(b)] = cost.l, row[2 * n + at(b)] = cost.g;
      took = cost.spent;
    }
    job.rest();
    if (!clock.add(a, took)) return job_is_lost();
  }
  row[at(job.rank)] = ok ? job.time(job.rank, job.rank, 0, processes.n, kRepeatsAlone) : -1;
  if (auto error = gather_rows(processes, row, costs)) return *error;
  JobLinks out{{pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(k)},
               pairs.size() - k,
               options.seconds * 1e9 - clock.spent_ns()};
  replicate_links(processes, out.measured, costs);
  processes.report(1, "done");
  return out;
}

Result<JobNetwork> measure_network(const JobProcesses& processes, const JobLinks& links,
                                   const JobCosts& costs) {
  const std::int32_t pairs = processes.hosts() / 2;
  if (pairs < 2) return JobNetwork{};
  const double message_ns = median_of(costs.o, links.measured) +
                            median_of(costs.g, links.measured) * static_cast<double>(kLongBytes);
  if (processes.options.seconds > 0 && (pairs + 1) * 2 * (kTogether + 1) * message_ns > links.left_ns)
    return JobNetwork{.left_out = true};
  const Together mine = time_together(processes, costs, pairs);
  std::vector<double> all(2 * at(processes.n)), longer, ns;
  if (!processes.job.gather(mine.took, sizeof mine.took, all.data())) return job_is_lost();
  for (std::size_t p = 0; p < all.size(); p += 2) {
    if (all[p] < 0) return not_timed();
    if (all[p] > 0) longer.push_back(all[p + 1] / all[p]), ns.push_back(all[p + 1]);
  }
  JobNetwork out;
  if (median(std::move(longer)) > kShared)
    out.byte_ns = median(std::move(ns)) / (static_cast<double>(kLongBytes) * pairs);
  return out;
}

}  // namespace fermata
