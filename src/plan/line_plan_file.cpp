// Files of plans on lines. The reader rejects an invalid file as a whole, with line and reason. It proves the
// schedule again. The cache has one readable file and one compiled file per key. A barrier for unpinned
// threads has a second compiled file, for libfermata-rt.
#include <algorithm>
#include <optional>

#include "base/line.hpp"
#include "base/text.hpp"
#include "exec/program.hpp"
#include "json/text.hpp"
#include "plan/plan_file.hpp"
#include "schedule/print.hpp"

namespace fermata {
namespace {

constexpr FileFormat kFormat{"fermata-plan", 2};
constexpr CandidateForm kForm{.algorithm = "algorithm", .lines = true};
constexpr auto kMostMembers = static_cast<std::int32_t>(kMaxMembers);
constexpr int kDeepest = 16;

// In the file, an inner node has no ranks. It has the ranks of its children, in ascending order.
std::string levels_text(const Cluster& node, const std::string& indent) {
  std::string out = "{\"diameter_ns\": " + json_number(node.diameter_ns);
  if (node.children.empty()) return out + ", \"ranks\": " + list_text(node.ranks) + "}";
  out += ", \"children\": [";
  for (std::size_t i = 0; i < node.children.size(); ++i)
    out += (i ? ",\n" : "\n") + indent + "  " + levels_text(node.children[i], indent + "  ");
  return out + "\n" + indent + "]}";
}

std::string schedule_text(const Schedule& schedule) {
  const std::string text = to_text(schedule);
  std::string out = "[";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += (at ? ",\n    " : "\n    ") + json_string(text.substr(at, end - at));
    at = end + 1;
  }
  return out + "\n  ]";
}

Cluster read_levels(const JsonNode& node, std::int32_t members, int depth, ObjectReader& outer) {
  Cluster cluster;
  ObjectReader reader(node, "levels");
  reader.only({"diameter_ns", "ranks", "children"});
  cluster.diameter_ns = reader.number("diameter_ns", 0, kMostNs, 0);
  const JsonNode* ranks = reader.array("ranks");
  const JsonNode* children = reader.array("children");
  if ((ranks == nullptr) == (children == nullptr))
    reader.complain(node, "either 'ranks' or 'children' is expected");
  if (depth > kDeepest) reader.complain(node, "levels nest too deeply");
  cluster.ranks = read_numbers(ranks, "rank", members - 1, 0, reader);
  if (reader.ok() && children != nullptr) {
    if (children->items.size() < 2) reader.complain(*children, "a level has at least two clusters");
    for (const JsonNode& child : children->items) {
      if (!reader.ok()) break;
      cluster.children.push_back(read_levels(child, members, depth + 1, reader));
      const std::vector<std::int32_t>& below = cluster.children.back().ranks;
      cluster.ranks.insert(cluster.ranks.end(), below.begin(), below.end());
    }
    std::sort(cluster.ranks.begin(), cluster.ranks.end());
  }
  if (reader.ok() && cluster.ranks.empty()) reader.complain(node, "a cluster without ranks");
  outer.take_over(reader);
  return cluster;
}

PlanKey read_key(const JsonNode& node, ObjectReader& outer) {
  ObjectReader reader(node, "key");
  reader.only({"fingerprint", "collective", "members", "payload", "engine", "cpus", "hosts"});
  PlanKey key;
  read_team(node, kMostMembers, reader, key);
  const std::optional<Collective> collective = collective_from(reader.text("collective"));
  if (reader.ok() && (!collective || !rides_on_a_line(*collective)))
    reader.complain(node, "'collective' must be barrier, broadcast, reduce or allreduce");
  key.collective = collective.value_or(Collective::kBarrier);
  key.payload = static_cast<std::int32_t>(reader.integer("payload", 0, kLinePayload));
  key.hosts = read_numbers(reader.array("hosts"), "host", kMostMembers - 1, key.members, reader);
  if (reader.ok() && key.payload != payload_class(key.collective, key.payload))
    reader.complain(node, "'payload' must be 8 or 56, or 0 for a barrier");
  outer.take_over(reader);
  return key;
}

// The schedule is a list of strings, one per line. An error names the line where the list begins, then the
// parser's line within the schedule.
Result<Schedule> read_schedule(const JsonNode& node) {
  std::string text;
  for (const JsonNode& line : node.items) {
    if (line.type != JsonNode::Type::kString)
      return Error{Status::kParse,
                   "line " + std::to_string(line.line) + ": a line of the schedule is a string"};
    text += line.text + "\n";
  }
  auto schedule = parse_schedule(text);
  if (!schedule)
    return Error{Status::kParse, "line " + std::to_string(node.line) +
                                     ": in the schedule that begins here, " + schedule.error().message};
  return schedule;
}

std::string flaw_of(const Plan& plan) {
  const Schedule& s = plan.schedule;
  if (s.members != plan.key.members) return "the schedule is for " + std::to_string(s.members) + " members";
  if (s.collective != plan.key.collective) return std::string("the schedule is a ") + name_of(s.collective);
  if (s.collective != Collective::kBarrier && s.chunks != 1) return "a payload on a line must be one chunk";
  std::vector<std::int32_t> ranks = plan.levels.ranks;
  std::sort(ranks.begin(), ranks.end());
  if (ranks.size() != static_cast<std::size_t>(s.members)) return "the levels don't hold every rank";
  for (std::size_t r = 0; r < ranks.size(); ++r)
    if (ranks[r] != static_cast<std::int32_t>(r)) return "the levels don't hold every rank once";
  return {};
}

Result<Plan> proved(Plan plan, const JsonNode& root) {
  const std::string where = "line " + std::to_string(root.get("schedule")->line) + ": ";
  if (const std::string flaw = flaw_of(plan); !flaw.empty()) return Error{Status::kParse, where + flaw};
  const std::string refusal = prove(plan);
  if (!refusal.empty()) return Error{Status::kVerify, where + refusal};
  return plan;
}

std::string canonical(const PlanKey& key) {
  std::string text = key.fingerprint + "|" + name_of(key.collective) + "|" + std::to_string(key.members) +
                     "|" + std::to_string(key.payload) + "|" + name_of(key.engine);
  for (const std::int32_t cpu : key.cpus) text += "|" + std::to_string(cpu);
  for (const std::int32_t host : key.hosts) text += "|h" + std::to_string(host);
  return text;
}

std::string compiled_path(const std::string& path) { return path.substr(0, path.size() - 5) + ".bin"; }

// libfermata-rt knows only the number of its threads, so it takes plans for unpinned threads alone. The plan
// must be for this machine, not for a topology that was read from a file.
bool is_for_the_runtime(const PlanKey& key) {
  if (key.collective != Collective::kBarrier || key.payload != 0 || key.engine != Engine::kThreads)
    return false;
  if (!key.cpus.empty() || !key.hosts.empty()) return false;
  const auto here = discover_topology();
  return here && fingerprint(*here) == key.fingerprint;
}

}  // namespace

