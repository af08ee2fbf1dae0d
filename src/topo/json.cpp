#include "topo/json.hpp"
#include "json/text.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"

namespace fermata {

namespace {

// A CPU is a row of eight numbers, in the order of "columns". Short rows keep files of 1,024 CPUs small.
Cpu cpu_of_row(const JsonNode& row, ObjectReader& reader) {
  Cpu c;
  if (row.type != JsonNode::Type::kArray || row.items.size() != std::size(kCpuIds)) {
    reader.complain(row, "a CPU is an array of 8 numbers");
    return c;
  }
  for (std::size_t i = 0; i < std::size(kCpuIds); ++i) {
    const JsonNode& item = row.items[i];
    if (!item.integer || !item.is_number(0, kMaxId))
      reader.complain(item, std::string("'") + kCpuIds[i].name + "' must be a whole number from 0 to 65536");
    else c.*kCpuIds[i].member = static_cast<std::int32_t>(item.number);
  }
  return c;
}

Result<Topology> regular_of(const JsonNode& node) {
  ObjectReader reader(node, "regular topology");
  reader.only({"hosts", "packages", "numa", "l3", "l2", "cores", "smt"});
  RegularShape shape;
  const auto count = [&](const char* key, std::int32_t low) {
    return static_cast<std::int32_t>(reader.integer(key, low, kMaxId, key == std::string_view("l2") ? 0 : 1));
  };
  shape.hosts = count("hosts", 1);
  shape.packages = count("packages", 1);
  shape.numa = count("numa", 1);
  shape.l3 = count("l3", 0);
  shape.l2 = count("l2", 0);
  shape.cores = count("cores", 1);
  shape.smt = count("smt", 1);
  if (shape.cpus() == 0) reader.complain(node, "more than 65536 CPUs");
  if (!reader.ok()) return reader.error();
  return topology_from_regular(shape);
}

}  // namespace

std::string topology_flaw(const Topology& t) {
  std::set<std::int32_t> listed;
  std::map<std::int32_t, Cpu> cores, packages;
  std::map<std::int32_t, std::int32_t> numa_host;
  for (const Cpu& c : t.cpus) {
    const std::string where = "CPU " + std::to_string(c.os_index) + ": ";
    if (!listed.insert(c.os_index).second) return where + "listed twice";
    const Cpu& core = cores.try_emplace(c.core, c).first->second;
    if (core.l2 != c.l2 || core.l3 != c.l3 || core.package != c.package)
      return where + "its core " + std::to_string(c.core) + " lies in two domains";
    if (packages.try_emplace(c.package, c).first->second.host != c.host)
      return where + "its package " + std::to_string(c.package) + " lies in two hosts";
    if (numa_host.try_emplace(c.numa, c.host).first->second != c.host)
      return where + "its NUMA node " + std::to_string(c.numa) + " lies in two hosts";
  }
  if (t.cpus.empty()) return "there are no CPUs";
  for (const Cpu& c : t.cpus)
    if (t.network && c.host >= hosts_of(t.network))
      return "the network has " + counted(static_cast<std::size_t>(hosts_of(t.network)), "host") +
             ", but CPU " + std::to_string(c.os_index) + " is on host " + std::to_string(c.host);
  for (const std::string* text : {&t.source, &t.model, &t.kernel, &t.shape})
    for (const char c : *text)
      if (static_cast<unsigned char>(c) < 32) return "a control character";  // impossible in the text form
  return {};
}

Result<Topology> topology_from_node(const JsonNode& node) {
  ObjectReader reader(node, "topology");
  reader.only({"source", "model", "kernel", "virtual_machine", "line_bytes", "cpus_total", "quota_cpus",
               "shape", "columns", "cpus", "regular", "network"});
  Topology t;
  if (const JsonNode* regular = reader.object("regular")) {
    auto made = regular_of(*regular);
    if (!made) return made;
    t = *std::move(made);
    if (reader.array("cpus") != nullptr) reader.complain(node, "'regular' and 'cpus' exclude each other");
  } else if (const JsonNode* rows = reader.array("cpus")) {
    for (const JsonNode& row : rows->items) t.cpus.push_back(cpu_of_row(row, reader));
    // The default if the file has no "cpus_total".
    t.cpus_total = static_cast<std::int32_t>(std::max<std::size_t>(t.cpus.size(), 1));
  } else {
    reader.complain(node, "'cpus' or 'regular' is missing");
  }
  t.source = reader.text("source", t.source);
  t.model = reader.text("model", "");
  t.kernel = reader.text("kernel", "");
  t.virtual_machine = reader.flag("virtual_machine", false);
  t.line_bytes = static_cast<std::int32_t>(reader.integer("line_bytes", 16, 4096, 64));
  t.cpus_total = static_cast<std::int32_t>(reader.integer("cpus_total", 1, kMaxId, t.cpus_total));
  if (t.cpus_total == 0) t.cpus_total = static_cast<std::int32_t>(t.cpus.size());
  t.quota_cpus = reader.number("quota_cpus", 0, 1e9, 0);
  t.shape = reader.text("shape", "");
  if (const JsonNode* network = reader.object("network")) t.network = network_from_node(*network, reader);
  if (reader.ok()) {
    const std::string flaw = topology_flaw(t);
    if (!flaw.empty()) reader.complain(node, flaw);
  }
  if (!reader.ok()) return reader.error();
  return t;
}

std::string to_json(const Topology& t) {
  std::string out = "{\n";
  out += "  \"source\": " + json_string(t.source) + ",\n";
  out += "  \"model\": " + json_string(t.model) + ",\n";
  out += "  \"kernel\": " + json_string(t.kernel) + ",\n";
  out += std::string("  \"virtual_machine\": ") + (t.virtual_machine ? "true" : "false") + ",\n";
  out += "  \"line_bytes\": " + std::to_string(t.line_bytes) + ",\n";
  out += "  \"cpus_total\": " + std::to_string(t.cpus_total) + ",\n";
  out += "  \"quota_cpus\": " + json_number(t.quota_cpus) + ",\n";
  out += "  \"shape\": " + json_string(t.shape) + ",\n";
  if (t.network) out += "  \"network\": " + to_json(t.network) + ",\n";
  out += "  \"columns\": [\"cpu\", \"core\", \"l2\", \"l3\", \"numa\", \"package\", \"smt\", \"host\"],\n";
  out += "  \"cpus\": [";
  for (std::size_t i = 0; i < t.cpus.size(); ++i) {
    out += i == 0 ? "\n    [" : ",\n    [";
    for (std::size_t k = 0; k < std::size(kCpuIds); ++k)
      out += (k == 0 ? "" : ", ") + std::to_string(t.cpus[i].*kCpuIds[k].member);
    out += "]";
  }
  return out + "\n  ]\n}\n";
}

}  // namespace fermata
