// Reads and writes plan files, which have a version. The reader rejects an invalid file as a whole, with line
// and reason. It proves the schedule again.
#include <algorithm>
#include <cmath>

#include "json/reader.hpp"
#include "json/text.hpp"
#include "plan/search.hpp"
#include "schedule/print.hpp"

namespace fermata {
namespace {

constexpr int kVersion = 2;
constexpr double kMostNs = 1e15;
constexpr std::int32_t kMostMembers = 4096;
constexpr int kDeepest = 16;

std::string list(const std::vector<std::int32_t>& values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + std::to_string(values[i]);
  return out + "]";
}

// In the file, an inner node has no ranks. It has the ranks of its children, in ascending order.
std::string levels_text(const Cluster& node, const std::string& indent) {
  std::string out = "{\"diameter_ns\": " + json_number(node.diameter_ns);
  if (node.children.empty()) return out + ", \"ranks\": " + list(node.ranks) + "}";
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

std::vector<std::int32_t> read_integers(const JsonNode* node, std::int32_t most, ObjectReader& reader) {
  std::vector<std::int32_t> values;
  if (node == nullptr) return values;
  for (const JsonNode& item : node->items) {
    const bool good =
        item.type == JsonNode::Type::kNumber && item.integer && item.number >= 0 && item.number <= most;
    if (!good) reader.complain(item, "a whole number from 0 to " + std::to_string(most) + " is expected");
    if (!good) return values;
    values.push_back(static_cast<std::int32_t>(item.number));
  }
  return values;
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
  cluster.ranks = read_integers(ranks, members - 1, reader);
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

int index_of(const std::string& name, const char* const* names, int count) {
  for (int k = 0; k < count; ++k)
    if (name == names[k]) return k;
  return -1;
}

PlanKey read_key(const JsonNode& node, ObjectReader& outer) {
  constexpr const char* kNames[kLineCollectiveCount] = {"barrier", "broadcast", "reduce", "allreduce"};
  constexpr const char* kEngines[] = {"threads", "processes"};
  ObjectReader reader(node, "key");
  reader.only({"fingerprint", "collective", "members", "payload", "engine", "cpus", "hosts"});
  PlanKey key;
  key.fingerprint = reader.text("fingerprint");
  const int collective = index_of(reader.text("collective"), kNames, kLineCollectiveCount);
  const int engine = index_of(reader.text("engine"), kEngines, 2);
  if (reader.ok() && collective < 0)
    reader.complain(node, "'collective' must be barrier, broadcast, reduce or allreduce");
  if (reader.ok() && engine < 0) reader.complain(node, "'engine' must be threads or processes");
  key.collective = static_cast<Collective>(std::max(0, collective));
  key.engine = static_cast<Engine>(std::max(0, engine));
  key.members = static_cast<std::int32_t>(reader.integer("members", 1, kMostMembers));
  key.payload = static_cast<std::int32_t>(reader.integer("payload", 0, kLinePayload));
  key.cpus = read_integers(reader.array("cpus"), 1 << 20, reader);
  if (reader.ok() && !key.cpus.empty() && key.cpus.size() != static_cast<std::size_t>(key.members))
    reader.complain(
        node, std::to_string(key.cpus.size()) + " CPUs for " + std::to_string(key.members) + " members");
  key.hosts = read_integers(reader.array("hosts"), kMostMembers - 1, reader);
  if (reader.ok() && !key.hosts.empty() && key.hosts.size() != static_cast<std::size_t>(key.members))
    reader.complain(
        node, std::to_string(key.hosts.size()) + " hosts for " + std::to_string(key.members) + " members");
  if (reader.ok() && key.payload != payload_class(key.collective, key.payload))
    reader.complain(node, "'payload' must be 8 or 56, or 0 for a barrier");
  outer.take_over(reader);
  return key;
}

Layouts read_layout(const JsonNode& root, ObjectReader& reader) {
  const auto layout = parse_layouts(reader.text("layout"));
  if (reader.ok() && !layout) reader.complain(*root.get("layout"), layout.error().message);
  return layout ? *layout : Layouts{};
}

std::vector<Candidate> read_candidates(const JsonNode* node, ObjectReader& outer) {
  std::vector<Candidate> candidates;
  if (node == nullptr) return candidates;
  for (const JsonNode& item : node->items) {
    ObjectReader reader(item, "candidates");
    reader.only({"algorithm", "layout", "predicted_ns", "measured_ns", "verdict"});
    Candidate c;
    c.algorithm = reader.text("algorithm");
    c.layout = read_layout(item, reader);
    c.predicted_ns = reader.number("predicted_ns", 0, kMostNs);
    c.measured_ns = reader.number("measured_ns", 0, kMostNs, 0);
    c.verdict = reader.text("verdict");
    outer.take_over(reader);
    if (!outer.ok()) break;
    candidates.push_back(std::move(c));
  }
  return candidates;
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

}  // namespace

std::string to_json(const Plan& plan) {
  const PlanKey& k = plan.key;
  std::string out = "{\n  \"format\": \"fermata-plan\",\n  \"version\": " + std::to_string(kVersion) + ",\n";
  out += "  \"key\": {\"fingerprint\": " + json_string(k.fingerprint) + ", \"collective\": \"" +
         name_of(k.collective) + "\", \"members\": " + std::to_string(k.members) +
         ", \"payload\": " + std::to_string(k.payload) + ", \"engine\": \"" +
         (k.engine == Engine::kThreads ? "threads" : "processes") + "\", \"cpus\": " + list(k.cpus) +
         (k.hosts.empty() ? "" : ", \"hosts\": " + list(k.hosts)) + "},\n";
  out += "  \"origin\": " + json_string(plan.origin) + ",\n  \"date\": " + json_string(plan.date) + ",\n";
  out += "  \"layout\": " + json_string(to_string(plan.layout)) + ",\n";
  out += "  \"credit_batch\": " + std::to_string(plan.credit_batch) + ",\n";
  out += "  \"predicted_latency_ns\": " + json_number(plan.predicted_latency_ns) + ",\n";
  out += "  \"predicted_period_ns\": " + json_number(plan.predicted_period_ns) + ",\n";
  out += "  \"measured_period_ns\": " + json_number(plan.measured_period_ns) + ",\n";
  out += "  \"bound_ns\": " + json_number(plan.bound_ns) + ",\n";
  out += "  \"levels\": " + levels_text(plan.levels, "  ") + ",\n";
  out += "  \"schedule\": " + schedule_text(plan.schedule) + ",\n";
  out += "  \"candidates\": [";
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    const Candidate& c = plan.candidates[i];
    out += (i ? ",\n    " : "\n    ") + std::string("{\"algorithm\": ") + json_string(c.algorithm) +
           ", \"layout\": " + json_string(to_string(c.layout)) +
           ", \"predicted_ns\": " + json_number(c.predicted_ns) +
           ", \"measured_ns\": " + json_number(c.measured_ns) + ", \"verdict\": " + json_string(c.verdict) +
           "}";
  }
  return out + (plan.candidates.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Result<Plan> plan_from_json(std::string_view text) {
  const auto root = read_json(text);
  if (!root) return root.error();
  ObjectReader reader(*root, "plan");
  if (reader.ok() &&
      (reader.text("format", {}) != "fermata-plan" || reader.integer("version", 0, 1 << 20, 0) != kVersion))
    reader.complain(*root, "this is no fermata-plan of version " + std::to_string(kVersion));
  reader.only({"format", "version", "key", "origin", "date", "layout", "credit_batch", "predicted_latency_ns",
               "predicted_period_ns", "measured_period_ns", "bound_ns", "levels", "schedule", "candidates"});
  const JsonNode* key = reader.object("key");
  const JsonNode* levels = reader.object("levels");
  const JsonNode* schedule = reader.array("schedule");
  if (key == nullptr || levels == nullptr || schedule == nullptr)
    reader.complain(*root, "'key', 'levels' or 'schedule' is missing");
  if (!reader.ok()) return reader.error();
  Plan plan;
  plan.key = read_key(*key, reader);
  plan.origin = reader.text("origin");
  if (reader.ok() && plan.origin != "estimated" && plan.origin != "predicted" && plan.origin != "measured")
    reader.complain(*root, "'origin' must be estimated, predicted or measured");
  plan.date = reader.text("date", {});
  plan.layout = read_layout(*root, reader);
  plan.credit_batch = static_cast<std::int32_t>(reader.integer("credit_batch", 0, 1024));
  plan.predicted_latency_ns = reader.number("predicted_latency_ns", 0, kMostNs);
  plan.predicted_period_ns = reader.number("predicted_period_ns", 0, kMostNs);
  plan.measured_period_ns = reader.number("measured_period_ns", 0, kMostNs, 0);
  plan.bound_ns = reader.number("bound_ns", 0, kMostNs);
  if (reader.ok()) plan.levels = read_levels(*levels, plan.key.members, 0, reader);
  plan.candidates = read_candidates(reader.array("candidates"), reader);
  if (!reader.ok()) return reader.error();
  auto parsed = read_schedule(*schedule);
  if (!parsed) return parsed.error();
  plan.schedule = std::move(parsed.value());
  return proved(std::move(plan), *root);
}

}  // namespace fermata
