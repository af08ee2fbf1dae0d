#include "schedule/layout.hpp"

#include <charconv>
#include <optional>

namespace fermata {
namespace {

// The whole of `digits` as a number.
std::optional<std::int32_t> number(std::string_view digits) {
  std::int32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool power_of_two(std::int32_t n) { return n > 0 && (n & (n - 1)) == 0; }

bool set_field(LayoutChoice& choice, std::string_view field) {
  if (field.ends_with("slots")) {
    const auto n = number(field.substr(0, field.size() - 5));
    if (!n || !power_of_two(*n) || *n > 1024) return false;
    choice.slots = *n;
  } else if (field.starts_with("stride")) {
    const auto n = number(field.substr(6));
    if (!n || *n < 1 || *n > 8) return false;
    choice.stride = *n;
  } else if (field.starts_with("line")) {
    const auto n = number(field.substr(4));
    if (!n || (*n != 64 && *n != 128)) return false;
    choice.line = *n;
  } else if (field.ends_with("pauses")) {
    const auto n = number(field.substr(0, field.size() - 6));
    if (!n || *n < 1 || *n > 64) return false;
    choice.pauses = *n;
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string to_string(const LayoutChoice& choice) {
  std::string out = name_of(choice.layout);
  if (choice.slots != 1) out += "+" + std::to_string(choice.slots) + "slots";
  if (choice.stride != 1) out += "+stride" + std::to_string(choice.stride);
  if (choice.line != 64) out += "+line" + std::to_string(choice.line);
  if (choice.pauses != 1) out += "+" + std::to_string(choice.pauses) + "pauses";
  return out;
}

Result<LayoutChoice> parse_layout(std::string_view text) {
  const auto refuse = [text](const std::string& field) {
    return Error{Status::kParse, "layout '" + std::string(text) + "': cannot read '" + field +
                                     "'; spelled private|published|packed[+Nslots][+strideN][+lineN][+Npauses]"};
  };
  LayoutChoice choice;
  bool first = true;
  for (std::string_view rest = text; first || !rest.empty();) {
    const std::size_t plus = rest.find('+');
    const std::string_view field = rest.substr(0, plus);
    if (first) {
      int layout = 0;
      while (layout < kLayoutCount && field != name_of(static_cast<Layout>(layout))) ++layout;
      if (layout == kLayoutCount) return refuse(std::string(field));
      choice.layout = static_cast<Layout>(layout);
      first = false;
    } else if (!set_field(choice, field)) {
      return refuse(std::string(field));
    }
    if (plus == std::string_view::npos) return choice;
    rest = rest.substr(plus + 1);
    if (rest.empty()) return refuse("");
  }
  return choice;
}

}  // namespace fermata
