// Plans for collectives on blocks: reads and writes their files, and prints them for people.
#include <algorithm>
#include <bit>
#include <set>

#include "base/collective_from.hpp"
#include "json/reader.hpp"
#include "json/text.hpp"
#include "plan/block_plan.hpp"
#include "plan/text.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

constexpr int kVersion = 1;
constexpr double kMostNs = 1e12;
constexpr std::size_t kMostPlans = 4096, kMostEntries = 4096;
constexpr std::int32_t kMostMembers = 1024;

const char* name_of(Engine engine) { return engine == Engine::kThreads ? "threads" : "processes"; }

BlockPlan read_plan(const JsonNode& node, ObjectReader& outer) {
  ObjectReader reader(node, "plans");
  reader.only({"collective", "bytes", "origin", "date", "candidates"});
  BlockPlan plan;
  plan.collective = collective_from(reader.text("collective")).value_or(Collective::kBarrier);
  if (reader.ok() && plan.collective == Collective::kBarrier)
    reader.complain(node, "'collective' names none that moves blocks");
  plan.bytes = static_cast<std::size_t>(reader.integer("bytes", 1, std::int64_t{1} << 52));
  if (reader.ok() && !std::has_single_bit(plan.bytes))
    reader.complain(node, "'bytes' must be a power of two");
  plan.origin = reader.text("origin");
  if (reader.ok() && plan.origin != "estimated" && plan.origin != "predicted" && plan.origin != "measured")
    reader.complain(node, "'origin' must be estimated, predicted or measured");
  plan.date = reader.text("date", {});
  const JsonNode* entries = reader.array("candidates");
  if (reader.ok() && (entries == nullptr || entries->items.empty() || entries->items.size() > kMostEntries))
    reader.complain(node, "'candidates' must be 1..4096 of them, the chosen one first");
  for (std::size_t i = 0; reader.ok() && i < entries->items.size(); ++i) {
    ObjectReader inner(entries->items[i], "candidates");
    inner.only({"name", "predicted_ns", "measured_ns", "verdict"});
    plan.entries.push_back({inner.text("name"), inner.number("predicted_ns", 0, kMostNs),
                            inner.number("measured_ns", 0, kMostNs, 0), inner.text("verdict")});
    reader.take_over(inner);
  }
  outer.take_over(reader);
  return plan;
}

std::vector<std::int32_t> read_cpus(const JsonNode* list, std::int32_t members, ObjectReader& reader) {
  std::vector<std::int32_t> cpus;
  if (list == nullptr || list->items.empty()) return cpus;
  if (list->items.size() != static_cast<std::size_t>(members))
    reader.complain(*list, "a CPU for each member is expected, or none");
  for (const JsonNode& item : list->items) {
    if (!item.integer || item.number < 0 || item.number > 65535) {
      reader.complain(item, "a CPU's number is expected");
      return cpus;
    }
    cpus.push_back(static_cast<std::int32_t>(item.number));
  }
  return cpus;
}

std::string plan_text(const BlockPlan& plan) {
  std::string out = "    {\"collective\": \"" + std::string(fermata::name_of(plan.collective)) +
                    "\", \"bytes\": " + std::to_string(plan.bytes) +
                    ", \"origin\": " + json_string(plan.origin) + ", \"date\": " + json_string(plan.date) +
                    ", \"candidates\": [";
  for (std::size_t i = 0; i < plan.entries.size(); ++i) {
    const BlockEntry& e = plan.entries[i];
    out += (i ? ",\n      " : "\n      ") + std::string("{\"name\": ") + json_string(e.name) +
           ", \"predicted_ns\": " + json_number(e.predicted_ns) +
           ", \"measured_ns\": " + json_number(e.measured_ns) + ", \"verdict\": " + json_string(e.verdict) +
           "}";
  }
  return out + "\n    ]}";
}

bool is_for(const BlockPlans& plans, const PlanKey& key) {
  return plans.fingerprint == key.fingerprint && plans.engine == key.engine && plans.members == key.members &&
         plans.cpus == key.cpus;
}

std::string ns(double value) {
  if (value <= 0) return "-";
  if (value < 10000) return format("%.0f ns", value);
  return value < 1e7 ? format("%.1f us", value / 1e3) : format("%.1f ms", value / 1e6);
}

}  // namespace

