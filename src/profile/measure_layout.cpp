// Measures the period of an exchange between two members for each layout. In each episode a member signals,
// then awaits the other's signal. Episodes follow each other without a pause.
#include "profile/measure.hpp"

namespace fermata {

namespace {

struct Exchange {
  const char* name;
  std::int32_t lines_apart;  // 0: both flags in one line
  bool counter;
};

constexpr Exchange kExchanges[] = {{"private", 1, false},         {"packed", 0, false},
                                   {"counter", 0, true},          {"private+stride2", 2, false},
                                   {"private+stride3", 3, false}, {"private+stride4", 4, false},
                                   {"private+stride5", 5, false}, {"private+stride6", 6, false},
                                   {"private+stride7", 7, false}, {"private+stride8", 8, false}};
constexpr std::size_t kRegion = 16384;  // each layout's own pages; nine lines of at most 1,024 bytes fit

using Word = std::atomic<std::uint64_t>;

}  // namespace

std::vector<LayoutCost> measure_layouts(std::int32_t a, std::int32_t b, std::int32_t line_bytes,
                                        bool processes, double seconds) {
  probe::SharedMemory memory(kRegion * std::size(kExchanges));
  if (!memory || line_bytes > 1024 || line_bytes < 16) return {};
  const auto role = [&](int member, const probe::Command& c, probe::Control& control) {
    const auto point = static_cast<std::size_t>(c.point);
    const Exchange& layout = kExchanges[point];
    const std::size_t apart =
        layout.lines_apart == 0 ? sizeof(Word) : static_cast<std::size_t>(layout.lines_apart * line_bytes);
    Word& first = *memory.at<Word>(point * kRegion);
    Word& second = *memory.at<Word>(point * kRegion + apart);
    Word& mine = member == 0 ? first : second;
    Word& other = member == 0 ? second : first;
    for (std::uint64_t e = c.point_base + 1; e <= c.point_base + c.rounds; ++e) {
      if (layout.counter) {
        // order: acq_rel, as kWordAdd: releases this arrival, acquires the other's; pairs with itself
        first.fetch_add(1, std::memory_order_acq_rel);
        if (!probe::await(first, 2 * e, control)) return;
      } else {
        probe::signal(mine, e);
        if (!probe::await(other, e, control)) return;
      }
    }
  };
  const auto times =
      probe::sample({{a, b}, processes, seconds}, static_cast<std::int32_t>(std::size(kExchanges)), role);
  std::vector<LayoutCost> out;
  for (std::size_t i = 0; i < times.size(); ++i) out.push_back({kExchanges[i].name, times[i]});
  return out;
}

}  // namespace fermata
