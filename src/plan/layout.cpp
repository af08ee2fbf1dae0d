#include "plan/layout.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "base/line.hpp"

namespace fermata {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;

class Placer {
 public:
  Placer(const Schedule& schedule, const Layouts& layouts, std::int32_t payload,
         const std::vector<std::int32_t>& hosts)
      : schedule_(schedule),
        layouts_(layouts),
        hosts_(hosts),
        slot_(8 + static_cast<std::uint32_t>(round_up(static_cast<std::size_t>(payload), 8))) {}

  Placed run() {
    placed_.edges.resize(schedule_.stages.size());
    for (std::size_t t = 0; t < schedule_.stages.size(); ++t) {
      placed_.edges[t].resize(schedule_.stages[t].transfers.size());
      layout_ = layouts_.at(t);
      switch (layout_.layout) {
        case Layout::kPrivate: place_private(t, false); break;
        case Layout::kPublished: place_private(t, true); break;
        case Layout::kPacked: place_packed(t); break;
      }
    }
    layout_ = {.line = layouts_.longest_line()};
    for (std::size_t w = 0; w < schedule_.words.size(); ++w) placed_.words.push_back(take_lines(1));
    at_ = round_up(at_, line());
    return std::move(placed_);
  }

  std::uint64_t bytes() const { return at_; }

 private:
  std::uint32_t line() const { return static_cast<std::uint32_t>(layout_.line); }

  std::uint32_t take_lines(std::uint64_t lines) {
    const std::uint64_t start = round_up(at_, line());
    at_ = start + lines * line();
    return static_cast<std::uint32_t>(start);
  }

  bool between_members(const Transfer& x) const {
    return !schedule_.is_word(x.from) && !schedule_.is_word(x.to);
  }

  bool shares_memory(const Transfer& x) const {
    return hosts_.empty() ||
           hosts_[static_cast<std::size_t>(x.from)] == hosts_[static_cast<std::size_t>(x.to)];
  }

  // Places the slots of an edge one after the other, each on its own line. Edges are in the order of their
  // receivers, so that a receiver's lines are adjacent. If published, all receivers that get the same value
  // from a sender in this stage share one run of slots.
  void place_private(std::size_t stage, bool publish) {
    const auto& transfers = schedule_.stages[stage].transfers;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < transfers.size(); ++i)
      if (between_members(transfers[i])) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return transfers[a].to < transfers[b].to; });
    std::map<std::pair<std::int32_t, int>, EdgePlace> publications;
    std::map<std::pair<std::int32_t, int>, int> readers;
    const auto key = [&](const Transfer& x) { return std::pair{x.from, x.chunk * 256 + x.src_reg}; };
    if (publish)
      for (const std::size_t i : order) readers[key(transfers[i])] += shares_memory(transfers[i]);
    for (const std::size_t i : order) {
      EdgePlace& edge = placed_.edges[stage][i];
      if (publish && shares_memory(transfers[i]) && readers[key(transfers[i])] > 1) {
        auto [found, fresh] = publications.try_emplace(key(transfers[i]));
        if (fresh) {
          found->second = slots_on_own_lines();
          found->second.door = take_lines(1);
          found->second.published = true;
        }
        edge = found->second;
      } else {
        edge = slots_on_own_lines();
      }
    }
  }

  EdgePlace slots_on_own_lines() {
    const auto lines = static_cast<std::uint64_t>(layout_.stride);
    return {.offset = take_lines(static_cast<std::uint64_t>(layout_.slots) * lines),
            .stride = static_cast<std::uint32_t>(layout_.stride) * line()};
  }

  // The edges around one member (the lower rank of an edge's two ends) share lines. An exchanging pair has
  // both flags in one line; a parent has its children's flags side by side. Slots with the same number are
  // adjacent.
  void place_packed(std::size_t stage) {
    const auto& transfers = schedule_.stages[stage].transfers;
    std::map<std::int32_t, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < transfers.size(); ++i)
      if (between_members(transfers[i])) groups[std::min(transfers[i].from, transfers[i].to)].push_back(i);
    const std::uint32_t unit = std::bit_ceil(slot_);
    for (const auto& [low, members] : groups) {
      const auto count = static_cast<std::uint32_t>(members.size());
      const std::uint32_t run = count * unit;
      const std::uint64_t bytes = static_cast<std::uint64_t>(run) * static_cast<std::uint32_t>(layout_.slots);
      const std::uint32_t base = take_lines((bytes + line() - 1) / line());
      for (std::uint32_t k = 0; k < count; ++k)
        placed_.edges[stage][members[k]] = {base + k * unit, run, 0, false};
    }
  }

  const Schedule& schedule_;
  const Layouts& layouts_;
  const std::vector<std::int32_t>& hosts_;
  LayoutChoice layout_;  // of the current stage
  const std::uint32_t slot_;
  Placed placed_;
  std::uint64_t at_ = 0;
};

}  // namespace

Result<Placed> place_edges(const Schedule& schedule, const Layouts& layouts, std::int32_t payload,
                           const std::vector<std::int32_t>& hosts) {
  for (const LayoutChoice& layout : layouts.listed()) {
    const auto slots = static_cast<std::uint32_t>(layout.slots);
    if (slots > kMostSlots || !std::has_single_bit(slots))
      return Error{Status::kArgument, "slots must be a power of two, 1.." + std::to_string(kMostSlots)};
    if (layout.stride < 1 || layout.stride > 8) return Error{Status::kArgument, "stride must be 1..8 lines"};
    if (layout.line != 64 && layout.line != 128)
      return Error{Status::kArgument, "line must be 64 or 128 bytes"};
  }
  if (payload < 0 || payload > static_cast<std::int32_t>(kLinePayload))
    return Error{Status::kUnsupported, "payload must be 0..56 bytes"};
  Placer placer(schedule, layouts, payload, hosts);
  Placed placed = placer.run();
  if (placer.bytes() > kMostBytes) return Error{Status::kUnsupported, "the plan's slots would exceed 2 GiB"};
  placed.bytes = static_cast<std::uint32_t>(placer.bytes());
  return placed;
}

}  // namespace fermata
