#include "plan/plan_file.hpp"

#include "base/text.hpp"
#include "json/text.hpp"

namespace fermata {
namespace {

constexpr std::int32_t kMostCpu = 1 << 20;
constexpr std::size_t kMostCandidates = 4096;

}  // namespace

const char* name_of(Engine engine) { return engine == Engine::kThreads ? "threads" : "processes"; }

std::string header_text(const FileFormat& format) {
  return "{\n  \"format\": " + json_string(format.name) +
         ",\n  \"version\": " + std::to_string(format.version) + ",\n";
}

void check_header(const JsonNode& root, const FileFormat& format, ObjectReader& reader) {
  if (reader.ok() && (reader.text("format", "") != format.name ||
                      reader.integer("version", 0, 1 << 20, 0) != format.version))
    reader.complain(
        root, std::string("this is no ") + format.name + " of version " + std::to_string(format.version));
}

std::string list_text(const std::vector<std::int32_t>& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + std::to_string(values[i]);
  return out + "]";
}

std::vector<std::int32_t> read_numbers(const JsonNode* node, const std::string& entry, std::int32_t most,
                                       std::int32_t members, ObjectReader& reader) {
  std::vector<std::int32_t> values;
  if (node == nullptr || node->items.empty()) return values;
  if (members > 0 && node->items.size() != static_cast<std::size_t>(members))
    reader.complain(*node, "a " + entry + " for each member is expected, or none");
  for (const JsonNode& item : node->items) {
    if (!item.integer || !item.is_number(0, most))
      reader.complain(item, "a " + entry + "'s number from 0 to " + std::to_string(most) + " is expected");
    if (!reader.ok()) break;
    values.push_back(static_cast<std::int32_t>(item.number));
  }
  return values;
}

void read_team(const JsonNode& node, std::int32_t most_members, ObjectReader& reader, TeamKey& team) {
  team.fingerprint = reader.text("fingerprint");
  const std::string engine = reader.text("engine");
  if (reader.ok() && engine != name_of(Engine::kThreads) && engine != name_of(Engine::kProcesses))
    reader.complain(node, "'engine' must be threads or processes");
  team.engine = engine == name_of(Engine::kProcesses) ? Engine::kProcesses : Engine::kThreads;
  team.members = static_cast<std::int32_t>(reader.integer("members", 1, most_members));
  team.cpus = read_numbers(reader.array("cpus"), "CPU", kMostCpu, team.members, reader);
}

std::string read_origin(const JsonNode& node, CandidateForm form, ObjectReader& reader) {
  std::string origin = reader.text("origin");
  const bool simulated = form.lines && origin == "simulated";
  if (reader.ok() && origin != "estimated" && origin != "predicted" && origin != "measured" && !simulated)
    reader.complain(node, std::string("'origin' must be estimated, predicted") +
                              (form.lines ? ", simulated" : "") + " or measured");
  return origin;
}

Layouts read_layout(const JsonNode& node, ObjectReader& reader) {
  const auto layout = parse_layouts(reader.text("layout"));
  if (reader.ok() && !layout) reader.complain(*node.get("layout"), layout.error().message);
  return layout ? *layout : Layouts{};
}

std::string candidates_text(const std::vector<Candidate>& candidates, CandidateForm form,
                            const std::string& indent) {
  std::string out = "\"candidates\": [";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    out += (i ? ",\n" : "\n") + indent + "  {\"" + form.algorithm + "\": " + json_string(c.algorithm) +
           (form.lines ? ", \"layout\": " + json_string(to_string(c.layout)) : "") +
           ", \"predicted_ns\": " + json_number(c.predicted_ns) +
           ", \"measured_ns\": " + json_number(c.measured_ns) +
           (c.simulated_ns > 0 ? ", \"simulated_ns\": " + json_number(c.simulated_ns) : "") +
           ", \"verdict\": " + json_string(c.verdict) + "}";
  }
  return out + (candidates.empty() ? "]" : "\n" + indent + "]");
}

std::vector<Candidate> read_candidates(const JsonNode* node, CandidateForm form, ObjectReader& outer) {
  std::vector<Candidate> candidates;
  if (node == nullptr) return candidates;
  if (node->items.size() > kMostCandidates)
    outer.complain(*node, "'candidates' must be at most 4096 of them");
  for (const JsonNode& item : node->items) {
    if (!outer.ok()) break;
    ObjectReader reader(item, "candidates");
    if (form.lines)
      reader.only({form.algorithm, "layout", "predicted_ns", "measured_ns", "simulated_ns", "verdict"});
    else reader.only({form.algorithm, "predicted_ns", "measured_ns", "verdict"});
    Candidate c{reader.text(form.algorithm), reader.number("predicted_ns", 0, kMostNs),
                reader.number("measured_ns", 0, kMostNs, 0), reader.text("verdict")};
    if (form.lines) {
      c.layout = read_layout(item, reader);
      c.simulated_ns = reader.number("simulated_ns", 0, kMostNs, 0);
    }
    outer.take_over(reader);
    candidates.push_back(std::move(c));
  }
  return candidates;
}

std::string cached_path(const char* prefix, const std::string& key) {
  const std::string directory = cache_directory();
  if (directory.empty()) return {};
  return directory + "/" + prefix + "-" + hex(hash_of(key)) + ".json";
}

}  // namespace fermata
