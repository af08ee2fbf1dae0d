// Recorded topologies: what hwloc reads from recorded machines, and from synthetic ones, must not change by
// accident. FERMATA_UPDATE_GOLDEN=1 rewrites the texts.
#include <gtest/gtest.h>

#include "../../golden.hpp"
#include "topo/topology.hpp"

namespace fermata {
namespace {

const std::string kFolder = FERMATA_SOURCE_DIR "/tests/golden/topo/";

void expect_golden(const std::string& name, Topology t) {
  t.source = "golden:" + name;  // a path would differ from one checkout to the next
  test::expect_golden("golden/topo/" + name + ".txt", to_text(t));
  const auto back = topology_from_file(kFolder + name + ".txt");
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, t);
}

TEST(GoldenTopology, RecordedXml) {
  const auto t = topology_from_xml(kFolder + "cascadelake-2vcpu.xml");
  ASSERT_TRUE(t.ok()) << t.error().message;
  expect_golden("cascadelake-2vcpu", *t);
}

struct Synthetic {
  const char* name;
  const char* spec;
};

class GoldenSynthetic : public testing::TestWithParam<Synthetic> {};

TEST_P(GoldenSynthetic, Text) {
  const auto t = topology_from_synthetic(GetParam().spec);
  ASSERT_TRUE(t.ok()) << t.error().message;
  expect_golden(GetParam().name, *t);
}

INSTANTIATE_TEST_SUITE_P(Machines, GoldenSynthetic,
                         testing::Values(Synthetic{"skl-2x18", "pack:2 [numa] l3:1 l2:18 core:1 pu:1"},
                                         Synthetic{"power8-4x6x8", "pack:2 numa:2 l3:1 core:6 pu:8"},
                                         Synthetic{"milan-2x64", "pack:2 [numa] l3:8 core:8 pu:1"},
                                         Synthetic{"knl-72", "pack:1 [numa] l2:36 core:2 pu:1"}),
                         [](const auto& machine) {
                           std::string name = machine.param.name;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace fermata