std::string to_json(const BlockPlans& plans) {
  std::string out =
      "{\n  \"format\": \"fermata-block-plans\",\n  \"version\": " + std::to_string(kVersion) + ",\n";
  out += "  \"fingerprint\": " + json_string(plans.fingerprint) + ",\n  \"engine\": \"" +
         name_of(plans.engine) + "\",\n  \"members\": " + std::to_string(plans.members) + ",\n  \"cpus\": [";
  for (std::size_t i = 0; i < plans.cpus.size(); ++i) out += (i ? ", " : "") + std::to_string(plans.cpus[i]);
  out += "],\n  \"plans\": [";
  for (std::size_t i = 0; i < plans.plans.size(); ++i) out += (i ? ",\n" : "\n") + plan_text(plans.plans[i]);
  return out + (plans.plans.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Result<BlockPlans> block_plans_from_json(std::string_view text) {
  const auto root = read_json(text);
  if (!root) return root.error();
  ObjectReader reader(*root, "block plans");
  if (reader.ok() && (reader.text("format", {}) != "fermata-block-plans" ||
                      reader.integer("version", 0, 1 << 20, 0) != kVersion))
    reader.complain(*root, "this is no fermata-block-plans of version " + std::to_string(kVersion));
  reader.only({"format", "version", "fingerprint", "engine", "members", "cpus", "plans"});
  BlockPlans out;
  out.fingerprint = reader.text("fingerprint");
  const std::string engine = reader.text("engine");
  if (reader.ok() && engine != "threads" && engine != "processes")
    reader.complain(*root, "'engine' must be threads or processes");
  out.engine = engine == "processes" ? Engine::kProcesses : Engine::kThreads;
  out.members = static_cast<std::int32_t>(reader.integer("members", 1, kMostMembers));
  out.cpus = read_cpus(reader.array("cpus"), out.members, reader);
  const JsonNode* plans = reader.array("plans");
  if (plans == nullptr || plans->items.size() > kMostPlans)
    reader.complain(*root, "'plans' must be a list of at most 4096");
  std::set<std::pair<Collective, std::size_t>> seen;
  for (std::size_t i = 0; reader.ok() && i < plans->items.size(); ++i) {
    out.plans.push_back(read_plan(plans->items[i], reader));
    if (reader.ok() && !seen.insert({out.plans.back().collective, out.plans.back().bytes}).second)
      reader.complain(plans->items[i], "a second plan of this collective and size");
  }
  if (!reader.ok()) return reader.error();
  return out;
}

std::string block_plans_path(const PlanKey& key) {
  const std::string directory = cache_directory();
  if (directory.empty()) return {};
  std::string text = key.fingerprint + "|" + std::to_string(key.members) + "|" + name_of(key.engine);
  for (const std::int32_t cpu : key.cpus) text += "|" + std::to_string(cpu);
  return directory + format("/blocks-%016llx.json", static_cast<unsigned long long>(hash_of(text)));
}

Result<BlockPlans> load_block_plans(const PlanKey& key) {
  const std::string path = block_plans_path(key);
  if (path.empty()) return Error{Status::kNotFound, "no cache directory: set HOME or XDG_CACHE_HOME"};
  const auto content = read_file(path);
  if (!content) return content.error();
  auto plans = block_plans_from_json(*content);
  if (!plans) return Error{plans.error().status, path + ": " + plans.error().message};
  if (!is_for(*plans, key))
    return Error{Status::kParse, path + ": line 1: it is for another machine or team than its name says"};
  return plans;
}

Result<std::string> save_block_plan(const PlanKey& key, const BlockPlan& plan) {
  const std::string path = block_plans_path(key);
  if (path.empty()) return Error{Status::kNotFound, "no cache directory: set HOME or XDG_CACHE_HOME"};
  auto known = load_block_plans(key);
  if (!known && known.error().status != Status::kNotFound) return known.error();
  BlockPlans plans =
      known ? std::move(*known) : BlockPlans{key.fingerprint, key.engine, key.members, key.cpus, {}};
  std::erase_if(plans.plans, [&](const BlockPlan& old) {
    return old.collective == plan.collective && old.bytes == plan.bytes;
  });
  plans.plans.push_back(plan);
  std::sort(plans.plans.begin(), plans.plans.end(), [](const BlockPlan& a, const BlockPlan& b) {
    return std::pair(a.collective, a.bytes) < std::pair(b.collective, b.bytes);
  });
  return write_file_atomically(path, to_json(plans));
}

std::vector<KnownChoice> known_choices(const PlanKey& key) {
  std::vector<KnownChoice> out;
  const auto plans = load_block_plans(key);
  if (!plans) return out;
  for (const BlockPlan& plan : plans->plans) {
    if (plan.origin != "measured") continue;
    out.push_back({hash_of(plan.entries.front().name),
                   static_cast<std::uint8_t>(plan.collective),
                   static_cast<std::uint8_t>(std::countr_zero(plan.bytes)),
                   {}});
  }
  return out;
}

std::string explain(const BlockPlan& plan, const PlanKey& key) {
  std::string out = format("%s of %d %s, blocks of up to %zu bytes, ", fermata::name_of(plan.collective),
                           key.members, name_of(key.engine), plan.bytes);
  out += key.cpus.empty() ? "unpinned" : "on CPUs " + cpu_list(key.cpus);
  const BlockEntry& chosen = plan.entries.front();
  out += "\nalgorithm  " + chosen.name + "\npredicted  " + ns(chosen.predicted_ns) +
         " from last arrival to last departure\n";
  const double off = 100 * (chosen.measured_ns / std::max(1e-9, chosen.predicted_ns) - 1);
  out += chosen.measured_ns > 0
             ? "measured   " + ns(chosen.measured_ns) + format(", %+.0f %% of the prediction\n", off)
             : "measured   not yet: run `fermata plan` where the team will run\n";
  out += "costs      " +
         std::string(plan.origin == "estimated"
                         ? "estimated: no profile tells what a byte costs; `fermata profile` does"
                     : plan.origin == "predicted" ? "from a measured profile"
                                                  : "from a profile; the best few were timed") +
         "\n";
  out += format("\nconsidered\n  %-44s %10s %10s\n", "algorithm", "predicted", "measured");
  for (const BlockEntry& e : plan.entries) {
    const std::string name = e.name.size() > 44 ? e.name.substr(0, 41) + "..." : e.name;
    out += format("  %-44s %10s %10s  %s\n", name.c_str(), ns(e.predicted_ns).c_str(),
                  ns(e.measured_ns).c_str(), e.verdict.substr(0, 120).c_str());
  }
  return out;
}

}  // namespace fermata
