#include "plan/choices.hpp"

#include <algorithm>
#include <bit>

namespace fermata {
namespace {

constexpr std::int32_t kAllDegreesUpTo = 64;
constexpr std::int32_t kSmallDegrees = 16;
constexpr std::int32_t kHeader = 8;
constexpr double kWorthwhile = 0.95;  // a stride that measured less gain than this is noise

bool one_host(const Topology& topology, const PlanKey& key) {
  if (topology.cpus.empty()) return true;
  const std::int32_t host = topology.cpus.front().host;
  if (key.cpus.empty())
    return std::all_of(topology.cpus.begin(), topology.cpus.end(), [&](const Cpu& c) { return c.host == host; });
  const Cpu* first = topology.find(key.cpus.front());
  return std::all_of(key.cpus.begin(), key.cpus.end(), [&](std::int32_t os_index) {
    const Cpu* cpu = topology.find(os_index);
    return cpu == nullptr || first == nullptr || cpu->host == first->host;
  });
}

}  // namespace

std::vector<std::int32_t> degrees_to_try(std::int32_t members) {
  std::vector<std::int32_t> degrees;
  const std::int32_t all = members <= kAllDegreesUpTo ? members - 1 : kSmallDegrees;
  for (std::int32_t k = 2; k <= all; ++k) degrees.push_back(k);
  for (std::int32_t k = all + all / 4; all >= kSmallDegrees && k < members - 1; k += std::max(1, k / 4)) degrees.push_back(k);
  if (degrees.empty()) degrees.push_back(2);
  return degrees;
}

std::vector<LayoutChoice> layouts_to_try(const CostModel& model, const Topology& topology, const PlanKey& key) {
  const std::int32_t line = topology.line_bytes > 64 ? 128 : 64;
  std::vector<LayoutChoice> choices = {{Layout::kPrivate, 1, 1, line}};
  const auto* cheapest = std::min_element(std::begin(model.stride_factor) + 1, std::end(model.stride_factor));
  if (*cheapest < kWorthwhile * model.stride_factor[1])
    choices.push_back({Layout::kPrivate, 1, static_cast<std::int32_t>(cheapest - model.stride_factor), line});
  if (one_host(topology, key)) choices.push_back({Layout::kPublished, 1, 1, line});
  if (2 * (kHeader + key.payload) <= line) choices.push_back({Layout::kPacked, 1, 1, line});
  return choices;
}

std::vector<LayoutChoice> slot_and_line_variants(const LayoutChoice& layout, const Topology& topology) {
  std::vector<LayoutChoice> variants;
  for (const std::int32_t slots : {1, 2, 4}) {
    LayoutChoice choice = layout;
    choice.slots = slots;
    variants.push_back(choice);
    if (topology.line_bytes > 64) continue;
    choice.line = 128;
    variants.push_back(choice);
  }
  return variants;
}

std::int32_t packed_sharers(const Schedule& schedule, const LayoutChoice& layout, std::int32_t payload) {
  const auto slot = static_cast<std::int32_t>(std::bit_ceil(static_cast<unsigned>(kHeader + payload)));
  const std::int32_t most = std::max(1, layout.line / slot);
  std::int32_t widest = 1;
  std::vector<std::int32_t> edges(static_cast<std::size_t>(schedule.members), 0);
  for (const Stage& stage : schedule.stages) {
    for (const Transfer& t : stage.transfers)
      if (!schedule.is_word(t.from) && !schedule.is_word(t.to))
        widest = std::max(widest, ++edges[static_cast<std::size_t>(std::min(t.from, t.to))]);
    std::fill(edges.begin(), edges.end(), 0);
    if (widest >= most) break;
  }
  return std::min(widest, most);
}

}  // namespace fermata
