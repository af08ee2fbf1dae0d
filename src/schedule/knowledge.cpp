#include "schedule/knowledge.hpp"

#include <bit>

namespace fermata {

Knowledge::Knowledge(const Schedule& schedule)
    : members_(schedule.members), rows_(schedule, (static_cast<std::size_t>(schedule.members) + 63) / 64) {
  for (std::int32_t m = 0; m < members_; ++m) rows_.row(m)[m / 64] |= std::uint64_t{1} << (m % 64);
}

std::int64_t Knowledge::known(std::int32_t vertex) const {
  std::int64_t n = 0;
  for (std::size_t i = 0; i < rows_.width(); ++i) n += std::popcount(rows_.row(vertex)[i]);
  return n;
}

std::int64_t Knowledge::known_pairs() const {
  std::int64_t n = 0;
  for (std::int32_t m = 0; m < members_; ++m) n += known(m);
  return n;
}

std::int32_t Knowledge::first_unknown(std::int32_t vertex) const {
  for (std::int32_t m = 0; m < members_; ++m) {
    if (!knows(vertex, m)) return m;
  }
  return -1;
}

}  // namespace fermata
