#include "schedule/layout.hpp"

#include <algorithm>
#include <bit>

#include "base/line.hpp"
#include "base/text.hpp"

namespace fermata {
namespace {

bool set_field(LayoutChoice& choice, std::string_view field) {
  const auto set = [](std::int32_t& to, std::string_view digits, std::int32_t least, std::int32_t most) {
    const auto n = parse_number(digits, least, most);
    to = n.value_or(to);
    return n.has_value();
  };
  const auto before = [&](std::string_view unit) { return field.substr(0, field.size() - unit.size()); };
  if (field.ends_with("slots"))
    return set(choice.slots, before("slots"), 1, static_cast<std::int32_t>(kMostSlots)) &&
           std::has_single_bit(static_cast<unsigned>(choice.slots));
  if (field.starts_with("stride")) return set(choice.stride, field.substr(6), 1, 8);
  if (field.starts_with("line"))
    return set(choice.line, field.substr(4), 64, 128) && (choice.line == 64 || choice.line == 128);
  return field.ends_with("pauses") && set(choice.pauses, before("pauses"), 1, 64);
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
    return Error{Status::kParse,
                 "layout '" + std::string(text) + "': cannot read '" + field +
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

Layouts::Layouts(std::vector<LayoutChoice> stages) : stages_(std::move(stages)) {
  while (stages_.size() > 1 && stages_.back() == stages_[stages_.size() - 2]) stages_.pop_back();
}

Layouts Layouts::with(std::size_t first, std::size_t last, std::size_t stages,
                      const LayoutChoice& choice) const {
  std::vector<LayoutChoice> list;
  for (std::size_t t = 0; t < stages; ++t) list.push_back(t < first || t > last ? at(t) : choice);
  return list.empty() ? *this : Layouts(std::move(list));
}

std::int32_t Layouts::least_slots() const {
  const auto fewer = [](const LayoutChoice& a, const LayoutChoice& b) { return a.slots < b.slots; };
  return std::min_element(stages_.begin(), stages_.end(), fewer)->slots;
}

std::int32_t Layouts::longest_line() const {
  const auto shorter = [](const LayoutChoice& a, const LayoutChoice& b) { return a.line < b.line; };
  return std::max_element(stages_.begin(), stages_.end(), shorter)->line;
}

bool Layouts::uses(Layout layout) const {
  return std::any_of(stages_.begin(), stages_.end(),
                     [layout](const LayoutChoice& c) { return c.layout == layout; });
}

std::string to_string(const Layouts& layouts) {
  std::string out;
  for (const LayoutChoice& choice : layouts.listed()) out += (out.empty() ? "" : ":") + to_string(choice);
  return out;
}

Result<Layouts> parse_layouts(std::string_view text) {
  std::vector<LayoutChoice> stages;
  for (bool more = true; more;) {
    const std::size_t colon = text.find(':');
    const auto choice = parse_layout(text.substr(0, colon));
    if (!choice) return choice.error();
    stages.push_back(*choice);
    more = colon != std::string_view::npos;
    if (more) text = text.substr(colon + 1);
  }
  return Layouts(std::move(stages));
}

}  // namespace fermata
