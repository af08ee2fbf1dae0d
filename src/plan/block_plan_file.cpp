// Files of plans for collectives on blocks.
#include <algorithm>
#include <bit>
#include <set>

#include "base/text.hpp"
#include "exec/block_program.hpp"
#include "json/text.hpp"
#include "plan/block_plan.hpp"
#include "plan/plan_file.hpp"

namespace fermata {
namespace {

constexpr FileFormat kBlockFormat{"fermata-block-plans", 1};
constexpr CandidateForm kBlockForm{.algorithm = "name", .lines = false};
constexpr std::size_t kMostPlans = 4096;

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
  plan.origin = read_origin(node, kBlockForm, reader);
  plan.date = reader.text("date", "");
  plan.candidates = read_candidates(reader.array("candidates"), kBlockForm, reader);
  if (reader.ok() && plan.candidates.empty())
    reader.complain(node, "'candidates' must be at least one of them, the chosen one first");
  outer.take_over(reader);
  return plan;
}

std::string plan_text(const BlockPlan& plan) {
  return "    {\"collective\": \"" + std::string(name_of(plan.collective)) +
         "\", \"bytes\": " + std::to_string(plan.bytes) + ", \"origin\": " + json_string(plan.origin) +
         ", \"date\": " + json_string(plan.date) + ", " +
         candidates_text(plan.candidates, kBlockForm, "    ") + "}";
}

}  // namespace

std::string to_json(const BlockPlans& plans) {
  std::string out = header_text(kBlockFormat);
  out += "  \"fingerprint\": " + json_string(plans.fingerprint) + ",\n  \"engine\": \"" +
         name_of(plans.engine) + "\",\n  \"members\": " + std::to_string(plans.members) +
         ",\n  \"cpus\": " + list_text(plans.cpus) + ",\n  \"plans\": [";
  for (std::size_t i = 0; i < plans.plans.size(); ++i) out += (i ? ",\n" : "\n") + plan_text(plans.plans[i]);
  return out + (plans.plans.empty() ? "]\n}\n" : "\n  ]\n}\n");
}

Result<BlockPlans> block_plans_from_json(std::string_view text) {
  const auto root = read_json(text);
  if (!root) return root.error();
  ObjectReader reader(*root, "block plans");
  check_header(*root, kBlockFormat, reader);
  reader.only({"format", "version", "fingerprint", "engine", "members", "cpus", "plans"});
  BlockPlans out;
  read_team(*root, kMostBlockMembers, reader, out);
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
  std::string text = key.fingerprint + "|" + std::to_string(key.members) + "|" + name_of(key.engine);
  for (const std::int32_t cpu : key.cpus) text += "|" + std::to_string(cpu);
  return cached_path("blocks", text);
}

Result<BlockPlans> load_block_plans(const PlanKey& key) {
  const std::string path = block_plans_path(key);
  if (path.empty()) return no_cache();
  auto plans = load_file(path, block_plans_from_json);
  if (plans && static_cast<const TeamKey&>(*plans) != key)
    return Error{Status::kParse, path + ": line 1: it is for another machine or team than its name says"};
  return plans;
}

Result<std::string> save_block_plan(const PlanKey& key, const BlockPlan& plan) {
  const std::string path = block_plans_path(key);
  if (path.empty()) return no_cache();
  auto known = load_block_plans(key);
  if (!known && known.error().status != Status::kNotFound) return known.error();
  BlockPlans plans = known ? std::move(*known) : BlockPlans{key, {}};
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
    out.push_back({hash_of(plan.candidates.front().algorithm),
                   static_cast<std::uint8_t>(plan.collective),
                   static_cast<std::uint8_t>(std::countr_zero(plan.bytes)),
                   {}});
  }
  return out;
}

}  // namespace fermata
