// fermata verify: proves every algorithm of the table, or one schedule, or times the proofs of programs.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "algo/algorithm.hpp"
#include "algo/sweep.hpp"
#include "base/text.hpp"
#include "commands.hpp"
#include "exec/proof/proof.hpp"
#include "plan/plan.hpp"
#include "plan_request.hpp"
#include "schedule/contents.hpp"
#include "schedule/knowledge.hpp"
#include "schedule/print.hpp"
#include "schedule/verify.hpp"

namespace fermata::tool {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyArguments {
  bool all = false, programs = false;
  std::int32_t most = 70;
  std::string json, algorithm, file, collective = "barrier";
  std::int32_t members = 8, root = 0;
};

// Sizes beyond the exhaustive range: powers of two, their neighbours, and sizes of machines.
constexpr std::int32_t kSpotChecks[] = {96,  127, 128, 192, 255,  256,  257,
                                        511, 512, 513, 768, 1000, 1023, 1024};

struct NamedOp {
  const char* name;
  OpTraits op;
};
constexpr NamedOp kOps[] = {
    {"integer sum", {.associative = true, .commutative = true, .idempotent = false}},
    {"floating-point sum", {.associative = false, .commutative = true, .idempotent = false}},
    {"max", {.associative = true, .commutative = true, .idempotent = true}},
    {"not commutative", {.associative = true, .commutative = false, .idempotent = false}}};

Json to_json(const SweepRow& row) {
  Json proved;
  for (int collective = 0; collective < kCollectiveCount; ++collective)
    proved[name_of(static_cast<Collective>(collective))] = row.proved[collective];
  return {{"algorithm", row.algorithm},
          {"proved", proved},
          {"refused", row.refused},
          {"rank_order", row.rank_order},
          {"rank_order_of", row.rank_order_of},
          {"reuse", row.reuse},
          {"wrong", row.wrong},
          {"first_wrong", row.first_wrong},
          {"ms", row.ms}};
}

std::int64_t print_table(const std::vector<std::int32_t>& sizes, Json& rows) {
  // Short forms, since the collectives' names do not fit.
  constexpr const char* kColumns[kCollectiveCount] = {"barrier",  "bcast",   "reduce",  "allred",
                                                      "gather",   "scatter", "allgath", "redscat",
                                                      "alltoall", "scan",    "exscan"};
  fmt::print("{:<24}", "algorithm");
  for (const char* column : kColumns) fmt::print("{:>9}", column);
  fmt::print("{:>8}{:>12}{:>7}{:>7}{:>9}\n", "refused", "rank order", "reuse", "wrong", "ms");
  std::int64_t wrong = 0;
  for (const Algorithm& algorithm : algorithms()) {
    for (const std::int32_t degree : degrees_of(algorithm)) {
      const SweepRow row = sweep(algorithm, degree, sizes);
      fmt::print("{:<24}", row.algorithm);
      for (const std::int64_t proved : row.proved) fmt::print("{:>9}", proved);
      fmt::print("{:>8}{:>12}{:>7}{:>7}{:>9.1f}\n", row.refused,
                 fmt::format("{}/{}", row.rank_order, row.rank_order_of), row.reuse, row.wrong, row.ms);
      if (row.wrong > 0) fmt::print("  wrong: {}\n", row.first_wrong);
      std::fflush(stdout);
      wrong += row.wrong;
      rows.push_back(to_json(row));
    }
  }
  return wrong;
}

std::int64_t print_broken(Json& rows) {
  fmt::print("\n{:<76}{:>8}{:>10}{:>7}\n", "broken on purpose", "tried", "must be", "wrong");
  std::int64_t wrong = 0;
  for (const BreakRow& row : broken_schedules()) {
    fmt::print("{:<76}{:>8}{:>10}{:>7}\n", row.what, row.tried, row.must_refuse ? "refused" : "accepted",
               row.wrong);
    if (row.wrong > 0) fmt::print("  wrong: {}\n", row.first_wrong);
    wrong += row.wrong;
    rows.push_back({{"what", row.what},
                    {"must_be", row.must_refuse ? "refused" : "accepted"},
                    {"tried", row.tried},
                    {"wrong", row.wrong},
                    {"first_wrong", row.first_wrong}});
  }
  return wrong;
}

void verify_all(const VerifyArguments& options) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::int32_t> sizes;
  for (std::int32_t p = 1; p <= options.most; ++p) sizes.push_back(p);
  for (const std::int32_t p : kSpotChecks) {
    if (p > options.most && options.most >= 70) sizes.push_back(p);
  }
  fmt::print(
      "every algorithm, every collective, P = 1..{}{};\n"
      "integer sum, floating-point sum, max where something is folded; roots 0, P/2, P-1\n\n",
      options.most,
      options.most >= 70 && options.most < 1024
          ? fmt::format(" and spot checks to 1024 (to {} in pieces)", kMostPiecesSwept)
          : "");
  Json json{{"version", 1}, {"sizes", sizes}, {"algorithms", Json::array()}, {"broken", Json::array()}};
  const std::int64_t wrong = print_table(sizes, json["algorithms"]) + print_broken(json["broken"]);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(
      "\nnumbers count verdicts as expected: proofs by collective; refused: contributions repeated under\n"
      "a sum, or trees that differ under a floating-point sum; rank order: serves operators that do not\n"
      "commute; reuse: back-to-back episodes without run-ahead hazard (words; allreduce, allgather,\n"
      "reduce_scatter and alltoall with two slots).\n"
      "{} wrong verdicts, {:.1f} s\n",
      wrong, seconds);
  json["wrong"] = wrong;
  json["seconds"] = seconds;
  write_output(options.json, json.dump(2) + "\n");
  if (wrong > 0) throw CommandError(fmt::format("{} wrong verdicts", wrong));
}

