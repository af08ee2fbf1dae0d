// model_check SCENARIO [SITE[:acquire|:release]] [--expect KIND] [--history]
// model_check --list
//
// Checks one scenario, unchanged or with one site weakened. Exit status 0: the checker found what was
// expected (by default nothing; else race, deadlock, assertion or livelock). 1: it did not; --history prints
// the execution that it found. 2: the arguments are wrong, or there is no program for the scenario.
#include <cstdio>
#include <cstring>
#include <ostream>
#include <streambuf>

#include "scenario.hpp"
#include "scenarios.hpp"

namespace fermata::model {
namespace {

const char* const kSites[] = {
    "kSlotPublish", "kSlotAwait",  "kWordAdd",      "kWordPoll",      "kWordFlip",      "kCreditGive",
    "kCreditAwait", "kDoorFence",  "kRingFence",    "kFencesRead",    "kFencesKept",    "kRaiseFence",
    "kLowerFence",  "kGuardFence", "kBellRing",     "kBellRead",      "kCallText",      "kCallNumber",
    "kCallLook",    "kCallRead",   "kLeft",         "kLeftRead",      "kReferenceDrop", "kReferencesRead",
    "kJoin",        "kJoinedRead", "kMove",         "kMovedRead",     "kHandIn",        "kTakeAll",
    "kFlipAwait",   "kRecycle",    "kPoolPush",     "kPoolPop",       "kGone",          "kGoneRead",
    "kReadFence",   "kReadEnd",    "kReadEndAwait", "kWithdrawFence", "kBiasedLock",    "kBiasedUnlock"};
static_assert(std::size(kSites) == static_cast<std::size_t>(Site::kCount));

bool parse_site(const std::string& text) {
  const std::string name = text.substr(0, text.find(':'));
  const std::string half = text.substr(name.size());
  for (std::size_t i = 0; i < std::size(kSites); ++i) {
    if (name != kSites[i]) continue;
    weakened.site = static_cast<Site>(i);
    weakened.half = half == ":acquire" ? Half::kAcquire : half == ":release" ? Half::kRelease : Half::kBoth;
    return half.empty() || weakened.half != Half::kBoth;
  }
  return false;
}

struct Arguments {
  std::string scenario;
  std::string expect = "nothing";
  bool history = false;
};

bool parse(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--history") {
      out.history = true;
    } else if (word == "--expect" && i + 1 < argc) {
      out.expect = argv[++i];
    } else if (out.scenario.empty()) {
      out.scenario = word;
    } else if (!parse_site(word)) {
      return false;
    }
  }
  return !out.scenario.empty();
}

// The checker's report, which goes to standard output or is dropped. The checker writes while its own memory
// manager is active, so the stream must not own a buffer.
class Text : public std::streambuf {
 public:
  explicit Text(bool wanted) : wanted_(wanted) {}

 private:
  std::streamsize xsputn(const char* s, std::streamsize n) override {
    if (wanted_) std::fwrite(s, 1, static_cast<std::size_t>(n), stdout);
    return n;
  }
  int_type overflow(int_type c) override {
    if (wanted_) std::fputc(c, stdout);
    return c;
  }
  bool wanted_;
};

rl::test_result_e check(const Scenario& s, bool history) {
  Text text(history);
  std::ostream stream(&text);
  rl::test_params params;
  params.search_type = s.search.kind;
  params.iteration_count = s.search.executions;
  params.context_bound = s.search.preemptions;
  params.output_stream = &stream;
  params.progress_stream = &stream;
  params.execution_depth_limit = 4000;
  if (s.protocol != nullptr) {
    s.protocol(params);
  } else if (s.wanted.members == 2) {
    run<ProgramSuite<2>>(params);
  } else {
    run<ProgramSuite<3>>(params);
  }
  std::printf("%s: %s, %llu executions\n", s.name, rl::format(s.search.kind),
              static_cast<unsigned long long>(params.stop_iteration));
  return params.test_result;
}

const char* name_of(rl::test_result_e result) {
  switch (result) {
    case rl::test_result_success: return "nothing";
    case rl::test_result_data_race: return "race";
    case rl::test_result_deadlock: return "deadlock";
    case rl::test_result_livelock: return "livelock";
    case rl::test_result_user_assert_failed: return "assertion";
    default: return rl::test_result_str(result);
  }
}

int run(const Scenario& s, const Arguments& arguments) {
  scenario = &s;
  if (s.protocol == nullptr) programs = make_programs(s.wanted);
  if (!programs.error.empty()) return std::fprintf(stderr, "%s: %s\n", s.name, programs.error.c_str()), 2;
  places.gather(programs, (static_cast<std::uint32_t>(s.wanted.payload) + 7) / 8);
  if (places.cells() > kMaxCells || places.payloads() > kMaxCells || places.doors() > kMaxDoors)
    return std::fprintf(stderr, "%s is larger than the model's memory\n", s.name), 2;
  const std::string found = name_of(check(s, arguments.history));
  std::printf("found: %s, expected: %s\n", found.c_str(), arguments.expect.c_str());
  return found == arguments.expect ? 0 : 1;
}

}  // namespace
}  // namespace fermata::model

int main(int argc, char** argv) {
  using namespace fermata::model;
  const std::vector<Scenario> all = scenarios();
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const Scenario& s : all) std::printf("%-28s %s\n", s.name, s.what);
    return 0;
  }
  Arguments arguments;
  if (!parse(argc, argv, arguments))
    return std::fprintf(stderr, "model_check SCENARIO [SITE] [--expect KIND] [--history]\n"), 2;
  for (const Scenario& s : all)
    if (arguments.scenario == s.name) return run(s, arguments);
  return std::fprintf(stderr, "no scenario %s\n", arguments.scenario.c_str()), 2;
}
