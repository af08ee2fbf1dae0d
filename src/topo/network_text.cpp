// The network of hosts as text: two lines of a topology's text form, and a part of a topology's JSON.
#include <optional>

#include "base/text.hpp"
#include "json/text.hpp"
#include "topo/json.hpp"

namespace fermata {
namespace {

using Kind = Network::Kind;
constexpr double kMostCost = 1e12;  // ns

struct Cost {
  const char* name;
  double Network::* member;
};
constexpr Cost kCosts[] = {{"hop_ns", &Network::hop_ns},
                           {"global_ns", &Network::global_ns},
                           {"gap_ns", &Network::gap_ns},
                           {"byte_ns", &Network::byte_ns}};

// Only a dragonfly has links between groups.
bool has(const Network& n, const Cost& cost) {
  return cost.member != &Network::global_ns || n.kind == Kind::kDragonfly;
}

std::optional<Kind> kind_from(std::string_view name) {
  for (const Kind kind : {Kind::kTorus, Kind::kMesh, Kind::kFatTree, Kind::kDragonfly})
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

std::string list_text(const std::vector<std::int32_t>& values, const char* between) {
  std::string out;
  for (const std::int32_t value : values) out += (out.empty() ? "" : between) + std::to_string(value);
  return out;
}

std::vector<std::int32_t> read_list(const JsonNode* list, ObjectReader& reader) {
  std::vector<std::int32_t> values;
  for (std::size_t i = 0; list != nullptr && i < list->items.size(); ++i) {
    const JsonNode& item = list->items[i];
    if (!item.integer || !item.is_number(1, kMaxId))
      reader.complain(item, "a count from 1 to 65536 is expected");
    else values.push_back(static_cast<std::int32_t>(item.number));
  }
  return values;
}

// {"down": [16, 8], "up": [8]}, or "taper": the switches of the first level have so many times fewer ports up
// than down (default 1). Those above have as many.
void read_fat_tree(const JsonNode& node, Network& n, ObjectReader& outer) {
  ObjectReader reader(node, "fat_tree");
  reader.only({"down", "up", "taper"});
  n.sides = read_list(reader.array("down"), reader);
  if (n.sides.empty())
    reader.complain(node, "'down' is missing: the ports down of the switches of each level");
  const auto taper = static_cast<std::int32_t>(reader.integer("taper", 1, kMaxId, 1));
  if (const JsonNode* up = reader.array("up")) {
    n.up = read_list(up, reader);
    if (node.get("taper") != nullptr) reader.complain(node, "'up' and 'taper' exclude each other");
  } else if (reader.ok()) {
    n.up.assign(n.sides.begin(), n.sides.end() - 1);
    if (!n.up.empty() && n.up[0] % taper != 0)
      reader.complain(node, "'taper' does not divide the ports down");
    if (!n.up.empty()) n.up[0] /= taper;
  }
  outer.take_over(reader);
}

void read_dragonfly(const JsonNode& node, Network& n, ObjectReader& outer) {
  ObjectReader reader(node, "dragonfly");
  reader.only({"groups", "routers", "hosts", "links"});
  for (const char* key : {"hosts", "routers", "groups"})
    n.sides.push_back(static_cast<std::int32_t>(reader.integer(key, 1, kMaxId)));
  n.up = {static_cast<std::int32_t>(reader.integer("links", 1, kMaxId, 1))};
  outer.take_over(reader);
}

std::string form_json(const Network& n) {
  const std::string name = json_string(name_of(n.kind)) + ": ";
  if (n.kind == Kind::kFatTree)
    return name + "{\"down\": [" + list_text(n.sides, ", ") + "], \"up\": [" + list_text(n.up, ", ") + "]}";
  if (n.kind != Kind::kDragonfly) return name + "[" + list_text(n.sides, ", ") + "]";
  return name + "{\"groups\": " + std::to_string(n.sides[2]) +
         ", \"routers\": " + std::to_string(n.sides[1]) + ", \"hosts\": " + std::to_string(n.sides[0]) +
         ", \"links\": " + std::to_string(n.up[0]) + "}";
}

}  // namespace

Network network_from_node(const JsonNode& node, ObjectReader& outer) {
  Network n;
  ObjectReader reader(node, "network");
  reader.only({"torus", "mesh", "fat_tree", "dragonfly", "hop_ns", "global_ns", "gap_ns", "byte_ns"});
  for (const std::string& key : node.keys) {
    const auto kind = kind_from(key);
    if (kind && n) reader.complain(node, "a network has one form");
    if (kind) n.kind = *kind;
  }
  if (!n) reader.complain(node, "'torus', 'mesh', 'fat_tree' or 'dragonfly' is expected");
  if (n.kind == Kind::kTorus || n.kind == Kind::kMesh)
    n.sides = read_list(reader.array(name_of(n.kind)), reader);
  else if (const JsonNode* form = n ? reader.object(name_of(n.kind)) : nullptr)
    n.kind == Kind::kFatTree ? read_fat_tree(*form, n, reader) : read_dragonfly(*form, n, reader);
  if (n.kind != Kind::kDragonfly && node.get("global_ns") != nullptr)
    reader.complain(node, "only a dragonfly has 'global_ns'");
  n.hop_ns = reader.number("hop_ns", 0, kMostCost, n.hop_ns);
  if (n.kind == Kind::kDragonfly) n.global_ns = reader.number("global_ns", 0, kMostCost, n.hop_ns);
  n.gap_ns = reader.number("gap_ns", 0, kMostCost, n.gap_ns);
  n.byte_ns = reader.number("byte_ns", 0, kMostCost, n.byte_ns);
  if (const std::string flaw = reader.ok() ? network_flaw(n) : std::string(); !flaw.empty())
    reader.complain(node, flaw);
  outer.take_over(reader);
  return n;
}

std::string to_json(const Network& n) {
  std::string out = "{" + form_json(n);
  for (const Cost& cost : kCosts)
    if (has(n, cost)) out += ", " + json_string(cost.name) + ": " + json_number(n.*cost.member);
  return out + "}";
}

std::string form_text(const Network& n) {
  return std::string(name_of(n.kind)) + " " + list_text(n.sides, " ") +
         (n.up.empty() ? "" : " up " + list_text(n.up, " "));
}

std::string costs_text(const Network& n) {
  std::string out;
  for (const Cost& cost : kCosts)
    if (has(n, cost))
      out += (out.empty() ? "" : " ") + std::string(cost.name) + " " + number_text(n.*cost.member);
  return out;
}

std::string read_form(std::string_view text, Network& n) {
  const auto kind = kind_from(take_word(text));
  if (!kind) return "torus, mesh, fat_tree or dragonfly is expected";
  n.kind = *kind;
  if (n.kind == Kind::kDragonfly) n.global_ns = n.hop_ns;
  std::vector<std::int32_t>* list = &n.sides;
  while (!text.empty()) {
    const std::string_view word = take_word(text);
    const auto count = parse_number(word, 1, kMaxId);
    if (word == "up" && list == &n.sides) list = &n.up;
    else if (!count) return "a count from 1 to 65536 is expected";
    else list->push_back(*count);
  }
  return network_flaw(n);
}

std::string read_costs(std::string_view text, Network& n) {
  for (const Cost& cost : kCosts) {
    if (!has(n, cost)) continue;
    if (take_word(text) != cost.name) return "'" + std::string(cost.name) + "' is expected";
    const auto value = parse_number(take_word(text), 0.0, kMostCost);
    if (!value) return "'" + std::string(cost.name) + "' must be from 0 to 1e12";
    n.*cost.member = *value;
  }
  return text.empty() ? std::string() : "there is more text after the costs";
}

std::string describe(const Network& n) {
  std::string out;
  switch (n.kind) {
    case Kind::kTorus:
    case Kind::kMesh: out = std::string(name_of(n.kind)) + " of " + list_text(n.sides, " x "); break;
    case Kind::kFatTree:
      out = "fat tree, " + list_text(n.sides, ", ") + " ports down" +
            (n.up.empty() ? "" : ", " + list_text(n.up, ", ") + " up");
      break;
    case Kind::kDragonfly:
      out = "dragonfly of " + counted(static_cast<std::size_t>(n.sides[2]), "group") + " x " +
            counted(static_cast<std::size_t>(n.sides[1]), "router") + " x " +
            counted(static_cast<std::size_t>(n.sides[0]), "host") + ", " +
            counted(static_cast<std::size_t>(n.up[0]), "link") + " a pair";
      break;
    case Kind::kNone: return {};
  }
  return out + "; " + counted(static_cast<std::size_t>(links_of(n)), "link") + ", at most " +
         counted(static_cast<std::size_t>(most_hops(n)), "hop");
}

}  // namespace fermata