Schedule chosen(const VerifyArguments& options) {
  if (!options.file.empty()) return schedule_from_file(options.file);
  const AlgorithmName name = take(parse_algorithm(options.algorithm));
  const Request request{.collective = collective_of(options.collective),
                        .members = options.members,
                        .root = options.root,
                        .degree = name.degree};
  if (!name.algorithm->applicable(request)) {
    throw CommandError(fmt::format("{} cannot do a {} of {} members with root {}", options.algorithm,
                                   options.collective, options.members, options.root));
  }
  return name.algorithm->build(request);
}

void print_knowledge(const Schedule& s) {
  Knowledge k(s);
  const auto pairs = static_cast<std::int64_t>(s.members) * s.members;
  const auto line = [&](const std::string& when) {
    std::int64_t informed = 0;
    for (std::int32_t v = s.members; v < s.vertices(); ++v) informed += k.known(v) == s.members ? 1 : 0;
    fmt::print("  {:<12}{:>10} ({:3.0f} %)", when, k.known_pairs(),
               100.0 * static_cast<double>(k.known_pairs()) / static_cast<double>(pairs));
    if (!s.words.empty()) fmt::print("   words that know of all: {} of {}", informed, s.words.size());
    fmt::print("\n");
  };
  fmt::print("\npairs of members in which one knows that the other has arrived, of {}:\n", pairs);
  line("before");
  for (std::size_t a = 0; a < s.stages.size(); ++a) {
    k.advance(s.stages[a]);
    line("stage " + std::to_string(a));
  }
}

void print_results(const Schedule& s) {
  constexpr int kMostShown = 24;
  fmt::print("\nresults:\n");
  int shown = 0, more = 0;
  for (std::int32_t m = 0; m < s.members; ++m) {
    for (std::int32_t chunk = 0; chunk < s.chunks; ++chunk) {
      if (!rule_of(s, chunk).wanted(m) || (folds(s.collective) && folded_at(s.collective, s.members, m) == 0))
        continue;
      if (shown == kMostShown) {
        ++more;
        continue;
      }
      ++shown;
      fmt::print("  member {}{}: {}\n", m, s.chunks > 1 ? fmt::format(", chunk {}", chunk) : "",
                 result_expression(s, m, chunk));
    }
  }
  if (more > 0) fmt::print("  ... and {} more\n", more);
}

// False if nothing could be proved.
bool print_verdicts(const Schedule& s) {
  fmt::print("\n");
  bool any = false;
  for (const NamedOp& named : kOps) {
    const Result<Verified> verdict = verify(s, named.op);
    any = any || verdict.ok();
    fmt::print("{}: {}\n", folds(s.collective) ? named.name : name_of(s.collective),
               verdict ? std::string("proved") : "refused: " + verdict.error().message);
    if (!folds(s.collective)) break;
  }
  for (const int slots : {1, 2, 4}) {
    const std::size_t hazards = reuse_hazards(s, slots, s.collective != Collective::kBarrier).size();
    fmt::print(
        "back to back with {} slot{}: {}\n", slots, slots > 1 ? "s" : "",
        hazards == 0 ? std::string("safe") : fmt::format("{} run-ahead hazards: credits needed", hazards));
    if (hazards == 0) break;
  }
  return any;
}

void verify_one(const VerifyArguments& options) {
  const Schedule s = chosen(options);
  constexpr std::size_t kMostPrinted = 2000;
  if (s.transfer_count() <= kMostPrinted) {
    fmt::print("{}", to_text(s));
  } else {
    fmt::print("{} {}, {}, {}, {}\n", s.algorithm, name_of(s.collective),
               counted(static_cast<std::size_t>(s.members), "member"), counted(s.stages.size(), "stage"),
               counted(s.transfer_count(), "transfer"));
  }
  if (s.vertices() <= 24) fmt::print("\n{}", to_matrices(s));
  const bool proved = print_verdicts(s);
  if (s.collective == Collective::kBarrier) {
    if (proved) print_knowledge(s);
  } else {
    print_results(s);
  }
  fmt::print("\nhash {:016x}\n", hash_of(s));
  if (!proved) throw CommandError("not proved");
}