std::string to_json(const Plan& plan) {
  const PlanKey& k = plan.key;
  std::string out = header_text(kFormat);
  out += "  \"key\": {\"fingerprint\": " + json_string(k.fingerprint) + ", \"collective\": \"" +
         name_of(k.collective) + "\", \"members\": " + std::to_string(k.members) +
         ", \"payload\": " + std::to_string(k.payload) + ", \"engine\": \"" + name_of(k.engine) +
         "\", \"cpus\": " + list_text(k.cpus) +
         (k.hosts.empty() ? "" : ", \"hosts\": " + list_text(k.hosts)) + "},\n";
  out += "  \"origin\": " + json_string(plan.origin) + ",\n  \"date\": " + json_string(plan.date) + ",\n";
  out += "  \"layout\": " + json_string(to_string(plan.layout)) + ",\n";
  out += "  \"credit_batch\": " + std::to_string(plan.credit_batch) + ",\n";
  out += "  \"predicted_latency_ns\": " + json_number(plan.predicted_latency_ns) + ",\n";
  out += "  \"predicted_period_ns\": " + json_number(plan.predicted_period_ns) + ",\n";
  out += "  \"measured_period_ns\": " + json_number(plan.measured_period_ns) + ",\n";
  if (plan.simulated_period_ns > 0)
    out += "  \"simulated_period_ns\": " + json_number(plan.simulated_period_ns) + ",\n";
  out += "  \"bound_ns\": " + json_number(plan.bound_ns) + ",\n";
  out += "  \"levels\": " + levels_text(plan.levels, "  ") + ",\n";
  out += "  \"schedule\": " + schedule_text(plan.schedule) + ",\n";
  return out + "  " + candidates_text(plan.candidates, kForm, "  ") + "\n}\n";
}

