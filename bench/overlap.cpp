#include "bench/overlap.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "base/text.hpp"
#include "bench/report.hpp"
#include "bench/team_subject.hpp"

namespace fermata::bench {
namespace {

constexpr const char* kIdle = "idle progress";
constexpr int kIdleCalls = 1000;
constexpr double kIdleSeconds = 1;

// An episode is a thousand calls for progress and one barrier. The harness checks the barrier, whose time
// hardly counts.
class IdleProgress final : public TeamSubject {
 public:
  void work(int rank, Turn& turn) override {
    run_calls(rank, turn, [member = member_of(rank)] {
      int bad = FERMATA_OK;
      for (int call = 0; call < kIdleCalls; ++call) bad |= fermata_progress(member, 0);
      return bad | fermata_barrier(member);
    });
  }
};

Options options_for(Options o) {
  o.collective = Collective::kAllreduce;
  o.algorithms = {};
  o.made = {};
  o.floors = false;
  if (o.bytes.empty()) o.bytes = {1 << 20};
  return o;
}

std::vector<Contestant> idle_contestants(Options o, int members) {
  o.collective = Collective::kBarrier;
  o.own = false;
  o.rivals = {};
  o.extra = {own_contestant(kIdle, [] { return std::make_unique<IdleProgress>(); })};
  return contestants(o, members, 0, Quantity::kPeriod);
}

// The contestants that can overlap, each with three quantities.
std::vector<Contestant> overlap_contestants(const Options& o, int members, int bytes) {
  std::vector<Contestant> list = contestants(o, members, bytes, Quantity::kOverlap);
  const std::size_t count = list.size();
  for (const Quantity quantity : {Quantity::kPeriod, Quantity::kSkewed}) {
    for (std::size_t i = 0; i < count; ++i) {
      list.push_back(list[i]);
      list.back().quantity = quantity;
    }
  }
  return list;
}

const Row* find(const Outcome& outcome, const Row& like, Quantity quantity) {
  const auto same = [&](const Row& r) {
    return r.quantity == quantity && r.subject == like.subject && r.what.engine == like.what.engine &&
           r.what.members == like.what.members && r.what.bytes == like.what.bytes;
  };
  const auto found = std::find_if(outcome.rows.begin(), outcome.rows.end(), same);
  return found == outcome.rows.end() ? nullptr : &*found;
}

std::vector<double> sum(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> s(std::min(a.size(), b.size()));
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = a[i] + b[i];
  return s;
}

}  // namespace

std::string check_overlap(Options options) { return check(options_for(std::move(options))); }

Outcome run_overlap(Options options) {
  const Options o = options_for(std::move(options));
  Outcome outcome;
  const double groups = static_cast<double>(o.members.size() * (o.bytes.size() + 1));
  double done = 0;
  for (const int members : o.members) {
    const std::string title = "n=" + std::to_string(members);
    for (const int bytes : o.bytes) {
      run_group(o, overlap_contestants(o, members, bytes), title + " " + std::to_string(bytes) + " bytes",
                done++ / groups, 1 / groups, outcome);
    }
    Options brief = o;
    brief.seconds = std::min(o.seconds, kIdleSeconds);
    run_group(brief, idle_contestants(o, members), title + " idle", done++ / groups, 1 / groups, outcome);
  }
  return outcome;
}

std::vector<Overlap> overlaps_of(const Outcome& outcome) {
  std::vector<Overlap> list;
  for (const Row& row : outcome.rows) {
    if (row.quantity != Quantity::kOverlap) continue;
    const Row* const work = find(outcome, row, Quantity::kPeriod);
    const Row* const blocking = find(outcome, row, Quantity::kSkewed);
    if (work == nullptr || blocking == nullptr) continue;
    const std::vector<double> least = sum(row.references, work->rounds);
    const auto overlapped = paired_ratio(sum(row.references, row.rounds), least);
    const auto blocked = paired_ratio(sum(blocking->references, blocking->rounds), least);
    if (!overlapped || !blocked) continue;
    list.push_back({row.subject, row.what, summarize(row.references).median, work->summary.median,
                    blocking->summary.median, row.summary.median, *blocked, *overlapped});
  }
  return list;
}

double idle_progress_of(const Outcome& outcome) {
  double most = std::numeric_limits<double>::quiet_NaN();
  for (const Row& row : outcome.rows) {
    if (row.subject == kIdle) most = std::fmax(most, row.summary.median / kIdleCalls);
  }
  return most;
}

std::string overlap_table(const Outcome& outcome) {
  std::string text;
  const Case* previous = nullptr;
  const std::vector<Overlap> list = overlaps_of(outcome);
  for (const Overlap& o : list) {
    const auto key = [](const Case& c) { return std::tuple(c.members, c.bytes, c.engine); };
    if (previous == nullptr || key(*previous) != key(o.what)) {
      text += format("%sallreduce, %s, n = %d, %d bytes, members up to 1 ms apart; us\n",
                     previous == nullptr ? "" : "\n", name_of(o.what.engine), o.what.members, o.what.bytes);
      text += format("%-14s %9s %9s %9s %9s %9s %9s %11s\n", "subject", "computing", "work", "blocking",
                     "overlap", "blocking", "overlap", "95 %");
    }
    const std::string interval = short_interval(o.overlap_total.interval);
    text += format("%-14s %9.1f %9.1f %9.1f %9.1f %9.2f %9.2f %11s%s\n", o.subject.c_str(), o.compute / 1e3,
                   o.work / 1e3, o.blocking / 1e3, o.overlap / 1e3, o.blocking_total.median,
                   o.overlap_total.median, interval.c_str(),
                   o.overlap_total.median <= kOverlapBound ? "" : "  above 1.10");
    previous = &o.what;
  }
  if (!list.empty())
    text +=
        "\nwork: the call alone, no member late. Then the times that a blocking and an overlapped call add\n"
        "to computing, and the slowest member's time / (computing + work), median within rounds; 95 %: its\n"
        "confidence interval.\n";
  const double idle = idle_progress_of(outcome);
  if (!std::isnan(idle))
    text += "\na call for progress with nothing outstanding: " + short_number(idle) + " ns\n";
  return text;
}

nlohmann::json overlap_json(const Outcome& outcome) {
  nlohmann::json list = nlohmann::json::array();
  for (const Overlap& o : overlaps_of(outcome)) {
    list.push_back({{"subject", o.subject},
                    {"engine", name_of(o.what.engine)},
                    {"n", o.what.members},
                    {"bytes", o.what.bytes},
                    {"computing_ns", o.compute},
                    {"work_ns", o.work},
                    {"blocking_adds_ns", o.blocking},
                    {"overlap_adds_ns", o.overlap},
                    {"blocking_total_ratio", o.blocking_total.median},
                    {"blocking_total_interval", interval_json(o.blocking_total.interval)},
                    {"overlap_total_ratio", o.overlap_total.median},
                    {"overlap_total_interval", interval_json(o.overlap_total.interval)}});
  }
  const double idle = idle_progress_of(outcome);
  return {{"cases", std::move(list)},
          {"idle_progress_ns", std::isnan(idle) ? nlohmann::json(nullptr) : nlohmann::json(idle)}};
}

}  // namespace fermata::bench
