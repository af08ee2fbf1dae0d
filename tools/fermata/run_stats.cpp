#include "run_stats.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <tuple>

#include "elf_symbols.hpp"
#include "preload/common/stats.hpp"

namespace fermata::tool {
namespace {

template <std::size_t N>
std::string text_of(const char (&field)[N]) {
  std::string out(field, strnlen(field, N));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 32) c = '?';
  return out;
}

// Readable call sites of one file. A site without an exported symbol is "+0x1234 (/path/program)"; its
// function's name is then taken from that object.
class Places {
 public:
  template <class Record>
  const std::string& of(const Record& r) {
    const std::string text = text_of(r.place);
    const auto [at, is_new] = known_.try_emplace(text, text);
    if (is_new) at->second = named(text);
    return at->second;
  }

 private:
  static std::string named(const std::string& text) {
    const auto open = text.find(" (/");
    std::uint64_t offset = 0;
    if (text.rfind("+0x", 0) != 0 || open == std::string::npos || text.back() != ')') return text;
    if (std::from_chars(text.data() + 3, text.data() + open, offset, 16).ptr != text.data() + open)
      return text;
    const std::string path = text.substr(open + 2, text.size() - open - 3);
    const std::string function = function_at(path, offset);
    return (function.empty() ? text.substr(0, open) : function) + " (" + path.substr(path.rfind('/') + 1) +
           ")";
  }

  std::map<std::string, std::string> known_;
};

std::string duration(double ns) {
  if (ns < 1e4) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e7) return fmt::format("{:.1f} us", ns * 1e-3);
  if (ns < 1e10) return fmt::format("{:.1f} ms", ns * 1e-6);
  return fmt::format("{:.1f} s", ns * 1e-9);
}

std::string duration_if(bool known, double ns) { return known ? duration(ns) : "-"; }

// Extrapolates a sum from the calls that were timed to all calls.
std::uint64_t scaled(std::uint64_t sum, std::uint64_t looked_at, std::uint64_t calls) {
  if (looked_at == 0) return 0;
  const double all =
      static_cast<double>(sum) * (static_cast<double>(calls) / static_cast<double>(looked_at)) + 0.5;
  return all < 0x1p63 ? static_cast<std::uint64_t>(all) : std::uint64_t{1} << 63;
}

// How late the last arrivals of some records are.
struct Late {
  std::uint64_t times = 0, sum_ns = 0;
  void add(const stats::Record& r) {
    times += r.measured;
    sum_ns += r.late_ns;
  }
  double mean() const { return times > 0 ? static_cast<double>(sum_ns) / static_cast<double>(times) : 0; }
};

void add(ProcessStats& out, const stats::File& file, std::uint32_t records, Places& places) {
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t>, std::pair<SiteStats, Late>>
      sites;
  std::map<std::uint32_t, std::pair<ThreadStats, Late>> threads;
  std::map<std::string, std::uint64_t> left;
  for (std::uint32_t i = 0; i < records; ++i) {
    const stats::Record& r = file.record[i];
    auto& [s, site_late] = sites[{r.object, r.site, r.members, r.reason}];
    s.object = r.object;
    s.place = places.of(r);
    if (s.plan.empty()) s.plan = text_of(r.plan);
    if (r.reason > 0 && r.reason <= stats::kNotes) s.reason = text_of(file.note[r.reason - 1].text);
    s.members = r.members;
    s.calls += r.calls;
    s.episodes += r.episodes;
    s.waited_ns += scaled(r.waited_ns, r.timed, r.calls);
    s.timed |= r.timed > 0;
    s.longest_ns = std::max(s.longest_ns, r.longest_ns);
    site_late.add(r);
    auto& [t, thread_late] = threads[r.thread];
    t.thread = r.thread;
    t.calls += r.calls;
    t.timed |= r.timed > 0;
    t.judged |= r.judged > 0;
    t.last += scaled(r.last, r.judged, r.calls);
    t.waited_ns += scaled(r.waited_ns, r.timed, r.calls);
    thread_late.add(r);
    if (r.reason == 0) out.episodes += r.episodes;
    else if (r.members != 1) left[s.reason] += r.episodes;  // a single thread meets no other
  }
  for (auto& [key, s] : sites) {
    s.first.late_ns = s.second.mean();
    s.first.late_known = s.second.times > 0;
    out.sites.push_back(std::move(s.first));
  }
  for (auto& [key, t] : threads) {
    t.first.late_ns = t.second.mean();
    t.first.late_known = t.second.times > 0;
    out.threads.push_back(t.first);
  }
  for (const auto& [reason, episodes] : left) {
    out.left += episodes;
    if (episodes > 0) out.fell_back.emplace_back(reason, episodes);
  }
  std::sort(out.sites.begin(), out.sites.end(), [](const SiteStats& a, const SiteStats& b) {
    return a.waited_ns != b.waited_ns ? a.waited_ns > b.waited_ns : a.place < b.place;
  });
}

