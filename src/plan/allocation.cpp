// Selects the costs of a team from the profile of an MPI job on its hosts.
#include <algorithm>
#include <map>

#include "plan/hosts.hpp"
#include "profile/pairs.hpp"

namespace fermata {
namespace {

std::int32_t host_of_row(const Profile& job, std::int32_t row) {
  return job.topology.cpus[static_cast<std::size_t>(row)].host;
}

// The rows of each host that no rank has taken yet, in order.
class Rows {
 public:
  explicit Rows(const Profile& job) : job_(job) {
    for (std::int32_t row = 0; row < job.o.n; ++row) free_[host_of_row(job, row)].push_back(row);
    all_ = free_;
  }

  // Takes the row of the process that is pinned to this CPU; -1: there is none.
  std::int32_t own(std::int32_t host, std::int32_t cpu) {
    std::vector<std::int32_t>& list = free_[host];
    const auto is_its = [&](std::int32_t row) { return job_.pinned[static_cast<std::size_t>(row)] == cpu; };
    const auto at = std::find_if(list.begin(), list.end(), is_its);
    if (cpu < 0 || at == list.end()) return -1;
    const std::int32_t row = *at;
    list.erase(at);
    return row;
  }
  std::int32_t any(std::int32_t host) {
    std::vector<std::int32_t>& list = free_[host];
    if (list.empty()) list = all_[host];
    const std::int32_t row = list.front();
    list.erase(list.begin());
    return row;
  }

 private:
  const Profile& job_;
  std::map<std::int32_t, std::vector<std::int32_t>> free_, all_;
};

// Returns the job's numbers of the team's hosts; empty if the job lacks one of them.
std::vector<std::int32_t> numbers_in(const Profile& job, const std::vector<std::string>& names) {
  std::vector<std::int32_t> numbers;
  for (const std::string& name : names) {
    const auto at = std::find(job.hosts.begin(), job.hosts.end(), name);
    if (at == job.hosts.end()) return {};
    numbers.push_back(static_cast<std::int32_t>(at - job.hosts.begin()));
  }
  return numbers;
}

std::vector<std::int32_t> rows_of(const Allocation& team, const std::vector<std::int32_t>& number,
                                  const Profile& job) {
  const std::size_t n = team.hosts.size();
  std::vector<std::int32_t> row(n, -1);
  Rows rows(job);
  for (std::size_t r = 0; r < n && !team.pinned.empty(); ++r)
    row[r] = rows.own(number[static_cast<std::size_t>(team.hosts[r])], team.pinned[r]);
  for (std::size_t r = 0; r < n; ++r)
    if (row[r] < 0) row[r] = rows.any(number[static_cast<std::size_t>(team.hosts[r])]);
  return row;
}

// Returns the costs between two ranks on one host that share a row. If the job had only one process there,
// takes the pairs on its other hosts. If no host has a pair, estimates.
LinkCost beside(const Profile& job, std::int32_t host) {
  std::vector<RowPair> here, elsewhere;
  for (const RowPair& pair : all_pairs(job.o.n)) {
    const std::int32_t own = host_of_row(job, pair.a);
    if (own == host_of_row(job, pair.b)) (own == host ? here : elsewhere).push_back(pair);
  }
  if (const LinkCost known = median_of(job, here.empty() ? elsewhere : here); known.known) return known;
  const double quarter = job.one_way_ns / 4;
  return {job.one_way_ns - quarter, quarter, true};
}

}  // namespace

Result<Profile> profile_of(const Allocation& team, const Topology& topology, const Profile& job) {
  const std::vector<std::int32_t> number = numbers_in(job, team.names);
  if (number.empty()) return Error{Status::kNotFound, "the profile is from an MPI job on other hosts"};
  const std::vector<std::int32_t> row = rows_of(team, number, job);
  Profile out = job;
  out.fingerprint = fingerprint(topology);
  out.topology = topology;
  out.hosts.clear();
  out.pinned.clear();
  const auto n = static_cast<std::int32_t>(topology.cpus.size());
  out.o = Matrix(n);
  out.l = Matrix(n);
  out.g = Matrix(job.g.n > 0 ? n : 0);
  std::map<std::int32_t, LinkCost> neighbours;
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j) {
      const auto rank = [&](std::int32_t k) {
        return static_cast<std::size_t>(topology.cpus[static_cast<std::size_t>(k)].os_index);
      };
      const std::int32_t a = row[rank(i)], b = row[rank(j)];
      if (a == b && i != j) {
        const std::int32_t host = host_of_row(job, a);
        if (!neighbours.contains(host)) neighbours[host] = beside(job, host);
        out.o.at(i, j) = neighbours[host].o;
        out.l.at(i, j) = neighbours[host].l;
      } else {
        out.o.at(i, j) = job.o.at(a, b);
        out.l.at(i, j) = job.l.at(a, b);
        if (job.g.n > 0) out.g.at(i, j) = job.g.at(a, b);
      }
    }
  return out;
}

}  // namespace fermata
