// How edges map to addresses (DESIGN.md, "Layout"). Names only; src/plan computes the addresses.
#ifndef FERMATA_SCHEDULE_LAYOUT_HPP
#define FERMATA_SCHEDULE_LAYOUT_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace fermata {

enum class Layout : std::uint8_t {
  kPrivate = 0,    // a line per edge, in the receiver's memory
  kPublished = 1,  // one line of the sender's, polled by all its receivers of the stage
  kPacked = 2,     // slots of several edges of a stage share lines, as densely as header + payload allow
};
inline constexpr int kLayoutCount = 3;

constexpr const char* name_of(Layout l) {
  constexpr const char* kNames[kLayoutCount] = {"private", "published", "packed"};
  return kNames[static_cast<int>(l)];
}

struct LayoutChoice {
  Layout layout = Layout::kPrivate;
  std::int32_t slots = 1;   // per edge: 1, 2 (by parity) or a larger power of two
  std::int32_t stride = 1;  // lines from one slot line to the next, 1..8 (power8-barriers VI.D)
  std::int32_t line = 64;   // bytes: 64 or 128
  // The CPU's pauses between two looks at an awaited line, 1..64: each look takes the line away from who is about to write it.
  std::int32_t pauses = 1;
  bool operator==(const LayoutChoice&) const = default;
};

// One for each stage, of which the last stands for all behind it.
class Layouts {
 public:
  Layouts(const LayoutChoice& everywhere = {}) : stages_{everywhere} {}  // NOLINT: one is a list of one
  explicit Layouts(std::vector<LayoutChoice> stages);                    // not empty
  const LayoutChoice& at(std::size_t stage) const { return stages_[stage < stages_.size() ? stage : stages_.size() - 1]; }
  // Those written down: no two equal ones at the end.
  const std::vector<LayoutChoice>& listed() const { return stages_; }
  // With another choice for the stages first..last of `stages`.
  Layouts with(std::size_t first, std::size_t last, std::size_t stages, const LayoutChoice& choice) const;
  // `change(choice)` for every stage.
  template <class Change>
  Layouts changed(Change&& change) const {
    std::vector<LayoutChoice> list = stages_;
    for (LayoutChoice& choice : list) change(choice);
    return Layouts(std::move(list));
  }
  std::int32_t least_slots() const;
  std::int32_t longest_line() const;
  bool uses(Layout layout) const;
  bool operator==(const Layouts&) const = default;

 private:
  std::vector<LayoutChoice> stages_;
};

// "private", "packed+2slots", "private+stride5+line128+3pauses": what tables, plans and the command line print and
// take.
std::string to_string(const LayoutChoice& choice);
// The inverse. Errors: kParse naming the field; slots a power of two up to 1024, stride 1..8, line 64 or 128, pauses 1..64.
Result<LayoutChoice> parse_layout(std::string_view text);
// The same, stage by stage: "packed+2slots:published".
std::string to_string(const Layouts& layouts);
Result<Layouts> parse_layouts(std::string_view text);

}  // namespace fermata
#endif
