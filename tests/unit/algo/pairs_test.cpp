// docs/adding-an-algorithm.md quotes pairs.cpp of this folder: the quote must equal the file, and the page's
// claims must hold.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "algo/sweep.hpp"

namespace fermata {
namespace algo {
Algorithm pairs();
}
namespace {

std::string read(const std::string& path) {
  std::ifstream in(std::string(FERMATA_SOURCE_DIR) + "/" + path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST(AddingAnAlgorithm, ThePageShowsTheFile) {
  const std::string page = read("docs/adding-an-algorithm.md"), example = read("tests/unit/algo/pairs.cpp");
  ASSERT_FALSE(example.empty());
  EXPECT_NE(page.find("```cpp\n" + example + "```\n"), std::string::npos);
}

TEST(AddingAnAlgorithm, TheExampleIsProved) {
  std::vector<std::int32_t> sizes;
  for (int p = 1; p <= 70; ++p) sizes.push_back(p);
  const SweepRow row = sweep(algo::pairs(), 2, sizes);
  EXPECT_EQ(row.wrong, 0) << row.first_wrong;
  EXPECT_EQ(row.proved[static_cast<int>(Collective::kBarrier)], 70);
  EXPECT_EQ(row.proved[static_cast<int>(Collective::kAllreduce)], 210);
}

}  // namespace
}  // namespace fermata
