// Reads and writes the profile file. The format has a version. A file with an error is refused whole, with
// the line and the reason.

#include <type_traits>

#include "json/text.hpp"
#include "profile/levels.hpp"
#include "profile/profile.hpp"
#include "topo/json.hpp"

namespace fermata {

namespace {

constexpr std::size_t kMaxList = 4096;
constexpr double kMostCpu = 65535;

Level read_level(ObjectReader& item, const JsonNode& node) {
  const std::string name = item.text("level");
  for (int level = 0; level < kLevelCount; ++level)
    if (name == name_of(static_cast<Level>(level))) return static_cast<Level>(level);
  if (item.ok()) item.complain(node, "'level' names no level");
  return Level::kSelf;
}

Matrix read_matrix(const JsonNode& rows, std::size_t n, ObjectReader& reader) {
  if (rows.items.size() != n) {
    reader.complain(rows, "the matrix has " + std::to_string(rows.items.size()) + " rows for " +
                              std::to_string(n) + " CPUs");
    return Matrix(0);
  }
  for (const JsonNode& row : rows.items) {  // first, so that the file's size bounds the allocation
    if (row.type == JsonNode::Type::kArray && row.items.size() == n) continue;
    reader.complain(row, "a row of " + std::to_string(n) + " numbers is expected");
    return Matrix(0);
  }
  Matrix out(static_cast<std::int32_t>(n));
  std::size_t k = 0;
  for (const JsonNode& row : rows.items) {
    for (const JsonNode& item : row.items) {
      if (!item.is_number(0, kMaxNs))
        reader.complain(item, "a number of nanoseconds from 0 to 1e12 is expected");
      out.v[k++] = item.number;
    }
  }
  return out;
}

void read_costs(Profile& p, const JsonNode& root, ObjectReader& reader) {
  const JsonNode* o = reader.array("o");
  const JsonNode* l = reader.array("l");
  const JsonNode* levels = reader.object("levels");
  if (levels != nullptr) {
    if (o != nullptr || l != nullptr)
      reader.complain(*levels, "'levels' and the matrices exclude each other");
    const LevelCosts costs = level_costs_from_node(*levels, reader);
    const std::string flaw = reader.ok() ? expand_levels(costs, p) : std::string();
    if (!flaw.empty()) reader.complain(*levels, flaw);
  } else if (o == nullptr || l == nullptr) {
    reader.complain(root, "'o' and 'l', or 'levels', are missing");
  } else {
    p.o = read_matrix(*o, p.topology.cpus.size(), reader);
    p.l = read_matrix(*l, p.topology.cpus.size(), reader);
  }
}

void read_lists(Profile& p, ObjectReader& reader) {
  if (const JsonNode* adds = reader.array("word_add_ns")) {
    for (const JsonNode& item : adds->items) {
      if (!item.is_number(0, kMaxNs) || p.word_add_ns.size() >= kMaxList)
        reader.complain(item, "nanoseconds are expected, at most 4096 of them");
      p.word_add_ns.push_back(item.number);
    }
  }
  reader.each("layouts", {"layout", "period_ns"}, [&](ObjectReader& item, const JsonNode&) {
    p.layouts.push_back({item.text("layout"), item.number("period_ns", 0, kMaxNs)});
  });
  if (const JsonNode* remarks = reader.array("remarks")) {
    for (const JsonNode& item : remarks->items) {
      if (item.type != JsonNode::Type::kString) reader.complain(item, "a remark is a string");
      p.remarks.push_back(item.text);
    }
  }
}

void read_blocks(Profile& p, std::int64_t version, ObjectReader& reader) {
  const JsonNode* blocks = reader.array("blocks");
  if (blocks == nullptr) return;
  if (version < 4) reader.complain(*blocks, "'blocks' belongs to version 4");
  reader.each("blocks", {"way", "both", "bytes", "ns"}, [&](ObjectReader& item, const JsonNode& node) {
    BlockWay b{item.text("way"), item.flag("both", false), item.integer("bytes", 1, 1LL << 40),
               item.number("ns", 0, kMaxNs)};
    if (item.ok() && b.way != "ring" && b.way != "lent") item.complain(node, "'way' must be ring or lent");
    p.blocks.push_back(std::move(b));
  });
}

// `g` exists since version 2, the other keys since version 3.
void read_bytes(Profile& p, std::int64_t version, ObjectReader& reader) {
  if (const JsonNode* g = reader.array("g")) {
    if (version < 2) reader.complain(*g, "'g' belongs to version 2");
    p.g = read_matrix(*g, p.topology.cpus.size(), reader);
  }
  if (const JsonNode* direct = reader.array("g_direct")) {
    if (version < 3) reader.complain(*direct, "'g_direct' belongs to version 3");
    p.g_direct = read_matrix(*direct, p.topology.cpus.size(), reader);
  }
  p.direct_ns = reader.number("direct_ns", 0, kMaxNs, 0);
  p.fold_byte_ns = reader.number("fold_byte_ns", 0, kMaxNs, 0);
  if (const JsonNode* domains = reader.array("domains"); domains != nullptr && version < 3)
    reader.complain(*domains, "'domains' belongs to version 3");
  reader.each("domains", {"level", "cpus", "byte_ns"}, [&](ObjectReader& item, const JsonNode& node) {
    const Level level = read_level(item, node);
    const auto cpus = static_cast<std::int32_t>(item.integer("cpus", 2, 65536));
    p.domains.push_back({level, cpus, item.number("byte_ns", 0, kMaxNs)});
  });
}

// The key exists since version 6.
void read_base_layout(Profile& p, std::int64_t version, const JsonNode& root, ObjectReader& reader) {
  p.base_layout = reader.text("base_layout", p.base_layout);
  const JsonNode* given = root.get("base_layout");
  if (given == nullptr) return;
  if (version < 6) reader.complain(*given, "'base_layout' belongs to version 6");
  for (const LayoutCost& cost : p.layouts)
    if (cost.layout == p.base_layout) return;
  reader.complain(*given, "'base_layout' names none of 'layouts'");
}

// Both keys exist since version 5.
void read_job(Profile& p, std::int64_t version, ObjectReader& reader) {
  const JsonNode* hosts = reader.array("hosts");
  const JsonNode* pinned = reader.array("pinned");
  if (hosts == nullptr && pinned == nullptr) return;
  const JsonNode& either = hosts != nullptr ? *hosts : *pinned;
  if (hosts == nullptr || pinned == nullptr)
    return reader.complain(either, "'hosts' and 'pinned' belong together");
  if (version < 5) reader.complain(either, "'hosts' belongs to version 5");
  for (const JsonNode& item : hosts->items) {
    if (item.type != JsonNode::Type::kString || item.text.empty())
      reader.complain(item, "a host's name is expected");
    p.hosts.push_back(item.text);
  }
  for (const JsonNode& item : pinned->items) {
    const bool good = item.integer && item.is_number(-1, kMostCpu);
    if (!good) reader.complain(item, "a CPU's number is expected, or -1");
    p.pinned.push_back(good ? static_cast<std::int32_t>(item.number) : -1);
  }
  if (p.pinned.size() != p.topology.cpus.size())
    reader.complain(*pinned, "one number is expected for each CPU of the topology");
  for (const Cpu& cpu : p.topology.cpus)
    if (static_cast<std::size_t>(cpu.host) >= p.hosts.size())
      return reader.complain(*hosts, "the topology has more hosts than 'hosts' names");
}

// Exists since version 6. Each key may be missing.
void read_memory(Profile& p, std::int64_t version, ObjectReader& reader) {
  const JsonNode* node = reader.object("memory");
  if (node == nullptr) return;
  if (version < 6) reader.complain(*node, "'memory' belongs to version 6");
  constexpr double kMostShare = 1000;
  ObjectReader memory(*node, "memory");
  memory.only({"miss_share", "line_share", "overlap", "work_ns", "sibling_share", "prefetch"});
  const auto number = [&](const char* key, double most, std::optional<double>& into) {
    if (node->get(key) != nullptr) into = memory.number(key, 0, most);
  };
  const auto whole = [&](const char* key, std::int64_t least, std::int64_t most,
                         std::optional<std::int32_t>& into) {
    if (node->get(key) != nullptr) into = static_cast<std::int32_t>(memory.integer(key, least, most));
  };
  number("miss_share", 1, p.memory.miss_share);
  number("line_share", 1, p.memory.line_share);
  whole("overlap", 1, 2, p.memory.overlap);
  number("work_ns", kMaxNs, p.memory.work_ns);
  number("sibling_share", kMostShare, p.memory.sibling_share);
  whole("prefetch", 0, 16, p.memory.prefetch);
  reader.take_over(memory);
}

void read_evidence(Profile& p, ObjectReader& reader) {
  constexpr std::int64_t kMaxReads = 1LL << 52;
  reader.each("tearing", {"bytes", "level", "reads", "torn"}, [&](ObjectReader& item, const JsonNode& node) {
    Tearing t;
    t.bytes = static_cast<std::int32_t>(item.integer("bytes", 1, 4096));
    t.level = read_level(item, node);
    t.reads = item.integer("reads", 0, kMaxReads);
    t.torn = item.integer("torn", 0, kMaxReads);
    if (item.ok() && t.torn > t.reads) item.complain(node, "there are more torn reads than reads");
    p.tearing.push_back(t);
  });
  reader.each("citations", {"field", "source", "estimated"}, [&](ObjectReader& item, const JsonNode&) {
    p.citations.push_back({item.text("field"), item.text("source"), item.flag("estimated", false)});
  });
}

void write_matrix(std::string& out, const char* name, const Matrix& m) {
  out += std::string("  \"") + name + "\": [";
  for (std::int32_t i = 0; i < m.n; ++i) {
    out += i == 0 ? "\n    [" : ",\n    [";
    for (std::int32_t j = 0; j < m.n; ++j) {
      if (j > 0) out += ", ";
      out += json_number(m.at(i, j));
    }
    out += "]";
  }
  out += "\n  ],\n";
}

template <class Items, class Print>
void write_list(std::string& out, const char* name, const Items& items, bool last, const Print& print) {
  out += std::string("  \"") + name + "\": [";
  bool first = true;
  for (const auto& item : items) {
    out += (first ? "\n    " : ",\n    ") + print(item);
    first = false;
  }
  out += first ? "]" : "\n  ]";
  out += last ? "\n" : ",\n";
}

void write_memory(std::string& out, const MemoryParameters& memory) {
  std::string keys;
  const auto add = [&](const char* key, const auto& value) {
    if (!value) return;
    keys += std::string(keys.empty() ? "" : ", ") + "\"" + key + "\": ";
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(*value)>>) keys += std::to_string(*value);
    else keys += json_number(*value);
  };
  add("miss_share", memory.miss_share);
  add("line_share", memory.line_share);
  add("overlap", memory.overlap);
  add("work_ns", memory.work_ns);
  add("sibling_share", memory.sibling_share);
  add("prefetch", memory.prefetch);
  if (!keys.empty()) out += "  \"memory\": {" + keys + "},\n";
}

bool knows_bytes(const Profile& p) {  // beyond g
  return p.g_direct.n > 0 || p.direct_ns > 0 || p.fold_byte_ns > 0 || !p.domains.empty();
}

int version_of(const Profile& p) {
  if (p.memory != MemoryParameters{} || p.base_layout != "private") return 6;
  if (!p.hosts.empty()) return 5;
  if (!p.blocks.empty()) return 4;
  if (knows_bytes(p)) return 3;
  return p.g.n > 0 ? 2 : 1;
}

std::string indented(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c;
    if (c == '\n') out += "  ";
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '\n')) out.pop_back();
  return out;
}