// The records of several threads for one site are one row.
void add_regions(ProcessStats& out, const stats::File& file, std::uint32_t records, Places& places) {
  static_assert(kMostRank + 1 == stats::kRanks);
  std::map<std::pair<std::string, bool>, stats::RegionRecord> sums;
  for (std::uint32_t i = 0; i < records; ++i) {
    const stats::RegionRecord& r = file.region[i];
    stats::RegionRecord& sum = sums[{places.of(r), r.resident != 0}];
    sum.members = std::max(sum.members, r.members);
    sum.regions += r.regions;
    sum.timed += r.timed;
    sum.took_ns += r.took_ns;
    sum.judged += r.judged;
    sum.waited_ns += r.waited_ns;
    sum.members_ns += r.members_ns;
    for (std::uint32_t rank = 0; rank < stats::kRanks; ++rank) sum.last[rank] += r.last[rank];
  }
  const auto part = [](std::uint64_t a, std::uint64_t b) {
    return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
  };
  for (const auto& [key, sum] : sums) {
    const auto* const most = std::max_element(std::begin(sum.last), std::end(sum.last));
    out.regions.push_back({.place = key.first,
                           .resident = key.second,
                           .members = sum.members,
                           .regions = sum.regions,
                           .timed = sum.timed > 0,
                           .judged = sum.judged > 0,
                           .took_ns = part(sum.took_ns, sum.timed),
                           .waiting = part(sum.waited_ns, sum.members_ns),
                           .last_rank = static_cast<std::uint32_t>(most - std::begin(sum.last)),
                           .last_share = part(*most, sum.judged)});
  }
  const auto all_ns = [](const RegionStats& r) { return r.took_ns * static_cast<double>(r.regions); };
  std::sort(out.regions.begin(), out.regions.end(), [&](const RegionStats& a, const RegionStats& b) {
    return all_ns(a) != all_ns(b) ? all_ns(a) > all_ns(b) : a.place < b.place;
  });
}

std::string cut(const std::string& text, std::size_t most) {
  return text.size() > most ? text.substr(0, most - 3) + "..." : text;
}

std::string text_of_regions(const std::vector<RegionStats>& regions) {
  if (regions.empty()) return "";
  std::string out = fmt::format("  {:<44} {:>7} {:>10} {:>9} {:>8} {:>15}\n", "parallel region", "threads",
                                "regions", "each", "waiting", "last");
  for (const RegionStats& r : regions) {
    const std::string last = r.judged ? fmt::format("rank {}{} {:>4.0f} %", r.last_rank,
                                                    r.last_rank == kMostRank ? "+" : "", 100 * r.last_share)
                                      : "-";
    out +=
        fmt::format("  {:<44} {:>7} {:>10} {:>9} {:>8} {:>15}{}\n", cut(r.place, 44), r.members, r.regions,
                    duration_if(r.timed, r.took_ns),
                    r.judged ? fmt::format("{:.0f} %", 100 * r.waiting) : "-", last, r.resident ? "" : " *");
  }
  const bool all = std::all_of(regions.begin(), regions.end(), [](const auto& r) { return r.resident; });
  return out + (all ? "" : "  * by the run-time library, without a resident team\n");
}

