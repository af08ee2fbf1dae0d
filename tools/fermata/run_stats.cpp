#include "run_stats.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

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

std::string duration(double ns) {
  if (ns < 1e4) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e7) return fmt::format("{:.1f} us", ns * 1e-3);
  if (ns < 1e10) return fmt::format("{:.1f} ms", ns * 1e-6);
  return fmt::format("{:.1f} s", ns * 1e-9);
}

// What the record's timed calls took, for all its calls.
std::uint64_t whole_wait(const stats::Record& r) {
  if (r.sampled == 0) return 0;
  const double share = static_cast<double>(r.episodes) / static_cast<double>(r.sampled);
  return static_cast<std::uint64_t>(static_cast<double>(r.waited_ns) * share);
}

}  // namespace

Result<ProcessStats> read_stats(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{Status::kNotFound, path + ": cannot be opened"};
  const auto file = std::make_unique<stats::File>();
  in.read(reinterpret_cast<char*>(file.get()), sizeof(stats::File));
  if (in.gcount() != sizeof(stats::File) || file->magic != stats::kMagic || file->version != stats::kVersion)
    return Error{Status::kParse, path + ": no statistics of this version, or cut short"};
  ProcessStats out;
  out.process = file->process;
  out.library = text_of(file->library);
  out.command = text_of(file->command);
  out.plan = text_of(file->plan);
  // order: relaxed at all three: the file was read after its writers had ended, or it is a snapshot
  const std::uint32_t taken = file->records.load(std::memory_order_relaxed);
  const std::uint32_t notes = file->notes.load(std::memory_order_relaxed);    // order: see above
  const std::uint32_t events = file->events.load(std::memory_order_relaxed);  // order: see above
  const std::uint32_t records = std::min(taken, stats::kRecords);
  out.not_counted = taken - records;
  std::map<std::pair<std::uint64_t, std::uint64_t>, SiteStats> sites;
  std::map<std::uint32_t, ThreadStats> threads;
  for (std::uint32_t i = 0; i < records; ++i) {
    const stats::Record& r = file->record[i];
    SiteStats& s = sites[{r.object, r.site}];
    s.object = r.object;
    s.place = text_of(r.place);
    s.members = r.members;
    s.calls += r.episodes;
    s.waited_ns += whole_wait(r);
    s.longest_ns = std::max(s.longest_ns, r.longest_ns);
    ThreadStats& t = threads[r.thread];
    t.thread = r.thread;
    t.calls += r.episodes;
    t.last += r.last;
    t.waited_ns += whole_wait(r);
    out.episodes += r.last;
  }
  for (auto& [key, s] : sites) out.sites.push_back(std::move(s));
  std::stable_sort(out.sites.begin(), out.sites.end(), [](const SiteStats& a, const SiteStats& b) { return a.waited_ns > b.waited_ns; });
  for (auto& [key, t] : threads) out.threads.push_back(t);
  for (std::uint32_t i = 0; i < std::min(notes, stats::kNotes); ++i)
    out.fell_back.emplace_back(text_of(file->note[i].text), file->note[i].times);
  for (std::uint32_t i = 0; i < std::min(events, stats::kEvents); ++i) {
    const stats::Event& e = file->event[i];
    if (e.record >= records || e.end_ns < e.begin_ns) continue;
    const stats::Record& r = file->record[e.record];
    out.waits.push_back({static_cast<double>(e.begin_ns) * 1e-3, static_cast<double>(e.end_ns - e.begin_ns) * 1e-3, r.thread, e.last != 0,
                         text_of(r.place)});
  }
  return out;
}

std::string to_text(const ProcessStats& p) {
  std::string out = fmt::format("process {}: {}\n", p.process, p.command.size() > 80 ? p.command.substr(0, 77) + "..." : p.command);
  out += fmt::format("  {}; {}\n  {} episodes by Fermata", p.library, p.plan, p.episodes);
  out += fmt::format(" in {} threads\n", p.threads.size());
  if (!p.sites.empty()) {
    out += fmt::format("  {:<44} {:>7} {:>10} {:>9} {:>10} {:>10}\n", "barrier and call site", "threads", "calls", "wait each", "all waits",
                       "longest");
    for (const SiteStats& s : p.sites) {
      const std::string place = s.place.size() > 30 ? s.place.substr(0, 27) + "..." : s.place;
      out += fmt::format("  {:<44} {:>7} {:>10} {:>9} {:>10} {:>10}\n", fmt::format("{:#x} {}", s.object, place), s.members, s.calls,
                         duration(s.calls > 0 ? static_cast<double>(s.waited_ns) / static_cast<double>(s.calls) : 0),
                         duration(static_cast<double>(s.waited_ns)), duration(static_cast<double>(s.longest_ns)));
    }
    // Who comes last makes the others wait: equal shares are balance.
    out += fmt::format("  {:<12} {:>10} {:>12} {:>10}\n", "thread", "calls", "came last", "waited");
    for (const ThreadStats& t : p.threads)
      out += fmt::format("  {:<12} {:>10} {:>6} {:>3.0f} % {:>10}\n", t.thread, t.calls, t.last,
                         p.episodes > 0 ? 100.0 * static_cast<double>(t.last) / static_cast<double>(p.episodes) : 0.0,
                         duration(static_cast<double>(t.waited_ns)));
  }
  for (const auto& [reason, times] : p.fell_back) out += fmt::format("  left to the runtime {} times: {}\n", times, reason);
  if (p.not_counted > 0) out += fmt::format("  {} pairs of thread and call site found no room and are not counted\n", p.not_counted);
  return out;
}

nlohmann::ordered_json to_json(const ProcessStats& p) {
  nlohmann::ordered_json out = {{"process", p.process}, {"command", p.command}, {"library", p.library}, {"plan", p.plan},
                                {"episodes", p.episodes}, {"not_counted", p.not_counted}};
  out["sites"] = out["threads"] = out["fell_back"] = nlohmann::ordered_json::array();
  for (const SiteStats& s : p.sites)
    out["sites"].push_back({{"object", s.object}, {"place", s.place}, {"members", s.members}, {"calls", s.calls},
                            {"waited_ns", s.waited_ns}, {"longest_ns", s.longest_ns}});
  for (const ThreadStats& t : p.threads)
    out["threads"].push_back({{"thread", t.thread}, {"calls", t.calls}, {"came_last", t.last}, {"waited_ns", t.waited_ns}});
  for (const auto& [reason, times] : p.fell_back) out["fell_back"].push_back({{"reason", reason}, {"times", times}});
  return out;
}

nlohmann::ordered_json trace_of(const std::vector<ProcessStats>& all) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const ProcessStats& p : all) {
    events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", p.process}, {"args", {{"name", p.command}}}});
    for (const Wait& w : p.waits)
      events.push_back({{"name", w.last ? "last at " + w.place : w.place}, {"cat", "barrier"}, {"ph", "X"}, {"ts", w.begin_us},
                        {"dur", w.length_us}, {"pid", p.process}, {"tid", w.thread}});
  }
  return {{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}};
}

}  // namespace fermata::tool