void write_signals(std::string& out, const Profile& p) {
  if (p.levels && p.topology.cpus.size() > static_cast<std::size_t>(p.o.n)) {
    out += "  \"levels\": " + levels_text(*p.levels, "  ") + ",\n";
    return;
  }
  write_matrix(out, "o", p.o);
  write_matrix(out, "l", p.l);
}

void write_evidence(std::string& out, const Profile& p) {
  write_list(out, "tearing", p.tearing, false, [](const Tearing& t) {
    return "{\"bytes\": " + std::to_string(t.bytes) + ", \"level\": \"" + name_of(t.level) +
           "\", \"reads\": " + std::to_string(t.reads) + ", \"torn\": " + std::to_string(t.torn) + "}";
  });
  write_list(out, "citations", p.citations, false, [](const Citation& c) {
    return "{\"field\": " + json_string(c.field) + ", \"source\": " + json_string(c.source) +
           ", \"estimated\": " + (c.estimated ? "true" : "false") + "}";
  });
  write_list(out, "remarks", p.remarks, true, json_string);
}

}  // namespace

std::string to_json(const Profile& p) {
  const bool more = knows_bytes(p);
  std::string out =
      "{\n  \"format\": \"fermata-profile\",\n  \"version\": " + std::to_string(version_of(p)) + ",\n";
  const auto text = [&](const char* key, const std::string& value) {
    out += std::string("  \"") + key + "\": " + json_string(value) + ",\n";
  };
  const auto cost = [&](const char* key, double value) {
    out += std::string("  \"") + key + "\": " + json_number(value) + ",\n";
  };
  text("machine", p.machine);
  text("fingerprint", p.fingerprint);
  text("origin", p.origin);
  text("engine", p.engine);
  text("date", p.date);
  out += "  \"topology\": " + indented(to_json(p.topology)) + ",\n";
  if (!p.hosts.empty()) {
    write_list(out, "hosts", p.hosts, false, json_string);
    write_list(out, "pinned", p.pinned, false, [](std::int32_t cpu) { return std::to_string(cpu); });
  }
  write_signals(out, p);
  if (p.g.n > 0) write_matrix(out, "g", p.g);
  if (p.g_direct.n > 0) write_matrix(out, "g_direct", p.g_direct);
  if (more) {
    cost("direct_ns", p.direct_ns);
    cost("fold_byte_ns", p.fold_byte_ns);
    write_list(out, "domains", p.domains, false, [](const DomainBytes& d) {
      return std::string("{\"level\": \"") + name_of(d.level) + "\", \"cpus\": " + std::to_string(d.cpus) +
             ", \"byte_ns\": " + json_number(d.byte_ns) + "}";
    });
  }
  if (!p.blocks.empty()) {
    write_list(out, "blocks", p.blocks, false, [](const BlockWay& b) {
      return "{\"way\": " + json_string(b.way) + ", \"both\": " + (b.both ? "true" : "false") +
             ", \"bytes\": " + std::to_string(b.bytes) + ", \"ns\": " + json_number(b.ns) + "}";
    });
  }
  cost("one_way_ns", p.one_way_ns);
  cost("awaited_ns", p.awaited_ns);
  cost("reader_ns", p.reader_ns);
  cost("word_read_ns", p.word_read_ns);
  cost("yield_ns", p.yield_ns);
  cost("futex_ns", p.futex_ns);
  write_list(out, "word_add_ns", p.word_add_ns, false, json_number);
  write_list(out, "layouts", p.layouts, false, [](const LayoutCost& c) {
    return "{\"layout\": " + json_string(c.layout) + ", \"period_ns\": " + json_number(c.period_ns) + "}";
  });
  if (p.base_layout != "private") text("base_layout", p.base_layout);
  write_memory(out, p.memory);
  write_evidence(out, p);
  return out + "}\n";
}

