#include "bench/guidelines.hpp"

#include <algorithm>
#include <tuple>

#include "base/text.hpp"
#include "bench/mockups.hpp"
#include "bench/report.hpp"

namespace fermata::bench {
namespace {

Options options_for(const Options& base, Collective collective) {
  Options o = base;
  o.collective = collective;
  o.rivals = o.algorithms = {};
  o.made = {};
  o.floors = false;
  o.quantities = {Quantity::kPeriod};
  if (collective == Collective::kBarrier) {
    o.bytes = {};
  } else if (o.bytes.empty()) {
    o.bytes = {8, 4 << 10, 1 << 20};
  }
  for (const Mockup& mockup : mockups()) {
    if (mockup.collective == collective)
      o.extra.push_back(own_contestant(mockup.name, [&mockup] { return make_mockup(mockup); }));
  }
  return o;
}

Finding finding_of(const Ratio& ratio) {
  if (!ratio.interval) return Finding::kUnknown;
  if (ratio.interval->high < kTolerated) return Finding::kViolated;
  return ratio.median >= 1 ? Finding::kHolds : Finding::kClose;
}

bool same_case(const Row& a, const Row& b) {
  return a.what.collective == b.what.collective && a.what.members == b.what.members &&
         a.what.bytes == b.what.bytes && a.what.engine == b.what.engine;
}

std::string title_of(const Guideline& g) {
  return std::string(fermata::name_of(g.what.collective)) + " <= " + g.mockup;
}

std::string lines_of_violations(const std::vector<Guideline>& guidelines) {
  std::string text;
  for (const Guideline& g : guidelines) {
    if (g.finding != Finding::kViolated) continue;
    const std::string line = "  " + title_of(g) + ": " + name_of(g.what.engine) +
                             ", n = " + std::to_string(g.what.members) + ", " + std::to_string(g.what.bytes) +
                             " bytes, " + (g.plan.empty() ? "blocks" : g.plan);
    text += line.substr(0, kTableWidth) + "\n";
  }
  return text.empty() ? "" : "\nviolated:\n" + text;
}

}  // namespace

bool has_guidelines(Collective collective) {
  return std::any_of(mockups().begin(), mockups().end(),
                     [collective](const Mockup& m) { return m.collective == collective; });
}

std::string check_guidelines(Options options, const std::vector<Collective>& collectives) {
  if (options.rotating) return "--roots: guidelines are of fixed roots";
  for (const Collective collective : collectives) {
    if (!has_guidelines(collective))
      return std::string("--guidelines: there is no other way to do ") + fermata::name_of(collective);
    const std::string wrong = check(options_for(options, collective));
    if (!wrong.empty()) return wrong;
  }
  return {};
}

Outcome run_guidelines(Options options, const std::vector<Collective>& collectives) {
  Outcome all;
  const auto progress = options.progress;
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    if (progress) {
      options.progress = [&](double done, const std::string& what) {
        progress((static_cast<double>(i) + done) / static_cast<double>(collectives.size()),
                 std::string(fermata::name_of(collectives[i])) + " " + what);
      };
    }
    Outcome one = run(options_for(options, collectives[i]));
    all.rows.insert(all.rows.end(), one.rows.begin(), one.rows.end());
    all.left_out.insert(all.left_out.end(), one.left_out.begin(), one.left_out.end());
    all.versions.merge(one.versions);
    for (auto& [what, plan] : one.plans)
      all.plans[std::string(fermata::name_of(collectives[i])) + " " + what] = plan;
  }
  return all;
}

std::vector<Guideline> judge(const Outcome& outcome) {
  std::vector<Guideline> guidelines;
  for (const Row& row : outcome.rows) {
    if (row.subject == "planned" || !row.ratio_to_plan) continue;
    const auto call = std::find_if(outcome.rows.begin(), outcome.rows.end(),
                                   [&](const Row& r) { return r.subject == "planned" && same_case(r, row); });
    if (call == outcome.rows.end()) continue;
    guidelines.push_back({row.what, row.subject, call->summary.median, row.summary.median, *row.ratio_to_plan,
                          finding_of(*row.ratio_to_plan), call->variant});
  }
  // Rows come in the order of medians; readers look for the case.
  std::stable_sort(guidelines.begin(), guidelines.end(), [](const Guideline& a, const Guideline& b) {
    const auto key = [](const Case& c) { return std::tuple(c.engine, c.members, c.collective, c.bytes); };
    return std::tuple(key(a.what), a.mockup) < std::tuple(key(b.what), b.mockup);
  });
  return guidelines;
}

std::string guidelines_table(const std::vector<Guideline>& guidelines) {
  std::string text;
  const Guideline* previous = nullptr;
  for (const Guideline& g : guidelines) {
    if (previous == nullptr || previous->what.members != g.what.members ||
        previous->what.engine != g.what.engine) {
      text +=
          format("%s%s, n = %d, ns per call%s\n%-44s %8s %7s %8s %6s %11s\n", previous == nullptr ? "" : "\n",
                 name_of(g.what.engine), g.what.members, g.what.cpus.empty() ? ", not pinned" : "",
                 "guideline", "bytes", "call", "mock-up", "ratio", "95 %");
    }
    text += format("%-44s %8d %7s %8s %6s %11s  %s\n", title_of(g).c_str(), g.what.bytes,
                   short_number(g.call_ns).c_str(), short_number(g.mockup_ns).c_str(),
                   short_ratio(g.ratio.median).c_str(), short_interval(g.ratio.interval).c_str(),
                   name_of(g.finding));
    previous = &g;
  }
  if (!text.empty())
    text += "\nratio: mock-up / call, median within rounds; 95 %: its confidence interval.\n";
  return text + lines_of_violations(guidelines);
}

nlohmann::json guidelines_json(const std::vector<Guideline>& guidelines) {
  nlohmann::json list = nlohmann::json::array();
  for (const Guideline& g : guidelines) {
    list.push_back({{"collective", fermata::name_of(g.what.collective)},
                    {"mockup", g.mockup},
                    {"engine", name_of(g.what.engine)},
                    {"n", g.what.members},
                    {"bytes", g.what.bytes},
                    {"call_ns", g.call_ns},
                    {"mockup_ns", g.mockup_ns},
                    {"ratio", g.ratio.median},
                    {"ratio_interval", interval_json(g.ratio.interval)},
                    {"finding", name_of(g.finding)},
                    {"plan", g.plan}});
  }
  return list;
}

}  // namespace fermata::bench