constexpr std::int32_t kProgramSizes[] = {2, 16, 64, 256, 1024};
// A schedule with more signals is left out, so that the table appears soon.
constexpr std::size_t kMostSignals = 32768;

Plan plan_of(const Algorithm& algorithm, Collective collective, std::int32_t members) {
  Plan plan;
  plan.key.collective = collective;
  plan.key.members = members;
  plan.key.payload = collective == Collective::kBarrier ? 0 : 8;
  plan.schedule = algorithm.build({.collective = collective, .members = members, .degree = 4});
  plan.layout = LayoutChoice{.slots = synchronizes(collective) ? 2 : 128};
  plan.credit_batch = synchronizes(collective) ? 0 : 64;
  return plan;
}

// The least of several runs: disturbances on the machine only add time.
double microseconds(const ProgramHeader& program) {
  using Clock = std::chrono::steady_clock;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 5; ++i) {
    const auto start = Clock::now();
    const exec::Proof proof = exec::prove_program(program);
    best = std::min(best, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    if (proof) continue;
    char why[exec::kProofText];
    exec::describe(proof, why);
    throw CommandError(std::string(program.algorithm) + ": " + why);
  }
  return best;
}

// Empty if the algorithm has no such program.
std::string time_of(const Algorithm& algorithm, Collective collective, std::int32_t members) {
  const Request request{.collective = collective, .members = members, .degree = 4};
  if (!algorithm.applicable(request) || !serves(algorithm, request, algebra_of(collective))) return {};
  const Plan plan = plan_of(algorithm, collective, members);
  if (plan.schedule.transfer_count() > kMostSignals) return {};
  const auto program = compile_lines(plan);
  if (!program) return {};
  return fmt::format("{:.1f}", microseconds(program_header(program->data())));
}

// Compiles the algorithms for several numbers of members and prints how long each program's proof takes.
// Large schedules are left out. Throws CommandError if a program is not proved.
void time_program_proofs() {
  fmt::print("us to prove a compiled program, best of 5, in at most 64 MiB of memory\n{:<24}{:<11}",
             "algorithm", "collective");
  for (const std::int32_t members : kProgramSizes) fmt::print("{:>10}", fmt::format("n={}", members));
  fmt::print("\n");
  for (const Algorithm& algorithm : algorithms())
    for (int k = 0; k < kLineCollectiveCount; ++k) {
      const Collective collective = static_cast<Collective>(k);
      if (algorithm.cuts) continue;
      std::string line;
      bool any = false;
      for (const std::int32_t members : kProgramSizes) {
        const std::string time = time_of(algorithm, collective, members);
        any = any || !time.empty();
        line += fmt::format("{:>10}", time.empty() ? "-" : time);
      }
      if (any) fmt::print("{:<24}{:<11}{}\n", algorithm.name, name_of(collective), line);
    }
}

}  // namespace

void add_verify(CLI::App& app) {
  auto options = std::make_shared<VerifyArguments>();
  CLI::App* command = app.add_subcommand("verify", "prove schedules, and check that broken ones are refused");
  command->add_flag("--all", options->all,
                    "every algorithm, collective and size, and schedules broken on purpose");
  command
      ->add_option("--max", options->most,
                   "with --all: every size up to this one (from 70 on with spot checks beyond)")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--programs", options->programs,
                    "time the proofs of compiled programs, for every algorithm, up to 1024 members");
  command->add_option("--json", options->json, "with --all: also write the table to this file");
  command->add_option("--algorithm", options->algorithm, "one of the table, e.g. kary(4)");
  command->add_option("--file", options->file, "a schedule in a file, as this command prints it");
  command->add_option("-n,--members", options->members, "members")
      ->check(CLI::Range(1, kMaxScheduleMembers))
      ->capture_default_str();
  command->add_option("--collective", options->collective, collectives())->capture_default_str();
  command->add_option("--root", options->root, "root of a broadcast, reduce, gather or scatter")
      ->capture_default_str();
  command->callback([options] {
    const int ways = (options->all ? 1 : 0) + (options->programs ? 1 : 0) +
                     (options->algorithm.empty() ? 0 : 1) + (options->file.empty() ? 0 : 1);
    if (ways != 1) throw CommandError("verify takes one of --all, --programs, --algorithm and --file");
    check_output(options->json);
    if (!options->json.empty() && !options->all)
      throw CommandError("--json writes the table of --all: add --all or remove --json");
    if (options->programs) return time_program_proofs();
    options->all ? verify_all(*options) : verify_one(*options);
  });
}

}  // namespace fermata::tool
