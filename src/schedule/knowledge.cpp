#include "schedule/knowledge.hpp"

#include <algorithm>
#include <bit>

#include "schedule/structure.hpp"

namespace fermata {

Knowledge::Knowledge(const Schedule& schedule)
    : schedule_(schedule),
      width_((static_cast<std::size_t>(schedule.members) + 63) / 64),
      rows_(width_ * schedule.vertices(), 0),
      saved_at_(schedule.vertices(), -1) {
  for (std::int32_t m = 0; m < schedule.members; ++m) row(m)[m / 64] |= std::uint64_t{1} << (m % 64);
}

void Knowledge::advance(const Stage& stage) {
  // Only receivers change, so only their rows need a snapshot.
  std::vector<std::int32_t> touched;
  for (const Transfer& t : stage.transfers) {
    if (saved_at_[t.to] >= 0) continue;
    saved_at_[t.to] = static_cast<std::int32_t>(touched.size());
    touched.push_back(t.to);
  }
  saved_.resize(touched.size() * width_);
  for (std::size_t i = 0; i < touched.size(); ++i) {
    std::copy_n(row(touched[i]), width_, saved_.data() + i * width_);
  }
  const auto add = [this](std::int32_t to, std::int32_t from) {
    std::uint64_t* const into = row(to);
    const std::uint64_t* const what = before(from);
    for (std::size_t i = 0; i < width_; ++i) into[i] |= what[i];
  };
  for (const Transfer& t : stage.transfers) {
    add(t.to, t.from);
    if (schedule_.is_word(t.from) && schedule_.is_word(t.to)) {
      add(t.to, schedule_.word_vertex(actor_of(schedule_, t)));
    }
  }
  for (const std::int32_t v : touched) saved_at_[v] = -1;
}

std::int64_t Knowledge::known(std::int32_t vertex) const {
  std::int64_t n = 0;
  for (std::size_t i = 0; i < width_; ++i) n += std::popcount(row(vertex)[i]);
  return n;
}

std::int64_t Knowledge::known_pairs() const {
  std::int64_t n = 0;
  for (std::int32_t m = 0; m < schedule_.members; ++m) n += known(m);
  return n;
}

std::int32_t Knowledge::first_unknown(std::int32_t vertex) const {
  for (std::int32_t m = 0; m < schedule_.members; ++m) {
    if (!knows(vertex, m)) return m;
  }
  return -1;
}

}  // namespace fermata
