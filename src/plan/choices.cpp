#include "plan/choices.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>

#include "base/line.hpp"
#include "plan/cluster.hpp"

namespace fermata {
namespace {

constexpr std::int32_t kAllDegreesUpTo = 64;
constexpr std::int32_t kSmallDegrees = 16;
constexpr std::int32_t kHeader = 8;
constexpr std::int32_t kLeastStreaming = 4, kMostStreaming = 128;  // slots
// Slots where members share CPUs: a member advances one episode per slot in each of its time slices.
constexpr std::int32_t kMostCrowded = 512;
// Slots over several hosts: a credit takes a round trip, and half of the slots are used meanwhile.
constexpr std::int32_t kMostOverHosts = static_cast<std::int32_t>(kMostSlots);
constexpr std::int64_t kStreamingSpace = std::int64_t{16} << 20;  // bytes for one plan's slots, all roots
constexpr double kWorthwhile = 0.95;                              // a smaller gain of a stride is noise

// A team has a region for each root. Each region has about as many edges as there are members.
std::int32_t streaming_slots(std::int32_t members, std::int32_t stride, std::int32_t most) {
  const std::int64_t lines = std::int64_t{members} * members * stride * kMaxLine;
  std::int32_t slots = most;
  while (slots > kLeastStreaming && lines * slots > kStreamingSpace) slots /= 2;
  return slots;
}

// Whether `holds` of a transfer between members in the run whose sender has several receivers in that stage.
template <class Holds>
bool any_published(const Schedule& s, StageRun run, Holds&& holds) {
  std::vector<std::int32_t> told(static_cast<std::size_t>(s.members), 0);  // receivers of each member
  const auto count = [&](const Transfer& x) -> std::int32_t& {
    return told[static_cast<std::size_t>(x.from)];
  };
  const auto between_members = [&](const Transfer& x) { return !s.is_word(x.from) && !s.is_word(x.to); };
  for (std::size_t t = run.first; t <= run.last && t < s.stages.size(); ++t) {
    const std::vector<Transfer>& transfers = s.stages[t].transfers;
    for (const Transfer& x : transfers)
      if (between_members(x)) ++count(x);
    for (const Transfer& x : transfers)
      if (between_members(x) && count(x) > 1 && holds(x)) return true;
    for (const Transfer& x : transfers)
      if (between_members(x)) count(x) = 0;
  }
  return false;
}

}  // namespace

std::vector<std::int32_t> degrees_to_try(std::int32_t members) {
  std::vector<std::int32_t> degrees;
  const std::int32_t all = members <= kAllDegreesUpTo ? members - 1 : kSmallDegrees;
  for (std::int32_t k = 2; k <= all; ++k) degrees.push_back(k);
  for (std::int32_t k = all + all / 4; all >= kSmallDegrees && k < members - 1; k += std::max(1, k / 4))
    degrees.push_back(k);
  if (degrees.empty()) degrees.push_back(2);
  return degrees;
}

std::vector<LayoutChoice> layouts_to_try(const CostModel& model, const Topology& topology,
                                         const PlanKey& key) {
  const std::int32_t line = topology.line_bytes > 64 ? 128 : 64;
  std::vector<LayoutChoice> choices = {{Layout::kPrivate, 1, 1, line}};
  const auto* cheapest = std::min_element(std::begin(model.stride_factor) + 1, std::end(model.stride_factor));
  if (*cheapest < kWorthwhile * model.stride_factor[1])
    choices.push_back({Layout::kPrivate, 1, static_cast<std::int32_t>(cheapest - model.stride_factor), line});
  choices.push_back({Layout::kPublished, 1, 1, line});
  if (2 * (kHeader + key.payload) <= line) choices.push_back({Layout::kPacked, 1, 1, line});
  return choices;
}

std::vector<Layouts> slot_and_line_variants(const Layouts& layouts, const Topology& topology,
                                            const PlanKey& key, bool crowded) {
  std::vector<Layouts> variants;
  std::int32_t stride = 1;
  for (const LayoutChoice& choice : layouts.listed()) stride = std::max(stride, choice.stride);
  std::vector<std::int32_t> counts = {1, 2, 4};
  if (key.collective == Collective::kReduce || key.collective == Collective::kBroadcast)
    counts = {4, streaming_slots(key.members, stride,
                                 !key.hosts.empty() ? kMostOverHosts
                                 : crowded          ? kMostCrowded
                                                    : kMostStreaming)};
  if (counts.back() == counts.front()) counts.pop_back();
  for (const std::int32_t slots : counts) {
    variants.push_back(layouts.changed([&](LayoutChoice& choice) { choice.slots = slots; }));
    if (topology.line_bytes > 64) continue;
    variants.push_back(variants.back().changed([](LayoutChoice& choice) { choice.line = 128; }));
  }
  return variants;
}

std::vector<StageRun> runs_of_stages(const Schedule& schedule, std::size_t most) {
  const std::size_t stages = schedule.stages.size();
  const std::size_t count = std::min(stages, most);
  std::vector<StageRun> runs;
  for (std::size_t k = 0; k < count; ++k) runs.push_back({k * stages / count, (k + 1) * stages / count - 1});
  return runs;
}

bool publishes(const Schedule& schedule, StageRun run) {
  return any_published(schedule, run, [](const Transfer&) { return true; });
}

bool publishes_across(const Schedule& schedule, StageRun run, const std::vector<std::int32_t>& hosts) {
  const auto host = [&](std::int32_t rank) { return hosts[static_cast<std::size_t>(rank)]; };
  return any_published(schedule, run, [&](const Transfer& x) { return host(x.from) != host(x.to); });
}

std::vector<std::int32_t> hosts_of(const Topology& topology, const PlanKey& key) {
  if (!key.hosts.empty()) return key.hosts;
  std::vector<std::int32_t> hosts(static_cast<std::size_t>(key.members), 0);
  if (topology.cpus.empty()) return hosts;
  const std::int32_t first = topology.cpus.front().host;
  if (std::all_of(topology.cpus.begin(), topology.cpus.end(), [&](const Cpu& c) { return c.host == first; }))
    return hosts;
  for (std::size_t r = 0; r < hosts.size(); ++r) {
    const Cpu* cpu = r < key.cpus.size() ? topology.find(key.cpus[r]) : nullptr;
    hosts[r] = cpu != nullptr ? cpu->host : -1 - static_cast<std::int32_t>(r);
  }
  return hosts;
}

bool words_join_hosts(const Schedule& schedule, const std::vector<std::int32_t>& hosts) {
  if (schedule.words.empty()) return false;
  // Words that signal each other must be on one host, so the loop passes hosts along edges until nothing
  // changes.
  constexpr std::int32_t kNone = INT32_MIN;
  std::vector<std::int32_t> host(static_cast<std::size_t>(schedule.vertices()), kNone);
  std::copy(hosts.begin(), hosts.begin() + schedule.members, host.begin());
  for (bool changed = true; changed;) {
    changed = false;
    for (const Stage& stage : schedule.stages)
      for (const Transfer& t : stage.transfers) {
        if (!schedule.is_word(t.from) && !schedule.is_word(t.to)) continue;
        std::int32_t& a = host[static_cast<std::size_t>(t.from)];
        std::int32_t& b = host[static_cast<std::size_t>(t.to)];
        if (a == b) continue;
        if (a != kNone && b != kNone) return true;
        (a == kNone ? a : b) = a == kNone ? b : a;
        changed = true;
      }
  }
  return false;
}

std::int32_t fan_in(const Schedule& schedule, const std::vector<std::int32_t>& hosts) {
  std::int32_t most = 0;
  for (const Stage& stage : schedule.stages) {
    std::map<std::int32_t, std::int32_t> to_vertex, to_host;
    for (const Transfer& t : stage.transfers) {
      if (t.from == t.to) continue;
      most = std::max(most, ++to_vertex[t.to]);
      if (schedule.is_word(t.from) || schedule.is_word(t.to)) continue;
      const std::int32_t from = hosts[static_cast<std::size_t>(t.from)];
      const std::int32_t to = hosts[static_cast<std::size_t>(t.to)];
      if (from != to) most = std::max(most, ++to_host[to]);
    }
  }
  return most;
}

std::int32_t packed_sharers(const Schedule& schedule, const Layouts& layouts, std::int32_t payload) {
  const auto slot = static_cast<std::int32_t>(std::bit_ceil(static_cast<unsigned>(kHeader + payload)));
  const std::int32_t most = std::max(1, layouts.longest_line() / slot);
  std::int32_t widest = 1;
  std::vector<std::int32_t> edges(static_cast<std::size_t>(schedule.members), 0);
  for (std::size_t at = 0; at < schedule.stages.size(); ++at) {
    if (layouts.at(at).layout != Layout::kPacked) continue;
    for (const Transfer& t : schedule.stages[at].transfers)
      if (!schedule.is_word(t.from) && !schedule.is_word(t.to))
        widest = std::max(widest, ++edges[static_cast<std::size_t>(std::min(t.from, t.to))]);
    std::fill(edges.begin(), edges.end(), 0);
    if (widest >= most) break;
  }
  return std::min(widest, most);
}

bool only_words(const Schedule& s) {
  for (const Stage& stage : s.stages)
    for (const Transfer& t : stage.transfers)
      if (!s.is_word(t.from) && !s.is_word(t.to)) return false;
  return true;
}

double with_credits(double period, const Schedule& schedule, const CostModel& model, std::int32_t slots,
                    std::int32_t credit_batch) {
  if (credit_batch == 0) return period;
  double longest = 0, each = 0;
  for (const Stage& stage : schedule.stages)
    for (const Transfer& t : stage.transfers) {
      if (schedule.is_word(t.from) || schedule.is_word(t.to)) continue;
      longest = std::max(longest, distance(model, t.from, t.to));
      each = std::max(each, model.l_at(t.to, t.from));
    }
  // A member that waits for a credit on a shared CPU yields the CPU.
  const double turn = model.members_per_cpu > 1 ? model.switch_ns * model.members_per_cpu : 0;
  return std::max(period, (2 * longest + turn) / slots) + each / credit_batch;
}

}  // namespace fermata