constexpr std::size_t kThreadsShown = 32;

double share(const ProcessStats& p) {
  return 100.0 * static_cast<double>(p.episodes) /
         static_cast<double>(std::max<std::uint64_t>(1, p.episodes + p.left));
}

}  // namespace

Result<ProcessStats> stats_of(const stats::File& file, const std::string& name) {
  if (file.magic != stats::kMagic || file.version != stats::kVersion)
    return Error{Status::kParse, name + ": no statistics of this version"};
  ProcessStats out;
  out.process = file.process;
  out.library = text_of(file.library);
  out.command = text_of(file.command);
  out.plan = text_of(file.plan);
  // order: relaxed throughout: the file was read after its writers had ended, or it is a snapshot
  const std::uint32_t events = file.events.load(std::memory_order_relaxed);
  // order: see above
  const std::uint32_t records = std::min(file.records.load(std::memory_order_relaxed), stats::kRecords);
  // order: see above
  out.not_counted = file.lost.load(std::memory_order_relaxed);
  // order: see above
  const std::uint32_t regions = std::min(file.regions.load(std::memory_order_relaxed), stats::kRegions);
  Places places;
  add(out, file, records, places);
  add_regions(out, file, regions, places);
  for (std::uint32_t i = 0; i < std::min(events, stats::kEvents); ++i) {
    const stats::Event& e = file.event[i];
    if (e.record >= records || e.end_ns < e.begin_ns) continue;
    const stats::Record& r = file.record[e.record];
    out.waits.push_back({static_cast<double>(e.begin_ns) * 1e-3,
                         static_cast<double>(e.end_ns - e.begin_ns) * 1e-3, r.thread, e.last != 0,
                         places.of(r)});
  }
  return out;
}

Result<ProcessStats> read_stats(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{Status::kNotFound, path + ": cannot be opened"};
  const auto file = std::make_unique<stats::File>();
  in.read(reinterpret_cast<char*>(file.get()), sizeof(stats::File));
  if (in.gcount() != sizeof(stats::File)) return Error{Status::kParse, path + ": cut short"};
  return stats_of(*file, path);
}

std::string to_text(const ProcessStats& p) {
  std::string out = fmt::format("process {}: {}\n", p.process,
                                p.command.size() > 80 ? p.command.substr(0, 77) + "..." : p.command);
  out += fmt::format("  {}; {}\n  {} episodes by Fermata", p.library, p.plan, p.episodes);
  if (p.left > 0) out += fmt::format(", {} by the run-time ({:.1f} % by Fermata)", p.left, share(p));
  out += fmt::format(" in {} threads\n", p.threads.size()) + text_of_regions(p.regions);
  if (!p.sites.empty()) {
    out += fmt::format("  {:<44} {:>7} {:>10} {:>9} {:>10} {:>10} {:>9}\n", "barrier and call site",
                       "threads", "calls", "wait each", "all waits", "longest", "last late");
    for (const SiteStats& s : p.sites) {
      const std::string object = s.object != 0 ? fmt::format("{:#x} ", s.object) : "";
      const std::string place = object + cut(s.place, 44 - object.size());
      out += fmt::format(
          "  {:<44} {:>7} {:>10} {:>9} {:>10} {:>10} {:>9}\n", place, s.members, s.calls,
          duration_if(s.timed,
                      s.calls > 0 ? static_cast<double>(s.waited_ns) / static_cast<double>(s.calls) : 0),
          duration_if(s.timed, static_cast<double>(s.waited_ns)),
          duration_if(s.timed, static_cast<double>(s.longest_ns)), duration_if(s.late_known, s.late_ns));
      if (!s.reason.empty()) out += fmt::format("      left to the run-time: {}\n", s.reason);
      if (!s.plan.empty()) out += fmt::format("      {}\n", s.plan);
    }
    // The last thread makes the others wait; equal shares mean balance.
    const std::uint64_t all = p.episodes + p.left;
    out +=
        fmt::format("  {:<12} {:>10} {:>12} {:>10} {:>10}\n", "thread", "calls", "came last", "by", "waited");
    for (const ThreadStats& t : p.threads) {
      if (static_cast<std::size_t>(&t - p.threads.data()) == kThreadsShown) break;
      const double part = all > 0 ? 100.0 * static_cast<double>(t.last) / static_cast<double>(all) : 0.0;
      // MPI ranks do not tell each other when they arrive
      const std::string last = t.judged ? fmt::format("{:>6} {:>3.0f} %", t.last, part) : "-";
      out += fmt::format("  {:<12} {:>10} {:>12} {:>10} {:>10}\n", t.thread, t.calls, last,
                         duration_if(t.late_known, t.late_ns),
                         duration_if(t.timed, static_cast<double>(t.waited_ns)));
    }
    if (p.threads.size() > kThreadsShown)
      out += fmt::format("  and {} threads more (--json has all)\n", p.threads.size() - kThreadsShown);
  }
  for (const auto& [reason, episodes] : p.fell_back)
    out += fmt::format("  left to the run-time {} times: {}\n", episodes, reason);
  if (p.not_counted > 0)
    out += fmt::format("  {} calls and regions at further call sites not counted: no room for them\n",
                       p.not_counted);
  return out;
}

