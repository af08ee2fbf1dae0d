// How edges map to addresses (DESIGN.md, "Layout"). Names only; src/plan computes the addresses.
#ifndef FERMATA_SCHEDULE_LAYOUT_HPP
#define FERMATA_SCHEDULE_LAYOUT_HPP

#include <cstdint>
#include <string>
#include <string_view>

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

// "private", "packed+2slots", "private+stride5+line128+3pauses": what tables, plans and the command line print and
// take.
std::string to_string(const LayoutChoice& choice);
// The inverse. Errors: kParse naming the field; slots a power of two up to 1024, stride 1..8, line 64 or 128, pauses 1..64.
Result<LayoutChoice> parse_layout(std::string_view text);

}  // namespace fermata
#endif