Result<Profile> profile_from_json(std::string_view text) {
  const auto root = read_json(text);
  if (!root) return root.error();
  ObjectReader reader(*root, "profile");
  const std::int64_t version = reader.ok() ? reader.integer("version", 0, 1 << 20, 0) : 0;
  if (reader.ok() && (reader.text("format", "") != "fermata-profile" || version < 1 || version > 6))
    reader.complain(*root, "this is not a fermata-profile of version 1 to 6");
  reader.only({"format",       "version",    "machine",    "fingerprint", "origin",
               "engine",       "date",       "topology",   "o",           "l",
               "levels",       "one_way_ns", "awaited_ns", "reader_ns",   "word_add_ns",
               "word_read_ns", "layouts",    "tearing",    "yield_ns",    "futex_ns",
               "citations",    "remarks",    "g",          "g_direct",    "direct_ns",
               "fold_byte_ns", "domains",    "blocks",     "hosts",       "pinned",
               "base_layout",  "memory"});
  Profile p;
  p.machine = reader.text("machine");
  p.fingerprint = reader.text("fingerprint", "");
  p.origin = reader.text("origin");
  if (reader.ok() && p.origin != "measured" && p.origin != "published" && p.origin != "estimated")
    reader.complain(*root, "'origin' must be measured, published or estimated");
  p.engine = reader.text("engine");
  if (reader.ok() && p.engine != "threads" && p.engine != "processes")
    reader.complain(*root, "'engine' must be threads or processes");
  p.date = reader.text("date", "");
  p.one_way_ns = reader.number("one_way_ns", 0, kMaxNs);
  p.awaited_ns = reader.number("awaited_ns", 0, kMaxNs, 0);
  p.reader_ns = reader.number("reader_ns", 0, kMaxNs, 0);
  p.word_read_ns = reader.number("word_read_ns", 0, kMaxNs, 0);
  p.yield_ns = reader.number("yield_ns", 0, kMaxNs, 0);
  p.futex_ns = reader.number("futex_ns", 0, kMaxNs, 0);
  read_lists(p, reader);
  read_base_layout(p, version, *root, reader);
  read_evidence(p, reader);
  const JsonNode* topology = reader.object("topology");
  if (topology == nullptr) reader.complain(*root, "'topology' is missing");
  if (!reader.ok()) return reader.error();
  auto parsed = topology_from_node(*topology);
  if (!parsed) return parsed.error();
  p.topology = *std::move(parsed);
  read_job(p, version, reader);
  read_costs(p, *root, reader);
  read_bytes(p, version, reader);
  read_blocks(p, version, reader);
  read_memory(p, version, reader);
  if (!reader.ok()) return reader.error();
  return p;
}

}  // namespace fermata
