// simulate [TRACE] [--cpus 2]: what the auto wait policy costs in a simulated kernel (machine.hpp), compared
// with the best of the fixed policies: yield; park; spin, then park. Without TRACE: teams of several sizes,
// quiet and beside foreign threads, and three adversaries that see the policy's state. TRACE: the waits that
// `fermata run --trace` recorded, quiet and beside foreign threads.
//
// A ratio is auto / best: 1 is as good as the best, above 1 is worse. An adversary's calls are recorded, and
// the fixed policies get the same ones.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/waits/machine.hpp"

namespace fermata::bench::waits {
namespace {

struct SpinThenParkWait {
  std::uint32_t spins() const { return 256; }
  WaitAction next(const WaitView& view) {
    return view.waited_ns < 20'000 ? WaitAction::kSpin : WaitAction::kPark;
  }
  void done(const WaitView&) {}
};

using Calls = std::vector<Call>;

template <class Policy>
std::int64_t cost(const Calls& calls, std::uint32_t cpus, const std::vector<Policy>& policies) {
  return Machine<Policy>(
             policies, cpus, {},
             [&](std::uint64_t call) { return call <= calls.size() ? &calls[call - 1] : nullptr; })
      .run();
}
template <class Policy>
std::int64_t cost(const Calls& calls, std::uint32_t cpus) {
  return cost(calls, cpus, std::vector<Policy>(calls.front().work.size()));
}
std::vector<AutoWait> team_of(std::size_t members, std::uint32_t cpus, Pace& pace) {
  forget(pace);
  exclude_until(pace, 0);
  const auto n = static_cast<std::uint32_t>(members);
  return std::vector<AutoWait>(members, AutoWait(room_of(n, {cpus, cpus}), n, &pace));
}

void compare(const char* name, const Calls& calls, std::uint32_t cpus) {
  Pace pace;
  const std::size_t members = calls.front().work.size();
  const double n = static_cast<double>(calls.size()) * 1'000;
  const double own = static_cast<double>(cost(calls, cpus, team_of(members, cpus, pace))) / n;
  const double yield = static_cast<double>(cost<YieldWait>(calls, cpus)) / n;
  const double park = static_cast<double>(cost<ParkWait>(calls, cpus)) / n;
  const double spin = static_cast<double>(cost<SpinThenParkWait>(calls, cpus)) / n;
  std::printf("%-34s %3zu %10.1f %10.1f %10.1f %10.1f %8.2f\n", name, members, own, yield, park, spin,
              own / std::min({yield, park, spin}));
}

// Work of about that length, which differs by up to a half between members.
std::vector<std::int64_t> work_of(std::size_t members, std::int64_t ns, std::uint64_t& seed) {
  std::vector<std::int64_t> work(members);
  for (std::int64_t& each : work) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    each = ns * 3 / 4 + static_cast<std::int64_t>((seed >> 33) % 1'000) * ns / 2'000;
  }
  return work;
}

constexpr std::uint64_t kWaits = 800'000;  // of all members

void steady(std::size_t members, std::uint32_t cpus, const char* name, std::uint32_t foreign,
            std::int64_t work_ns, std::uint64_t in_turn = 0) {
  Calls calls;
  std::uint64_t seed = 1;
  for (std::uint64_t c = 0; c < kWaits / members; ++c)
    calls.push_back({work_of(members, work_ns, seed), in_turn != 0 && c / in_turn % 2 == 0 ? 0 : foreign});
  compare(name, calls, cpus);
}

// choose(pace, call, seed) makes the next call from what the team has learned.
template <class Choose>
void adversary(std::size_t members, std::uint32_t cpus, const char* name, Choose&& choose) {
  Pace pace;
  Calls calls;
  calls.reserve(kWaits / members);
  std::uint64_t seed = 1;
  const auto next = [&](std::uint64_t call) -> const Call* {
    if (call > kWaits / members) return nullptr;
    calls.push_back(choose(pace, call, seed));
    return &calls.back();
  };
  Machine<AutoWait>(team_of(members, cpus, pace), cpus, {}, next).run();
  compare(name, calls, cpus);
}

void synthetic(std::uint32_t cpus) {
  for (const std::size_t members : {2, 4, 16, 64}) {
    steady(members, cpus, "quiet", 0, 1'000);
    steady(members, cpus, "quiet, work of 100 us", 0, 100'000);
    steady(members, cpus, "one foreign thread", 1, 1'000);
    steady(members, cpus, "a foreign thread on each CPU", cpus, 1'000);
    steady(members, cpus, "these, in 5,000 calls of 10,000", cpus, 1'000, 5'000);
    steady(members, cpus, "work of 1 ms beside these", cpus, 1'000'000);
    const auto holds = [](const Pace& pace) { return pace.parks_until.load() != 0; };
    // Foreign threads run until the team parks, and are gone until it yields again.
    adversary(members, cpus, "adversary: gone while all park", [&](Pace& pace, auto, auto& seed) {
      return Call{work_of(members, 1'000, seed), holds(pace) ? 0 : cpus};
    });
    // Foreign threads run only for scouts.
    adversary(members, cpus, "adversary: back for scouts", [&](Pace& pace, auto call, auto& seed) {
      const bool parks = call < pace.parks_until.load();
      return Call{work_of(members, 1'000, seed), parks ? 0 : cpus};
    });
    // Stalls that just begin a hold; unequal work in it, so that parks seem to gain nothing; then a rest.
    const std::uint64_t apart = 3'000'000 / 2 / (4'000 * members);
    adversary(members, cpus, "adversary: rests beside load", [&](Pace& pace, auto call, auto& seed) {
      const bool now = pace.rest_ns.load() > 0 || call % std::max(apart, std::uint64_t{2}) < 1;
      return Call{work_of(members, holds(pace) ? 20'000 * members : 1'000, seed),
                  holds(pace) || !now ? 0 : cpus};
    });
  }
}

// The work of a member is what lies between two of its waits.
Calls read_trace(const char* path) {
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::pair<double, double>>> waits;
  for (const nlohmann::json& event : trace.at("traceEvents"))
    if (event.at("ph") == "X")
      waits[{event.at("pid"), event.at("tid")}].push_back({event.at("ts"), event.at("dur")});
  std::size_t most = 0;
  for (const auto& [thread, all] : waits) most = std::max(most, all.size());
  std::erase_if(waits, [&](const auto& thread) { return thread.second.size() < most; });
  if (most < 2) throw std::runtime_error("the trace has no two waits of one thread");
  Calls calls(most - 1, Call{{}, 0});
  for (auto& [thread, all] : waits) {
    std::sort(all.begin(), all.end());
    for (std::size_t c = 0; c + 1 < most; ++c) {
      const double us = all[c + 1].first - all[c].first - all[c].second;
      calls[c].work.push_back(static_cast<std::int64_t>(std::max(us, 0.0) * 1'000));
    }
  }
  return calls;
}

void recorded(const char* path, std::uint32_t cpus) {
  Calls calls = read_trace(path);
  for (std::uint32_t foreign = 0; foreign <= cpus; ++foreign) {
    for (Call& call : calls) call.foreign = foreign;
    compare(("recorded, foreign threads: " + std::to_string(foreign)).c_str(), calls, cpus);
  }
}

}  // namespace
}  // namespace fermata::bench::waits

int main(int argc, char** argv) {
  using namespace fermata::bench::waits;
  const char* trace = nullptr;
  std::uint32_t cpus = 2;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--cpus" && i + 1 < argc)
      cpus = static_cast<std::uint32_t>(std::atoi(argv[++i]));
    else trace = argv[i];
  }
  if (cpus == 0) return std::fprintf(stderr, "simulate [TRACE] [--cpus 2]\n"), 2;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::printf("%-34s %3s %10s %10s %10s %10s %8s\n", "us a call", "n", "auto", "yield", "park", "spin+park",
              "auto/best");
  try {
    if (trace != nullptr) recorded(trace, cpus);
    else synthetic(cpus);
  } catch (const std::exception& e) {
    return std::fprintf(stderr, "simulate: %s: %s\n", trace, e.what()), 1;
  }
}
