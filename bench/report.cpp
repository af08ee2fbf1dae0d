#include "bench/report.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string_view>

#include "base/text.hpp"

namespace fermata::bench {
namespace {

nlohmann::json optional_number(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json median_of(const std::optional<Ratio>& ratio) {
  return ratio ? nlohmann::json(ratio->median) : nlohmann::json(nullptr);
}
nlohmann::json interval_of(const std::optional<Ratio>& ratio) {
  return interval_json(ratio ? ratio->interval : std::nullopt);
}

nlohmann::json numbers_of(const std::vector<double>& rounds) {
  nlohmann::json list = nlohmann::json::array();
  for (const double value : rounds)
    list.push_back(std::isnan(value) ? nlohmann::json(nullptr) : nlohmann::json(value));
  return list;
}

nlohmann::json row_json(const Row& row, bool counters) {
  nlohmann::json json = {{"subject", row.subject},
                         {"variant", row.variant},
                         {"collective", fermata::name_of(row.what.collective)},
                         {"engine", name_of(row.what.engine)},
                         {"n", row.what.members},
                         {"bytes", row.what.bytes},
                         {"roots", row.what.rotating ? "rotating" : "fixed"},
                         {"quantity", name_of(row.quantity)},
                         {"unit", "ns"},
                         {"samples", numbers_of(row.rounds)},
                         {"median", row.summary.median},
                         {"p10", row.summary.p10},
                         {"p90", row.summary.p90},
                         {"p99", row.summary.p99},
                         {"min", row.summary.min},
                         {"cpu", row.cpu_ns},
                         {"switches", row.switches},
                         {"joules", optional_number(row.joules)},
                         {"bound", optional_number(row.bound)},
                         {"bound_source", row.bound_source},
                         {"ratio_to_plan", median_of(row.ratio_to_plan)},
                         {"ratio_to_plan_interval", interval_of(row.ratio_to_plan)},
                         {"ratio_to_threads", median_of(row.ratio_to_threads)},
                         {"ratio_to_threads_interval", interval_of(row.ratio_to_threads)},
                         {"pinned", !row.what.cpus.empty()}};
  if (!row.references.empty()) json["references"] = numbers_of(row.references);
  for (std::size_t i = 0; counters && i < kCounterCount; ++i)
    json[kCounters[i].name] =
        std::isnan(row.counts[i]) ? nlohmann::json(nullptr) : nlohmann::json(row.counts[i]);
  return json;
}

// Whether nothing in it is an object.
bool is_flat(const nlohmann::json& json) {
  return !json.is_structured() || std::all_of(json.begin(), json.end(), [](const nlohmann::json& element) {
    return !element.is_object() && is_flat(element);
  });
}

void append_text(const nlohmann::json& json, int depth, bool in_array, std::string* text) {
  const bool one_line = is_flat(json) && (in_array || json.is_array());
  if (json.empty() || !json.is_structured() || one_line) {
    *text += json.dump();
    return;
  }
  *text += json.is_object() ? "{" : "[";
  const char* separator = "\n";
  for (const auto& [key, value] : json.items()) {
    *text += separator + std::string(depth + 1, ' ');
    if (json.is_object()) *text += nlohmann::json(key).dump() + ": ";
    append_text(value, depth + 1, json.is_array(), text);
    separator = ",\n";
  }
  *text += "\n" + std::string(depth, ' ') + (json.is_object() ? "}" : "]");
}

std::string clipped(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

bool same_block(const Row& a, const Row& b) {
  return a.what.members == b.what.members && a.what.bytes == b.what.bytes && a.quantity == b.quantity &&
         a.what.engine == b.what.engine && (a.role == Role::kProbe) == (b.role == Role::kProbe);
}

// Where members share CPUs, how they use them says more than how the times are spread.
bool shows_use(const Row& row) { return !has_own_cpus(row.what) && row.role != Role::kProbe; }

// The column of the energy takes its room from the subject's name.
int width_of_subject(const Row& row) { return row.joules ? 25 : 32; }

std::string title_of(const Row& row) {
  std::string text = std::string(fermata::name_of(row.what.collective)) + ", " + name_of(row.what.engine) +
                     ", n = " + std::to_string(row.what.members);
  if (row.what.bytes != 0) text += ", " + std::to_string(row.what.bytes) + " bytes";
  return text + ", " + name_of(row.quantity);
}

std::string heading(const Row& row) {
  std::string text;
  if (row.role == Role::kProbe) {
    text = "probes of the same run, ns";
  } else {
    text = title_of(row) + ", ns per episode";
    if (row.what.rotating) text += ", rotating roots";
    if (row.what.cpus.empty()) text += ", not pinned";
  }
  text += "\n";
  if (row.quantity == Quantity::kLatency && row.bound && has_own_cpus(row.what)) {
    text += "bound: each subject's stages x the one-way latency of the same run\n";
  } else if (row.bound) {
    text += "bound " + short_number(*row.bound) + ": " + row.bound_source + "\n";
  }
  const bool processes = row.what.engine != Engine::kThreads;
  const bool crowd = shows_use(row);
  return text + format("%-*s %6s %6s %6s %6s%s %6s %9s %11s%s\n", width_of_subject(row), "subject", "median",
                       crowd ? "switch" : "p10", "p90", crowd ? "CPU" : "min", row.joules ? "     uJ" : "",
                       "xbound", "/planned", "95 %", processes ? " /threads" : "");
}

std::string label_of(const Row& row) {
  return row.subject + (row.variant.empty() ? "" : " (" + row.variant + ")");
}

std::string line_of(const Row& row) {
  const Summary& s = row.summary;
  std::string over_bound, over_threads, over_plan, interval;
  // EPCC's overhead can be about 0: then there is no ratio.
  if (row.bound && *row.bound > 0 && s.median > 0) over_bound = format("%.2f", s.median / *row.bound);
  if (row.ratio_to_plan && row.subject != "planned") {
    const bool faster = row.role != Role::kFloor && row.ratio_to_plan->median < 1;
    over_plan = short_ratio(row.ratio_to_plan->median) + (faster ? " <" : "  ");
    interval = short_interval(row.ratio_to_plan->interval);
  }
  if (row.ratio_to_threads) over_threads = format("%.2f", row.ratio_to_threads->median);
  const bool crowd = shows_use(row);
  const int width = width_of_subject(row);
  std::string text = format(
      "%-*s %6.6s %6.6s %6.6s %6.6s", width, clipped(label_of(row), static_cast<std::size_t>(width)).c_str(),
      short_number(s.median).c_str(), crowd ? short_ratio(row.switches).c_str() : short_number(s.p10).c_str(),
      short_number(s.p90).c_str(), short_number(crowd ? row.cpu_ns : s.min).c_str());
  if (row.joules) text += format(" %6.6s", short_ratio(*row.joules * 1e6).c_str());
  text += format(" %6.6s %9.9s %11.11s %8.8s", over_bound.c_str(), over_plan.c_str(), interval.c_str(),
                 over_threads.c_str());
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

// Breaks it at spaces. Lines but the first one are indented.
std::string wrapped(const std::string& text) {
  std::string out;
  std::size_t column = 0;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool fits = column == 0 || column + 1 + word.size() <= kTableWidth;
    if (column != 0) out += fits ? " " : "\n  ";
    column = fits ? column + (column != 0 ? 1 : 0) + word.size() : 2 + word.size();
    out += word;
  }
  return out + "\n";
}

// A long label loses "fermata:" first, so that its layout stays.
std::string label_within(const Row& row, std::size_t width) {
  constexpr std::string_view kOwn = "fermata:";
  std::string label = label_of(row);
  if (label.size() > width && label.starts_with(kOwn)) label.erase(0, kOwn.size());
  return clipped(label, width);
}

// The columns are the events that some row has.
std::string counters_table(const Outcome& outcome) {
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < kCounterCount; ++i) {
    if (std::any_of(outcome.rows.begin(), outcome.rows.end(),
                    [i](const Row& row) { return !std::isnan(row.counts[i]); }))
      columns.push_back(i);
  }
  std::size_t longest = std::string_view("subject").size();
  for (const Row& row : outcome.rows) longest = std::max(longest, label_of(row).size());
  const int width =
      std::min(static_cast<int>(longest), kTableWidth - 7 * static_cast<int>(columns.size() + 1));
  std::string text;
  const Row* previous = nullptr;
  for (const Row& row : outcome.rows) {
    if (row.role == Role::kProbe) continue;
    if (previous == nullptr || !same_block(*previous, row)) {
      text += "\nevents of an episode and member, " + title_of(row) + "\n" + format("%-*s", width, "subject");
      for (const std::size_t i : columns) text += format(" %6s", kCounters[i].head);
      text += format(" %6s\n", "switch");
    }
    text += format("%-*s", width, label_within(row, static_cast<std::size_t>(width)).c_str());
    for (const std::size_t i : columns)
      text += format(" %6.6s", std::isnan(row.counts[i]) ? "" : short_ratio(row.counts[i]).c_str());
    text += format(" %6.6s\n", short_ratio(row.switches).c_str());
    previous = &row;
  }
  return text + "\n" + wrapped("counted: " + outcome.counters);
}

}  // namespace

std::string short_number(double value) {
  const double size = std::fabs(value);
  if (size >= 9.995e11) return format("%.1e", value);
  if (size >= 9.995e8) return format("%.*fG", size < 9.995e10 ? 1 : 0, value / 1e9);
  if (size >= 9.995e5) return format("%.*fM", size < 9.995e6 ? 2 : size < 9.995e7 ? 1 : 0, value / 1e6);
  if (size >= 9999.5) return format("%.*fk", size < 99950 ? 1 : 0, value / 1e3);
  return format("%.*f", size < 999.95 ? 1 : 0, value);
}

std::string short_ratio(double value) {
  if (value >= 999.5) return short_number(value);
  return format("%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
}
std::string short_interval(const std::optional<Interval>& i) {
  return i ? short_ratio(i->low) + "-" + short_ratio(i->high) : "";
}

nlohmann::json interval_json(const std::optional<Interval>& i) {
  return i ? nlohmann::json({i->low, i->high}) : nlohmann::json(nullptr);
}

nlohmann::json samples_json(const std::vector<double>& samples, const char* unit) {
  const Summary s = summarize(samples);
  return {{"unit", unit}, {"samples", samples}, {"median", s.median},
          {"p10", s.p10}, {"p90", s.p90},       {"min", s.min}};
}

nlohmann::json to_json(const Options& options, const Outcome& outcome, const std::string& command_line) {
  nlohmann::json results = nlohmann::json::array();
  for (const Row& row : outcome.rows) results.push_back(row_json(row, !outcome.counters.empty()));
  nlohmann::json left_out = nlohmann::json::array();
  for (const LeftOut& l : outcome.left_out) {
    left_out.push_back({{"subject", l.subject},
                        {"variant", l.variant},
                        {"collective", fermata::name_of(l.what.collective)},
                        {"engine", name_of(l.what.engine)},
                        {"n", l.what.members},
                        {"bytes", l.what.bytes},
                        {"quantity", name_of(l.quantity)},
                        {"reason", l.reason}});
  }
  return {{"version", 1},
          {"machine", machine_json(options, outcome, command_line)},
          {"results", std::move(results)},
          {"left_out", std::move(left_out)}};
}

std::string file_text(const nlohmann::json& json) {
  std::string text;
  append_text(json, 0, false, &text);
  return text + "\n";
}

std::string to_table(const Outcome& outcome) {
  std::string text;
  const Row* previous = nullptr;
  for (const Row& row : outcome.rows) {
    if (previous == nullptr || !same_block(*previous, row)) {
      text += (previous == nullptr ? "" : "\n") + heading(row);
    }
    text += line_of(row);
    previous = &row;
  }
  if (previous != nullptr)
    text +=
        "\n/planned: median of ratios within a round; 95 %: its confidence interval.\n"
        "< marks subjects that were faster. switch: of the scheduler, an episode and member.\n"
        "CPU: ns of CPU time that all members use in an episode.\n";
  if (previous != nullptr && previous->joules)
    text += "uJ: energy of the whole machine in an episode (" + outcome.energy + ").\n";
  if (!outcome.counters.empty()) text += counters_table(outcome);
  return text + left_out_table(outcome);
}

std::string left_out_table(const Outcome& outcome) {
  std::string text;
  if (!outcome.left_out.empty()) text += "\nleft out:\n";
  for (const LeftOut& l : outcome.left_out) {
    const std::string label = l.subject + (l.variant.empty() ? "" : " (" + l.variant + ")") + ", " +
                              name_of(l.what.engine) + ", n = " + std::to_string(l.what.members);
    text += clipped("  " + label, kTableWidth) + "\n";
    for (std::size_t at = 0; at < l.reason.size(); at += kTableWidth - 4) {
      text += "    " + l.reason.substr(at, kTableWidth - 4) + "\n";
    }
  }
  return text;
}

}  // namespace fermata::bench
