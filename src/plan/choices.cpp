#include "plan/choices.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace fermata {
namespace {

constexpr std::int32_t kAllDegreesUpTo = 64;
constexpr std::int32_t kSmallDegrees = 16;
constexpr std::int32_t kHeader = 8;

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

bool parse_number(std::string_view text, std::int32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool apply_part(std::string_view part, LayoutChoice& choice) {
  std::int32_t n = 0;
  if (part.ends_with("slots") && parse_number(part.substr(0, part.size() - 5), n)) {
    choice.slots = n;
    return n >= 1 && n <= 64 && (n & (n - 1)) == 0;
  }
  if (part.starts_with("stride") && parse_number(part.substr(6), n)) {
    choice.stride = n;
    return n >= 1 && n <= 8;
  }
  if (part.starts_with("line") && parse_number(part.substr(4), n)) {
    choice.line = n;
    return n == 64 || n == 128;
  }
  return false;
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
  if (*cheapest < model.stride_factor[1])
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

Result<LayoutChoice> parse_layout(std::string_view text) {
  const auto bad = [&](const std::string& why) {
    return Error{Status::kParse, "layout '" + std::string(text) + "': " + why +
                                     "; expected private, published or packed, then +Nslots, +strideN, +lineN"};
  };
  LayoutChoice choice;
  std::size_t at = text.find('+');
  const std::string_view name = text.substr(0, at);
  int found = -1;
  for (int k = 0; k < kLayoutCount; ++k)
    if (name == name_of(static_cast<Layout>(k))) found = k;
  if (found < 0) return bad("no such layout");
  choice.layout = static_cast<Layout>(found);
  while (at != std::string_view::npos) {
    const std::size_t next = text.find('+', at + 1);
    const std::string_view part = text.substr(at + 1, next == std::string_view::npos ? next : next - at - 1);
    if (!apply_part(part, choice)) return bad("bad part '" + std::string(part) + "'");
    at = next;
  }
  return choice;
}

}  // namespace fermata