namespace {

template <class T>
nlohmann::ordered_json if_known(bool known, T value) {
  return known ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

nlohmann::ordered_json to_json(const ProcessStats& p) {
  nlohmann::ordered_json out = {{"process", p.process},      {"command", p.command},
                                {"library", p.library},      {"plan", p.plan},
                                {"episodes", p.episodes},    {"left", p.left},
                                {"share_percent", share(p)}, {"not_counted", p.not_counted}};
  out["sites"] = out["threads"] = out["regions"] = out["fell_back"] = nlohmann::ordered_json::array();
  for (const SiteStats& s : p.sites)
    out["sites"].push_back({{"object", s.object},
                            {"place", s.place},
                            {"members", s.members},
                            {"calls", s.calls},
                            {"episodes", s.episodes},
                            {"waited_ns", if_known(s.timed, s.waited_ns)},
                            {"longest_ns", if_known(s.timed, s.longest_ns)},
                            {"late_ns", if_known(s.late_known, s.late_ns)},
                            {"plan", s.plan},
                            {"reason", s.reason}});
  for (const ThreadStats& t : p.threads)
    out["threads"].push_back({{"thread", t.thread},
                              {"calls", t.calls},
                              {"came_last", if_known(t.judged, t.last)},
                              {"waited_ns", if_known(t.timed, t.waited_ns)},
                              {"late_ns", if_known(t.late_known, t.late_ns)}});
  for (const RegionStats& r : p.regions)
    out["regions"].push_back({{"place", r.place},
                              {"members", r.members},
                              {"resident", r.resident},
                              {"regions", r.regions},
                              {"took_ns", if_known(r.timed, r.took_ns)},
                              {"waiting", if_known(r.judged, r.waiting)},
                              {"last_rank", if_known(r.judged, r.last_rank)},
                              {"last_share", if_known(r.judged, r.last_share)}});
  for (const auto& [reason, times] : p.fell_back)
    out["fell_back"].push_back({{"reason", reason}, {"times", times}});
  return out;
}

nlohmann::ordered_json trace_of(const std::vector<ProcessStats>& all) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const ProcessStats& p : all) {
    events.push_back(
        {{"name", "process_name"}, {"ph", "M"}, {"pid", p.process}, {"args", {{"name", p.command}}}});
    for (const Wait& w : p.waits)
      events.push_back({{"name", w.last ? "last at " + w.place : w.place},
                        {"cat", "barrier"},
                        {"ph", "X"},
                        {"ts", w.begin_us},
                        {"dur", w.length_us},
                        {"pid", p.process},
                        {"tid", w.thread}});
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

}  // namespace fermata::tool
