// How edges map to addresses: the choices, and their text. src/plan/layout.cpp computes the addresses.
#ifndef FERMATA_SCHEDULE_LAYOUT_HPP
#define FERMATA_SCHEDULE_LAYOUT_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace fermata {

enum class Layout : std::uint8_t {
  kPrivate = 0,  // a slot is a cache line of its own, which only its receiver polls
  // receivers on the sender's host that get the same from it in a stage poll the same line; others: kPrivate
  kPublished = 1,
  kPacked = 2,  // slots of several edges of a stage share lines; a slot's size is a power of two
};
inline constexpr int kLayoutCount = 3;

constexpr const char* name_of(Layout l) {
  constexpr const char* kNames[kLayoutCount] = {"private", "published", "packed"};
  return kNames[static_cast<int>(l)];
}

struct LayoutChoice {
  Layout layout = Layout::kPrivate;
  std::int32_t slots = 1;  // per edge: a power of two; an episode uses slot (episode modulo slots)
  // Lines from a slot's line to the next slot's, 1..8 (power8-barriers VI.D). kPacked ignores it.
  std::int32_t stride = 1;
  std::int32_t line = 64;  // length in bytes: 64 or 128
  // Pause instructions between two polls of an awaited line, 1..64. A poll takes the line from its writer.
  std::int32_t pauses = 1;
  bool operator==(const LayoutChoice&) const = default;
};

// One choice for each stage. The last choice also holds for all later stages.
class Layouts {
 public:
  Layouts(const LayoutChoice& everywhere = {}) : stages_{everywhere} {}  // NOLINT: one is a list of one
  explicit Layouts(std::vector<LayoutChoice> stages);                    // not empty
  const LayoutChoice& at(std::size_t stage) const {
    return stages_[stage < stages_.size() ? stage : stages_.size() - 1];
  }
  // The choices as stored. If there are several, the last two differ.
  const std::vector<LayoutChoice>& listed() const { return stages_; }
  // A copy for `stages` stages, with `choice` for the stages first..last, both included.
  Layouts with(std::size_t first, std::size_t last, std::size_t stages, const LayoutChoice& choice) const;
  // A copy in which `change(choice)` was applied to the choice of every stage.
  template <class Change>
  Layouts changed(Change&& change) const {
    std::vector<LayoutChoice> list = stages_;
    for (LayoutChoice& choice : list) change(choice);
    return Layouts(std::move(list));
  }
  // Over all stages:
  std::int32_t least_slots() const;
  std::int32_t longest_line() const;
  bool uses(Layout layout) const;
  bool operator==(const Layouts&) const = default;

 private:
  std::vector<LayoutChoice> stages_;
};

// Examples: "private", "packed+2slots", "private+stride5+line128+3pauses". Defaults are left out. Tables,
// plans and the command line use this form.
std::string to_string(const LayoutChoice& choice);
// The inverse. Error: kParse, which names the field. Slots: a power of two up to kMostSlots, stride 1..8,
// line 64 or 128, pauses 1..64.
Result<LayoutChoice> parse_layout(std::string_view text);
// The same for all stages, separated by colons: "packed+2slots:published".
std::string to_string(const Layouts& layouts);
Result<Layouts> parse_layouts(std::string_view text);

}  // namespace fermata
#endif
