// Prints plans for people, in at most 100 columns.
#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "plan/block_plan.hpp"
#include "plan/cluster.hpp"
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
  if (value < 10) return format("%.2g ns", value);
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
    std::string line = format("  %2zu  %s:", t, counted(transfers.size(), "signal").c_str());
    for (std::size_t k = 0; k < std::min(transfers.size(), kSignalsShown); ++k)
      line += " " + vertex(s, transfers[k].from) + arrow(transfers[k].action) + vertex(s, transfers[k].to);
    if (transfers.size() > kSignalsShown) line += " ...";
    out += wrapped(line, 6);
  }
  return out;
}

// The columns of the table of candidates.
struct Table {
  int algorithm;    // width
  bool has_layout;  // of lines
  bool once;        // each algorithm once, in its best layout
  bool simulated;   // the times are from a simulated machine
};

std::string considered_text(const std::vector<Candidate>& candidates, Table table) {
  const auto row = [&](std::string algorithm, const std::string& layout, const std::string& predicted,
                       const std::string& timed, const std::string& verdict) {
    const auto width = static_cast<std::size_t>(table.algorithm);
    if (algorithm.size() > width) algorithm = algorithm.substr(0, width - 3) + "...";
    return format("  %-*s", table.algorithm, algorithm.c_str()) +
           (table.has_layout ? format(" %-30s", layout.c_str()) : "") +
           format(" %9s %9s  ", predicted.c_str(), timed.c_str()) + verdict;
  };
  const char* const timed = table.simulated ? "simulated" : "measured";
  std::string out = "\nconsidered\n" + row("algorithm", "layout", "predicted", timed, "") + "\n";
  std::size_t shown = 0;
  std::set<std::string> algorithms;
  for (const Candidate& c : candidates) {
    if (table.once && !algorithms.insert(c.algorithm).second) continue;
    if (shown++ > kRunnersUp) continue;
    const double timed_ns = table.simulated ? c.simulated_ns : c.measured_ns;
    out += wrapped(row(c.algorithm, to_string(c.layout), ns(c.predicted_ns), ns(timed_ns), c.verdict), 32);
  }
  if (shown > kRunnersUp) out += format("  ... and %zu more in the plan file\n", shown - kRunnersUp - 1);
  return out;
}

std::string title(const PlanKey& k, const std::string& data) {
  return std::string(name_of(k.collective)) + " of " + std::to_string(k.members) + " " + name_of(k.engine) +
         data + (k.cpus.empty() ? ", unpinned" : ", on CPUs " + cpu_list(k.cpus));
}

std::string time_text(const char* how, double timed_ns, double predicted_ns, const char* each) {
  return format("%-11s", how) + ns(timed_ns) + each +
         format(", %+.0f %% of the prediction\n", 100 * (timed_ns / std::max(1e-9, predicted_ns) - 1));
}

std::string measured_text(double measured_ns, double predicted_ns, const char* each) {
  if (measured_ns > 0) return time_text("measured", measured_ns, predicted_ns, each);
  return "measured   not yet: run `fermata plan` where the team will run\n";
}

std::string costs_text(const std::string& origin, const char* missing) {
  return "costs      " +
         (origin == "estimated"   ? std::string("estimated: ") + missing
          : origin == "predicted" ? "from a measured profile"
          : origin == "simulated" ? "from a profile; the best few ran on a simulated machine"
                                  : "from a profile; the best few were timed") +
         "\n";
}

std::string layout_text(const Plan& plan) {
  std::string line = "layout     " + to_string(plan.layout);
  const LayoutChoice& all = plan.layout.at(0);
  if (plan.layout.listed().size() == 1)
    line += " (" + counted(static_cast<std::size_t>(all.slots), "slot") +
            format(" per edge, stride %d, %d-byte lines)", all.stride, all.line);
  else line += " (one per stage, the last one for all later stages)";
  if (plan.credit_batch > 0)
    line += ", credits every " + counted(static_cast<std::size_t>(plan.credit_batch), "episode");
  return wrapped(line, 11);
}

}  // namespace

std::string explain(const Plan& plan, bool matrices) {
  const Schedule& s = plan.schedule;
  const PlanKey& k = plan.key;
  const std::string data = k.payload > 0 ? format(", up to %d bytes", k.payload) : "";
  std::string out = wrapped(title(k, data) + ", machine " + k.fingerprint, 2);
  out += wrapped("algorithm  " + s.algorithm, 11);
  out += layout_text(plan);
  out += format("predicted  %s per episode back to back, %s from last arrival to last departure\n",
                ns(plan.predicted_period_ns).c_str(), ns(plan.predicted_latency_ns).c_str());
  if (plan.simulated_period_ns > 0)
    out += time_text("simulated", plan.simulated_period_ns, plan.predicted_period_ns, " per episode");
  out += measured_text(plan.measured_period_ns, plan.predicted_period_ns, " per episode");
  out += format("bound      %s (%s x the nearest pair's one-way latency; an estimate above 2 members)\n",
                ns(plan.bound_ns).c_str(), counted(s.stages.size(), "stage").c_str());
  out += costs_text(plan.origin, "no measured profile was used");
  out += "\nlevels\n";
  int lines = 0;
  out += levels_text(plan.levels, 2, lines);
  if (lines > kLevelLines) out += format("  ... and %d more\n", lines - kLevelLines);
  out += format("\nstages     %zu, ", s.stages.size()) + counted(s.transfer_count(), "signal") + ", " +
         counted(s.words.size(), "shared word") + "\n";
  out += stages_text(s);
  if (s.members <= (matrices ? kMostMatrixMembers : kMatrixMembers)) out += "\n" + to_matrices(s);
  else if (matrices) out += format("\nmatrices are printed up to %d members\n", kMostMatrixMembers);
  // Over hosts, only messages matter. So each algorithm is shown once.
  return out + considered_text(plan.candidates, {28, true, !k.hosts.empty(), plan.origin == "simulated"});
}

std::string explain(const BlockPlan& plan, const PlanKey& key) {
  PlanKey k = key;
  k.collective = plan.collective;
  const Candidate& chosen = plan.candidates.front();
  std::string out = title(k, ", blocks of up to " + std::to_string(plan.bytes) + " bytes") + "\n";
  out += "algorithm  " + chosen.algorithm + "\n";
  out += "predicted  " + ns(chosen.predicted_ns) + " from last arrival to last departure\n";
  out += measured_text(chosen.measured_ns, chosen.predicted_ns, "");
  out += costs_text(plan.origin, "no profile tells what a byte costs; `fermata profile` does");
  return out + considered_text(plan.candidates, {44, false, false, false});
}

}  // namespace fermata