Result<Plan> plan_from_json(std::string_view text) {
  const auto root = read_json(text);
  if (!root) return root.error();
  ObjectReader reader(*root, "plan");
  check_header(*root, kFormat, reader);
  reader.only({"format", "version", "key", "origin", "date", "layout", "credit_batch", "predicted_latency_ns",
               "predicted_period_ns", "measured_period_ns", "simulated_period_ns", "bound_ns", "levels",
               "schedule", "candidates"});
  const JsonNode* key = reader.object("key");
  const JsonNode* levels = reader.object("levels");
  const JsonNode* schedule = reader.array("schedule");
  if (key == nullptr || levels == nullptr || schedule == nullptr)
    reader.complain(*root, "'key', 'levels' or 'schedule' is missing");
  if (!reader.ok()) return reader.error();
  Plan plan;
  plan.key = read_key(*key, reader);
  plan.origin = read_origin(*root, kForm, reader);
  plan.date = reader.text("date", "");
  plan.layout = read_layout(*root, reader);
  plan.credit_batch = static_cast<std::int32_t>(reader.integer("credit_batch", 0, kMostSlots));
  plan.predicted_latency_ns = reader.number("predicted_latency_ns", 0, kMostNs);
  plan.predicted_period_ns = reader.number("predicted_period_ns", 0, kMostNs);
  plan.measured_period_ns = reader.number("measured_period_ns", 0, kMostNs, 0);
  plan.simulated_period_ns = reader.number("simulated_period_ns", 0, kMostNs, 0);
  plan.bound_ns = reader.number("bound_ns", 0, kMostNs);
  if (reader.ok()) plan.levels = read_levels(*levels, plan.key.members, 0, reader);
  plan.candidates = read_candidates(reader.array("candidates"), kForm, reader);
  if (!reader.ok()) return reader.error();
  auto parsed = read_schedule(*schedule);
  if (!parsed) return parsed.error();
  plan.schedule = std::move(parsed.value());
  return proved(std::move(plan), *root);
}

std::string plan_path(const PlanKey& key) { return cached_path("plan", canonical(key)); }

Result<Plan> load_plan_file(const std::string& path) {
  return path.empty() ? no_cache() : load_file(path, plan_from_json);
}

Result<Plan> load_plan(const PlanKey& key) {
  const std::string path = plan_path(key);
  auto plan = load_plan_file(path);
  if (plan && plan->key != key)
    return Error{Status::kParse,
                 path + ": line 1: it is for another machine, placement or collective than its name says"};
  return plan;
}

Result<std::string> save_plan(const Plan& plan) {
  const std::string path = plan_path(plan.key);
  if (path.empty()) return no_cache();
  const auto program = compile_lines(plan);
  if (!program) return program.error();
  // The compiled file is written first: a reader that finds the readable file then finds both.
  const std::string_view bytes(reinterpret_cast<const char*>(program->data()), program->size());
  if (const auto written = write_file_atomically(compiled_path(path), bytes); !written)
    return written.error();
  if (const std::string copy = is_for_the_runtime(plan.key) ? runtime_barrier_path(plan.key.members) : "";
      !copy.empty()) {
    if (const auto written = write_file_atomically(copy, bytes); !written) return written.error();
    keep_cache_to_owner();
  }
  return write_file_atomically(path, to_json(plan));
}

}  // namespace fermata
