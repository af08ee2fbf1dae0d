// machines/: which files there are, that each value has a source, and that the README lists every estimate.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "profile/profile.hpp"
#include "profile/store.hpp"

namespace fermata {
namespace {

const std::string kFolder = FERMATA_SOURCE_DIR "/machines/";
constexpr const char* kPublished[] = {"cluster-10x2x6", "cluster-8x2x4", "knl-72",      "mesh-64x16",
                                      "milan-2x64",     "p7ih-system",   "p7ih-drawer", "p7ih-node",
                                      "p7ih-supernode", "power8-4x6x8",  "skl-2x18",    "torus-4x4x4"};
constexpr const char* kMeasured[] = {"intel-xeon-cascadelake-2vcpu-processes",
                                     "intel-xeon-cascadelake-2vcpu-threads"};

Profile machine(const std::string& name) {
  auto p = load_profile_file(kFolder + name + ".json");
  EXPECT_TRUE(p.ok()) << p.error().message;
  return p.ok() ? *std::move(p) : Profile();
}

std::set<std::string> words_of(std::string text) {
  std::replace(text.begin(), text.end(), ',', ' ');
  std::istringstream in(text);
  std::set<std::string> words;
  for (std::string word; in >> word;) words.insert(word);
  return words;
}

// Does a citation's field of O or L concern this level? It concerns the levels that it names, or else all.
bool about(const std::set<std::string>& words, const std::string& field, Level level) {
  if (field.find("inside a node") != std::string::npos) return level != Level::kNetwork;
  bool names_any = false;
  for (int k = 0; k < kLevelCount; ++k) {
    const bool named = words.count(name_of(static_cast<Level>(k))) != 0;
    if (named && static_cast<Level>(k) == level) return true;
    names_any |= named;
  }
  if (words.count("numa_pairs") != 0)
    return level == Level::kNuma || level == Level::kPackage || level == Level::kMachine;
  return !names_any;
}

bool cited(const Profile& p, const std::string& what) {
  return std::any_of(p.citations.begin(), p.citations.end(),
                     [&](const Citation& c) { return words_of(c.field).count(what) != 0; });
}

bool cited_at(const Profile& p, const std::string& matrix, Level level) {
  return std::any_of(p.citations.begin(), p.citations.end(), [&](const Citation& c) {
    const std::set<std::string> words = words_of(c.field);
    return (words.count(matrix) != 0 || words.count("o+l") != 0) && about(words, c.field, level);
  });
}

// The levels at which a matrix has values, each with its largest value.
std::map<Level, double> levels_of(const Profile& p, const Matrix& m) {
  std::map<Level, double> most;
  for (std::int32_t i = 0; i < m.n; ++i)
    for (std::int32_t j = 0; j < m.n; ++j) {
      double& known = most[common_level(p.topology.cpus[static_cast<std::size_t>(i)],
                                        p.topology.cpus[static_cast<std::size_t>(j)])];
      known = std::max(known, m.at(i, j));
    }
  return most;
}

TEST(Machines, AreTheseAndLoad) {
  std::set<std::string> expected, found;
  for (const char* name : kPublished) expected.insert(name);
  for (const char* name : kMeasured) expected.insert(name);
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".json") found.insert(entry.path().stem());
  EXPECT_EQ(found, expected);
  for (const std::string& name : expected) {
    const Profile p = machine(name);
    EXPECT_EQ(p.o.n, static_cast<std::int32_t>(p.topology.cpus.size())) << name;
    EXPECT_GT(p.one_way_ns, 0) << name;
    for (std::int32_t i = 0; i < p.o.n; ++i)
      for (std::int32_t j = 0; j < p.o.n; ++j)
        if (i != j) {
          ASSERT_GT(p.o.at(i, j) + p.l.at(i, j), 0) << name;
        }
  }
  for (const char* name : kMeasured) EXPECT_EQ(machine(name).origin, "measured") << name;
}

TEST(Machines, CiteEachOfTheirValues) {
  for (const char* name : kPublished) {
    const Profile p = machine(name);
    SCOPED_TRACE(name);
    EXPECT_EQ(p.origin, "published");
    EXPECT_TRUE(p.fingerprint.empty());
    EXPECT_TRUE(cited(p, "topology"));
    const std::pair<const char*, double> scalars[] = {
        {"one_way_ns", p.one_way_ns},
        {"awaited_ns", p.awaited_ns},
        {"reader_ns", p.reader_ns},
        {"word_read_ns", p.word_read_ns},
        {"word_add_ns", static_cast<double>(p.word_add_ns.size())},
        {"yield_ns", p.yield_ns},
        {"futex_ns", p.futex_ns},
        {"tearing", static_cast<double>(p.tearing.size())}};
    for (const auto& [field, value] : scalars) EXPECT_TRUE(value == 0 || cited(p, field)) << field;
    for (const char* field : {"hop_ns", "gap_ns", "byte_ns"})
      EXPECT_TRUE(!p.topology.network || cited(p, field)) << field;
    EXPECT_TRUE(p.topology.network.global_ns == 0 || cited(p, "global_ns"));
    for (const LayoutCost& c : p.layouts) EXPECT_TRUE(cited(p, "layouts") && cited(p, c.layout)) << c.layout;
    for (const auto& [matrix, m] : {std::pair<const char*, const Matrix&>{"o", p.o}, {"l", p.l}})
      for (const auto& [level, value] : levels_of(p, m))
        EXPECT_TRUE(value == 0 || cited_at(p, matrix, level)) << matrix << " of level " << name_of(level);
    for (const Citation& c : p.citations) EXPECT_GT(c.source.size(), 10u) << c.field;
  }
}

// Verbatim and in the files' order, so that a reader of a golden test finds all its estimates.
TEST(Machines, TheReadmeListsEveryEstimate) {
  const auto readme = read_file(kFolder + "README.md");
  ASSERT_TRUE(readme.ok());
  const std::string list = readme->substr(readme->find("## Every estimate"));
  std::size_t sections = 0;
  for (std::size_t at = list.find("\n### "); at != std::string::npos; at = list.find("\n### ", at + 1))
    ++sections;
  EXPECT_EQ(sections, std::size(kPublished));
  for (const char* name : kPublished) {
    std::string expected;
    for (const Citation& c : machine(name).citations)
      if (c.estimated) expected += "- **" + c.field + "**: " + c.source + ".\n";
    const std::string head = std::string("\n### ") + name + "\n\n";
    const std::size_t from = list.find(head);
    ASSERT_NE(from, std::string::npos) << name;
    const std::string section = list.substr(from + head.size());
    const std::size_t end = std::min(section.find("\n\n"), section.size() - 1);
    EXPECT_EQ(section.substr(0, end + 1), expected) << name;
  }
}

}  // namespace
}  // namespace fermata
