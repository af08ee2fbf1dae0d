// The table of environment variables: the meaning of each kind of value, and the messages about typing
// errors.
#include "os/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "sync/wait_wanted.hpp"

namespace fermata::os {
namespace {

class Set {
 public:
  Set(Variable variable, const char* value) : Set(row_of(variable).name, value) {}
  Set(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Set() { unsetenv(name_); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;

 private:
  const char* name_;
};

std::string said_of(const std::string& entry) {
  char text[kComplaint];
  return complaint(entry.c_str(), text) ? text : "";
}

TEST(Environment, TheTableIsInTheOrderOfTheEnumeration) {
  const std::vector<std::string> names = {
      "REPRODUCIBLE", "WAIT",           "STALL_SECONDS",   "REFRESH",    "CMA",
      "MONITOR",      "MOVE",           "PROGRESS_THREAD", "DISABLE",    "VERBOSE",
      "PSHARED",      "OPENMP_REGIONS", "MPI_COLLECTIVES", "FAKE_HOSTS", "STATS",
      "TRACE"};
  ASSERT_EQ(names.size(), static_cast<std::size_t>(Variable::kCount));
  for (std::size_t i = 0; i < names.size(); ++i) {
    const VariableRow& row = row_of(static_cast<Variable>(i));
    EXPECT_EQ("FERMATA_" + names[i], row.name);
    EXPECT_NE(row.readers, 0) << row.name;
    // A default is a good value, and what is not set has it.
    EXPECT_EQ(said_of(std::string(row.name) + "=" + row.fallback), "");
    if (row.fallback[0] == '\0' || text_of(static_cast<Variable>(i)) != nullptr) continue;
    const Value fallback = parse(row, row.fallback), found = value_of(static_cast<Variable>(i));
    EXPECT_EQ(std::tie(found.on, found.number, found.word, found.words),
              std::tie(fallback.on, fallback.number, fallback.word, fallback.words))
        << row.name;
    EXPECT_GT(std::string(row.meaning).size(), 5u) << row.name;
  }
}

TEST(Environment, SwitchesAreOffWithNothingAnd0) {
  EXPECT_FALSE(is_on(Variable::kTrace));
  for (const char* off : {"", "0"}) {
    const Set set(Variable::kTrace, off);
    EXPECT_FALSE(is_on(Variable::kTrace)) << off;
  }
  for (const char* on : {"1", "yes", "00"}) {
    const Set set(Variable::kTrace, on);
    EXPECT_TRUE(is_on(Variable::kTrace)) << on;
  }
}

TEST(Environment, ChoicesAreWordsOrNone) {
  EXPECT_EQ(choice_of(Variable::kCma), -1);
  const WaitKind kinds[] = {WaitKind::kAuto, WaitKind::kSpin, WaitKind::kYield, WaitKind::kPark};
  const char* const names[] = {"auto", "spin", "yield", "park"};
  for (int i = 0; i < 4; ++i) {
    const Set set(Variable::kWait, names[i]);
    EXPECT_EQ(choice_of(Variable::kWait), i);
    EXPECT_EQ(wait_kind_or(WaitKind::kSpin), kinds[i]);
  }
  for (const char* none : {"", "foo", "Spin", "spi", "spin,", "auto,spin", ","}) {
    const Set set(Variable::kWait, none);
    EXPECT_EQ(choice_of(Variable::kWait), -1) << none;
    EXPECT_EQ(wait_kind_or(WaitKind::kYield), WaitKind::kYield) << none;
  }
}

TEST(Environment, SecondsAreDecimalNumbers) {
  const std::pair<const char*, double> good[] = {{"2.5", 2.5},        {"0", 0},        {"5.", 5},
                                                 {".25", 0.25},       {"1e-3", 1e-3},  {"2E+1", 20},
                                                 {"9000000000", 9e9}, {"0.001", 0.001}};
  for (const auto& [text, seconds] : good) {
    const Set set(Variable::kStallSeconds, text);
    EXPECT_EQ(seconds_of(Variable::kStallSeconds), seconds) << text;
    EXPECT_EQ(said_of(std::string("FERMATA_STALL_SECONDS=") + text), "");
  }
  for (const char* bad : {"soon", "-1", "5s", "1e", "1e+", ".", "e3", "9000000001", "1e400", "2,5", "nan",
                          "inf", " 1", "0x10"}) {
    const Set set(Variable::kStallSeconds, bad);
    EXPECT_EQ(seconds_of(Variable::kStallSeconds), 0) << bad;
    EXPECT_NE(said_of(std::string("FERMATA_STALL_SECONDS=") + bad), "") << bad;
  }
  int word = 7;
  const Set keeps(Variable::kRefresh, "1.5,keep");
  EXPECT_EQ(seconds_of(Variable::kRefresh, &word), 1.5);
  EXPECT_EQ(word, 0);
  const Set plain(Variable::kRefresh, "3");
  EXPECT_EQ(seconds_of(Variable::kRefresh, &word), 3);
  EXPECT_EQ(word, -1);
}

TEST(Environment, NumbersAreWhole) {
  const std::pair<const char*, std::int64_t> numbers[] = {
      {"3", 3}, {"0", 0}, {"1000000", 1000000}, {"1000001", 0}, {"2.5", 0}, {"-2", 0}, {"two", 0}};
  for (const auto& [text, number] : numbers) {
    const Set set(Variable::kFakeHosts, text);
    EXPECT_EQ(number_of(Variable::kFakeHosts), number) << text;
  }
}

// Every part of Fermata divides the ranks alike: into as many hosts as asked, each of which has a block.
TEST(Environment, FakeHostsAreBlocksOfRanks) {
  for (std::int64_t size = 1; size <= 9; ++size)
    for (std::int64_t asked = 0; asked <= 11; ++asked) {
      const Set set(Variable::kFakeHosts, std::to_string(asked).c_str());
      const std::int64_t hosts = std::min(asked, size);
      if (hosts <= 1) {
        EXPECT_EQ(fake_host_of(size - 1, size), -1) << asked << " hosts, " << size << " ranks";
        continue;
      }
      EXPECT_EQ(fake_host_of(0, size), 0);
      for (std::int64_t rank = 1; rank < size; ++rank) {
        const std::int64_t step = fake_host_of(rank, size) - fake_host_of(rank - 1, size);
        EXPECT_TRUE(step == 0 || step == 1) << asked << " hosts, " << size << " ranks, rank " << rank;
      }
      EXPECT_EQ(fake_host_of(size - 1, size), hosts - 1) << asked << " hosts, " << size << " ranks";
    }
}

TEST(Environment, ListsAreAnyOfTheirWords) {
  EXPECT_EQ(list_of(Variable::kMpiCollectives), 1u << 11);  // all
  const std::pair<const char*, std::uint32_t> lists[] = {
      {"", 0},           {"barrier", 1},    {"exscan,bcast", 1u << 10 | 2}, {"bcst,reduce,", 4},
      {"all", 1u << 11}, {"none", 1u << 12}};
  for (const auto& [text, bits] : lists) {
    const Set set(Variable::kMpiCollectives, text);
    EXPECT_EQ(list_of(Variable::kMpiCollectives), bits) << text;
  }
}

TEST(Environment, ABadValueIsNamedWithWhatIsAllowed) {
  EXPECT_EQ(said_of("FERMATA_WAIT=foo"),
            "FERMATA_WAIT=foo is ignored; auto, spin, yield and park are allowed");
  EXPECT_EQ(said_of("FERMATA_CMA=2"), "FERMATA_CMA=2 is ignored; 0 and 1 are allowed");
  EXPECT_EQ(said_of("FERMATA_DISABLE=yes"), "FERMATA_DISABLE=yes counts as 1; 0 and 1 are allowed");
  EXPECT_EQ(said_of("FERMATA_FAKE_HOSTS=x"),
            "FERMATA_FAKE_HOSTS=x is ignored; a whole number from 0 to 1000000 is allowed");
  EXPECT_EQ(said_of("FERMATA_STALL_SECONDS=soon"),
            "FERMATA_STALL_SECONDS=soon is ignored; a number of seconds from 0 to 9000000000 is allowed");
  EXPECT_EQ(said_of("FERMATA_REFRESH=5,hold"),
            "FERMATA_REFRESH=5,hold is ignored; a number of seconds from 0 to 9000000000, also with a comma "
            "and keep after it, is allowed");
  EXPECT_EQ(said_of("FERMATA_MPI_COLLECTIVES=bcast,bcst,x"),
            "FERMATA_MPI_COLLECTIVES: 'bcst' is ignored; barrier, bcast, reduce, allreduce, gather, scatter, "
            "allgather, reduce_scatter, alltoall, scan, exscan, all and none are allowed");
  EXPECT_EQ(said_of("FERMATA_STATS=/none/here"),
            "FERMATA_STATS=/none/here is ignored; an existing folder with write permission is allowed");
  for (const char* good : {"FERMATA_WAIT=park", "FERMATA_CMA=0", "FERMATA_DISABLE=0", "FERMATA_VERBOSE=1",
                           "FERMATA_REFRESH=5,keep", "FERMATA_MPI_COLLECTIVES=none", "FERMATA_STATS=.",
                           "FERMATA_WAIT=", "FERMATA_FAKE_HOSTS=2"})
    EXPECT_EQ(said_of(good), "");
}

TEST(Environment, AMisspeltNameGetsTheNearest) {
  EXPECT_EQ(said_of("FERMATA_WIAT=spin"), "FERMATA_WIAT is not known; did you mean FERMATA_WAIT?");
  EXPECT_EQ(said_of("FERMATA_VEBROSE=1"), "FERMATA_VEBROSE is not known; did you mean FERMATA_VERBOSE?");
  EXPECT_EQ(said_of("FERMATA_STALL_SECS=1"),
            "FERMATA_STALL_SECS is not known; did you mean FERMATA_STALL_SECONDS?");
  EXPECT_EQ(said_of("FERMTA_WAIT=spin"), "FERMTA_WAIT is not known; did you mean FERMATA_WAIT?");
  EXPECT_EQ(said_of("FERMATA_GREETING=1"),
            "FERMATA_GREETING is not known; fermata(7) lists the known variables");
  for (const char* other :
       {"PATH=/bin", "FERMATA_TEST_SCALE=0.5", "fermata=1", "", "=", "FERMATA_WIAT", "WAIT=1"})
    EXPECT_EQ(said_of(other), "");
  // A name with one letter missing, doubled or swapped with the next is taken for a typing error in that
  // name.
  for (std::size_t i = 0; i < static_cast<std::size_t>(Variable::kCount); ++i) {
    const std::string name = row_of(static_cast<Variable>(i)).name, meant = "did you mean " + name + "?";
    for (std::size_t at = 8; at < name.size(); ++at) {
      std::string missing = name, doubled = name, swapped = name;
      missing.erase(at, 1);
      doubled.insert(at, 1, name[at]);
      if (at + 1 < name.size()) std::swap(swapped[at], swapped[at + 1]);
      for (const std::string& wrong : {missing, doubled, swapped}) {
        if (wrong != name) {
          EXPECT_NE(said_of(wrong + "=1").find(meant), std::string::npos) << wrong;
        }
      }
    }
  }
}

TEST(Environment, LongAndStrangeValuesMakeOneShortLine) {
  const std::string value(5000, 'x');
  for (const char* name : {"FERMATA_WAIT", "FERMATA_STATS", "FERMATA_MPI_COLLECTIVES", "FERMATA_REFRESH"})
    EXPECT_LT(said_of(std::string(name) + "=" + value).size(), kComplaint);
  EXPECT_LT(said_of("FERMATA_" + value + "=1").size(), 150u);
  EXPECT_EQ(said_of("FERMATA_WAIT=a\nb\x1b[2J"),
            "FERMATA_WAIT=a?b?[2J is ignored; auto, spin, yield and park are allowed");
}

std::multiset<std::string> g_said;

TEST(Environment, TheWholeEnvironmentIsChecked) {
  const auto check = [] {
    g_said.clear();
    check_environment([](const char* text) { g_said.insert(text); });
    return g_said;
  };
  const std::multiset<std::string> before = check();
  const Set wrong("FERMATA_WIAT", "spin"), bad(Variable::kWait, "foo"), good(Variable::kCma, "1"),
      foreign("FERM", "1");
  EXPECT_EQ(check().size(), before.size() + 2);
  EXPECT_TRUE(g_said.contains(said_of("FERMATA_WIAT=spin")));
  EXPECT_TRUE(g_said.contains(said_of("FERMATA_WAIT=foo")));
}

}  // namespace
}  // namespace fermata::os
