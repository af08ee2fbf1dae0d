// Prints a plan for people, in at most 100 columns.
#include <algorithm>
#include <set>

#include "plan/cluster.hpp"
#include "plan/text.hpp"
#include "schedule/print.hpp"

namespace fermata {
namespace {

constexpr std::size_t kColumns = 100;
constexpr std::int32_t kMatrixMembers = 8;  // matrices are printed by default up to here
constexpr std::int32_t kMostMatrixMembers = 16;
constexpr std::size_t kRunnersUp = 12;
constexpr std::size_t kSignalsShown = 12;
constexpr int kLevelLines = 40;

// Breaks a line at spaces; each further line begins with `indent` spaces.
std::string wrapped(const std::string& line, std::size_t indent) {
  std::string out, rest = line;
  while (rest.size() > kColumns) {
    std::size_t at = rest.rfind(' ', kColumns);
    const bool blank = at == std::string::npos || at <= indent;
    if (blank) at = kColumns;
    out += rest.substr(0, at) + "\n";
    rest = std::string(indent, ' ') + rest.substr(at + (blank ? 0 : 1));
  }
  return out + rest + "\n";
}

std::string ns(double value) {
  if (value <= 0) return "-";
  if (value < 10) return format("%.1f ns", value);
  if (value < 10000) return format("%.0f ns", value);
  return value < 1e7 ? format("%.1f us", value / 1e3) : format("%.1f ms", value / 1e6);
}

std::string levels_text(const Cluster& node, std::size_t indent, int& lines) {
  if (++lines > kLevelLines) return {};
  std::string out = std::string(indent, ' ');
  if (node.children.empty()) {
    out += node.ranks.size() == 1 ? "rank " : "ranks ";
    out += cpu_list(node.ranks);
  } else {
    out += format("%zu clusters of %s ranks", node.children.size(), shape_text(node).c_str());
  }
  if (node.diameter_ns > 0) out += ", diameter " + ns(node.diameter_ns);
  out = wrapped(out, indent + 2);
  for (const Cluster& child : node.children) out += levels_text(child, indent + 2, lines);
  return out;
}

std::string vertex(const Schedule& s, std::int32_t v) {
  return s.is_word(v) ? "w" + std::to_string(v - s.members) : std::to_string(v);
}

const char* arrow(Action action) {
  return action == Action::kSignal ? "->" : action == Action::kCombine ? "=+>" : "=>";
}

std::string stages_text(const Schedule& s) {
  std::string out;
  for (std::size_t t = 0; t < s.stages.size(); ++t) {
    const std::vector<Transfer>& transfers = s.stages[t].transfers;
    std::string line =
        format("  %2zu  %zu %s:", t, transfers.size(), transfers.size() == 1 ? "signal" : "signals");
    for (std::size_t k = 0; k < std::min(transfers.size(), kSignalsShown); ++k)
      line += " " + vertex(s, transfers[k].from) + arrow(transfers[k].action) + vertex(s, transfers[k].to);
    if (transfers.size() > kSignalsShown) line += " ...";
    out += wrapped(line, 6);
  }
  return out;
}

std::string runners_text(const Plan& plan) {
  std::string out = format("  %-28s %-30s %9s %9s  %s\n", "algorithm", "layout", "predicted", "measured", "");
  std::size_t shown = 0;
  std::set<std::string> algorithms;
  for (const Candidate& c : plan.candidates) {
    // Over hosts, only messages matter. So each algorithm is shown once, in its best layout.
    if (!plan.key.hosts.empty() && !algorithms.insert(c.algorithm).second) continue;
    if (shown++ > kRunnersUp) continue;
    const std::string name = c.algorithm.size() > 28 ? c.algorithm.substr(0, 25) + "..." : c.algorithm;
    const std::string line = format("  %-28s %-30s %9s %9s  %s", name.c_str(), to_string(c.layout).c_str(),
                                    ns(c.predicted_ns).c_str(), ns(c.measured_ns).c_str(), c.verdict.c_str());
    out += wrapped(line, 32);
  }
  if (shown > kRunnersUp) out += format("  ... and %zu more in the plan file\n", shown - kRunnersUp - 1);
  return out;
}

std::string title(const Plan& plan) {
  const PlanKey& k = plan.key;
  std::string line = format("%s of %d %s", name_of(k.collective), k.members,
                            k.engine == Engine::kThreads ? "threads" : "processes");
  if (k.payload > 0) line += format(", up to %d bytes", k.payload);
  line += k.cpus.empty() ? ", unpinned" : ", on CPUs " + cpu_list(k.cpus);
  return wrapped(line + ", machine " + k.fingerprint, 2);
}

std::string layout_text(const Plan& plan) {
  std::string line = "layout     " + to_string(plan.layout);
  const LayoutChoice& all = plan.layout.at(0);
  if (plan.layout.listed().size() == 1)
    line += format(" (%d %s per edge, stride %d, %d-byte lines)", all.slots,
                   all.slots == 1 ? "slot" : "slots", all.stride, all.line);
  else line += " (one per stage, the last one for all later stages)";
  if (plan.credit_batch > 0) line += format(", credits every %d episodes", plan.credit_batch);
  return wrapped(line, 11);
}

}  // namespace

std::string explain(const Plan& plan, bool matrices) {
  const Schedule& s = plan.schedule;
  std::string out = title(plan);
  out += wrapped("algorithm  " + s.algorithm, 11);
  out += layout_text(plan);
  out += format("predicted  %s per episode back to back, %s from last arrival to last departure\n",
                ns(plan.predicted_period_ns).c_str(), ns(plan.predicted_latency_ns).c_str());
  if (plan.measured_period_ns > 0)
    out +=
        format("measured   %s per episode, %+.0f %% of the prediction\n", ns(plan.measured_period_ns).c_str(),
               100 * (plan.measured_period_ns / std::max(1e-9, plan.predicted_period_ns) - 1));
  else out += "measured   not yet: run `fermata plan` where the team will run\n";
  out +=
      format("bound      %s (%zu stages x the nearest pair's one-way latency; an estimate above 2 members)\n",
             ns(plan.bound_ns).c_str(), s.stages.size());
  out += "costs      " +
         std::string(plan.origin == "estimated"   ? "estimated: no measured profile was used"
                     : plan.origin == "predicted" ? "from a measured profile"
                                                  : "from a profile; the best few were timed") +
         "\n";
  out += "\nlevels\n";
  int lines = 0;
  out += levels_text(plan.levels, 2, lines);
  if (lines > kLevelLines) out += format("  ... and %d more\n", lines - kLevelLines);
  out += format("\nstages     %zu, %zu signals, %zu shared words\n", s.stages.size(), s.transfer_count(),
                s.words.size());
  out += stages_text(s);
  if (s.members <= (matrices ? kMostMatrixMembers : kMatrixMembers)) out += "\n" + to_matrices(s);
  else if (matrices) out += format("\nmatrices are printed up to %d members\n", kMostMatrixMembers);
  out += "\nconsidered\n" + runners_text(plan);
  return out;
}

}  // namespace fermata
