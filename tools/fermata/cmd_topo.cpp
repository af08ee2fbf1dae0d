// fermata topo: shows the CPUs of this machine or of a file, with their caches, NUMA nodes and packages.
#include <fmt/core.h>

#include <memory>

#include "commands.hpp"
#include "profile/measure.hpp"
#include "profile/store.hpp"
#include "topo/topology.hpp"

namespace fermata::tool {

namespace {

struct TopoArguments {
  std::string xml, synthetic, file;
  bool json = false, text = false;
};

Result<Topology> chosen(const TopoArguments& o) {
  if (!o.xml.empty()) return topology_from_xml(o.xml);
  if (!o.synthetic.empty()) return topology_from_synthetic(o.synthetic);
  if (!o.file.empty()) return topology_from_file(o.file);
  return discover_topology();
}

// Prints where a saved profile of this machine contradicts the topology.
void note_contradictions(const Topology& topology, std::FILE* to) {
  auto profile = load_profile(fingerprint(topology), "threads");
  if (!profile) profile = load_profile(fingerprint(topology), "processes");
  if (!profile) return;
  for (const std::string& text : contradictions(*profile)) fmt::print(to, "note: {}\n", text);
}

void run(const TopoArguments& o) {
  const Topology topology = take(chosen(o));
  if (o.json) fmt::print("{}", to_json(topology));
  else if (o.text) fmt::print("{}", to_text(topology));
  else fmt::print("{}", to_table(topology));
  note_contradictions(topology, o.json || o.text ? stderr : stdout);
}

}  // namespace

void add_topo(CLI::App& app) {
  auto o = std::make_shared<TopoArguments>();
  CLI::App* command = app.add_subcommand("topo", "Show packages, NUMA nodes, caches, cores and CPUs");
  auto* xml = command->add_option(
      "--xml", o->xml,
      "read this hwloc XML file instead of this machine; hwloc trusts the file, so you must too");
  auto* synthetic = command->add_option("--synthetic", o->synthetic,
                                        "an hwloc synthetic string: \"pack:2 l3:1 core:4 pu:2\"");
  auto* file = command->add_option("--file", o->file,
                                   "a file that --text or --json printed, hwloc XML, or a machine file");
  xml->excludes(synthetic)->excludes(file);
  synthetic->excludes(file);
  auto* json = command->add_flag("--json", o->json, "print JSON");
  command->add_flag("--text", o->text, "print the text form that --file reads")->excludes(json);
  command->callback([o] { run(*o); });
}

}  // namespace fermata::tool
