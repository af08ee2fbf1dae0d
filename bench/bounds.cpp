// What a group's numbers are compared with: the fastest variant of each floor, the bound, and the planner's
// choice.
#include <algorithm>
#include <bit>
#include <tuple>

#include "base/text.hpp"
#include "bench/session.hpp"

namespace fermata::bench {
namespace {

// Keeps only the variant with the lowest median of each floor and probe.
void keep_fastest_variants(std::vector<Row>& rows) {
  const auto slower = [&rows](const Row& row) {
    const bool has_variants = row.role == Role::kFloor || row.role == Role::kProbe;
    return has_variants && std::any_of(rows.begin(), rows.end(), [&row](const Row& other) {
             return &other != &row && other.subject == row.subject && other.what.engine == row.what.engine &&
                    (other.summary.median < row.summary.median ||
                     (other.summary.median == row.summary.median && &other < &row));
           });
  };
  std::vector<Row> kept;
  for (const Row& row : rows) {
    if (!slower(row)) kept.push_back(row);
  }
  rows = std::move(kept);
}

// The row of a subject, with the given quantity if there is one.
const Row* find(const std::vector<Row>& rows, const std::string& subject, Engine engine,
                std::optional<Quantity> quantity = {}) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.subject == subject && row.what.engine == engine && row.summary.count != 0 &&
           row.quantity == quantity.value_or(row.quantity);
  });
  return found == rows.end() ? nullptr : &*found;
}

const Row* best_floor(const std::vector<Row>& rows, Engine engine) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.role != Role::kFloor || row.what.engine != engine || row.summary.count == 0) continue;
    if (best == nullptr || row.summary.median < best->summary.median) best = &row;
  }
  return best;
}

std::string labelled(const Row& row) {
  return row.subject + (row.variant.empty() ? "" : " (" + row.variant + ")");
}

int log2_ceiling(int n) { return n <= 1 ? 0 : std::bit_width(static_cast<unsigned>(n - 1)); }

// The bound for more than two members and for latency: from the one-way latency and the switch of the same
// run.
void bound_from_probes(Row& row, const Row* round_trip, const Row* one_switch) {
  const int n = row.what.members;
  if (!has_own_cpus(row.what) && n > 1) {
    // More members than CPUs: on each CPU the last arriver continues without a switch, all others need one.
    const int cpus =
        row.what.cpus.empty() ? static_cast<int>(allowed_cpus().size()) : distinct(row.what.cpus);
    if (one_switch == nullptr || n <= cpus) return;
    const int switches = (n + cpus - 1) / cpus - 1;
    row.bound = switches * one_switch->summary.median;
    row.bound_source = format("switch_floor: %d x switch between two %s", switches,
                              row.what.engine == Engine::kThreads ? "threads" : "processes");
  } else {
    if (round_trip == nullptr || n < 2) return;
    const int stages = row.stages > 0 && row.quantity == Quantity::kLatency ? row.stages : log2_ceiling(n);
    row.bound = stages * round_trip->summary.median / 2;
    row.bound_source =
        format("%s%d x one-way", row.quantity == Quantity::kLatency ? "" : "estimate: ", stages);
  }
}

}  // namespace

void settle(std::vector<Row>& rows) {
  keep_fastest_variants(rows);
  const Row* const round_trip = find(rows, "probe_one_way", Engine::kThreads);
  std::vector<Row> settled = rows;  // lookups use `rows`, which does not change
  for (Row& row : settled) {
    if (row.role == Role::kProbe) {
      // A ping-pong goes one way twice in an episode.
      if (row.subject == "probe_one_way") {
        for (double& value : row.rounds) value /= 2;
      }
      row.summary = summarize(row.rounds);
      continue;
    }
    const Row* const floor = best_floor(rows, row.what.engine);
    if (floor != nullptr && row.quantity != Quantity::kLatency) {
      row.bound = floor->summary.median;
      row.bound_source = labelled(*floor);
    } else {
      const Engine engine = row.what.engine == Engine::kThreads ? Engine::kThreads : Engine::kProcesses;
      bound_from_probes(row, round_trip, find(rows, "probe_switch", engine));
    }
    if (const Row* const planned = find(rows, "planned", row.what.engine, row.quantity)) {
      row.ratio_to_plan = paired_ratio(row.rounds, planned->rounds);
    }
    const Row* const threads = row.what.engine != Engine::kThreads
                                   ? find(rows, row.subject, Engine::kThreads, row.quantity)
                                   : nullptr;
    if (threads != nullptr) row.ratio_to_threads = paired_ratio(row.rounds, threads->rounds);
  }
  std::sort(settled.begin(), settled.end(), [](const Row& a, const Row& b) {
    const auto key = [](const Row& r) {
      return r.role == Role::kProbe ? 3 : static_cast<int>(r.what.engine);
    };
    return std::tuple(key(a), a.summary.median, a.subject) < std::tuple(key(b), b.summary.median, b.subject);
  });
  rows = std::move(settled);
}

}  // namespace fermata::bench
