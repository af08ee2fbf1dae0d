#include "schedule/cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "schedule/simulation.hpp"

namespace fermata {
namespace {

double bytes_together(const Schedule& schedule, const CostModel& model, double chunk_bytes) {
  const double here = model.bytes.together, between = model.bytes.between;
  if ((here <= 0 && between <= 0) || chunk_bytes <= 0) return 0;
  double moved = 0, sent = 0;
  for (const Stage& stage : schedule.stages)
    for (const Transfer& t : stage.transfers) {
      if (t.action == Action::kSignal || t.from == t.to) continue;
      (model.is_message(t.from, t.to) ? sent : moved) += chunk_bytes;
    }
  return std::max(moved * here, sent * between);
}

double folds_apart(const Schedule& schedule, const CostModel& model, double chunk_bytes) {
  if (model.bytes.fold_apart <= 0 || chunk_bytes <= 0) return 0;
  std::vector<double> folds(static_cast<std::size_t>(schedule.members));
  for (const Stage& stage : schedule.stages)
    for (const Transfer& t : stage.transfers)
      if (t.action == Action::kCombine) folds[static_cast<std::size_t>(t.to)] += chunk_bytes;
  return *std::max_element(folds.begin(), folds.end()) * model.bytes.fold_apart;
}

double with_bytes(double latest, const Schedule& schedule, const CostModel& model, double chunk_bytes) {
  return std::max(latest, bytes_together(schedule, model, chunk_bytes)) +
         folds_apart(schedule, model, chunk_bytes);
}

}  // namespace

CostModel part_of(const CostModel& model, const std::vector<std::int32_t>& ranks, bool has_bytes) {
  CostModel part;
  static_cast<CostTerms&>(part) = model;
  part.members = static_cast<std::int32_t>(ranks.size());
  if (!model.hosts.empty())
    for (const std::int32_t i : ranks) part.hosts.push_back(model.hosts[static_cast<std::size_t>(i)]);
  const auto select = [&](const std::vector<double>& from, std::vector<double>& to) {
    if (from.empty()) return;
    to.reserve(ranks.size() * ranks.size());
    for (const std::int32_t i : ranks) {
      const double* const row = from.data() + static_cast<std::size_t>(i) * model.members;
      for (const std::int32_t j : ranks) to.push_back(row[j]);
    }
  };
  if (!model.grouped.empty()) part.grouped = model.grouped.part(ranks);
  select(model.o, part.o);
  select(model.l, part.l);
  if (!has_bytes) return part;
  select(model.g, part.g);
  select(model.direct, part.direct);
  return part;
}

double further_share(const CostModel& model) {
  if (model.awaited <= 0) return 1;
  double least = std::numeric_limits<double>::infinity();
  model.each_pair(model.everyone(), [&](std::int32_t i, std::int32_t j, double) {
    for (const double l : {model.l_at(i, j), model.l_at(j, i)})
      if (l > 0) least = std::min(least, l);
  });
  return std::isfinite(least) ? model.awaited / least : 1;
}

Cost cost(const Schedule& schedule, const CostModel& model, const Layouts& layouts, double chunk_bytes) {
  Cost out;
  Simulation simulation(schedule, model, layouts, chunk_bytes, true);
  simulation.run_episode(&out.stage_ns);
  out.critical_path_ns = with_bytes(simulation.latest(), schedule, model, chunk_bytes);
  out.departure_ns.assign(simulation.times().begin(), simulation.times().begin() + schedule.members);
  out.critical_path = simulation.critical_path();
  return out;
}

double latency_cost(const Schedule& schedule, const CostModel& model, const Layouts& layouts,
                    double chunk_bytes) {
  Simulation simulation(schedule, model, layouts, chunk_bytes, false);
  simulation.run_episode(nullptr);
  return with_bytes(simulation.latest(), schedule, model, chunk_bytes);
}

double period_cost(const Schedule& schedule, const CostModel& model, const Layouts& layouts,
                   double chunk_bytes, double* latency_ns) {
  constexpr int kWindow = 2, kWindows = 24;
  constexpr double kSteady = 1e-3;
  Simulation simulation(schedule, model, layouts, chunk_bytes, false);
  // Takes the member whose time grows most. A member whose time is still low may be the one that delays all
  // members in the end.
  std::vector<double> before(static_cast<std::size_t>(schedule.members));
  double growth = -1;
  for (int window = 0; window < kWindows; ++window) {
    for (int episode = 0; episode < kWindow; ++episode) {
      simulation.run_episode(nullptr);
      if (latency_ns == nullptr) continue;
      *latency_ns = with_bytes(simulation.latest(), schedule, model, chunk_bytes);
      latency_ns = nullptr;  // the first episode has it
    }
    double grown = 0;
    for (std::int32_t m = 0; m < schedule.members; ++m) {
      const double now = simulation.times()[static_cast<std::size_t>(m)];
      grown = std::max(grown, (now - before[static_cast<std::size_t>(m)]) / kWindow);
      before[static_cast<std::size_t>(m)] = now;
    }
    if (window > 1 && std::abs(grown - growth) <= kSteady * grown) return grown;
    growth = grown;
  }
  return growth;
}

double stage_cost_eq1(const CostModel& model, std::int32_t from, const std::vector<std::int32_t>& to) {
  double most_o = 0, sum_l = 0;
  for (const std::int32_t j : to) {
    most_o = std::max(most_o, model.o_at(from, j));
    sum_l += model.l_at(from, j);
  }
  return most_o + sum_l;
}

double stage_cost_eq2(const CostModel& model, std::int32_t from, const std::vector<std::int32_t>& to) {
  double sum_l = 0;
  for (const std::int32_t j : to) sum_l += model.l_at(from, j);
  return model.o_at(from, from) + sum_l;
}

}  // namespace fermata
