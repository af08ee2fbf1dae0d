// Texts that change only on purpose.
#ifndef FERMATA_TESTS_GOLDEN_HPP
#define FERMATA_TESTS_GOLDEN_HPP

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "profile/store.hpp"

namespace fermata::test {

// Expects the text to equal the content of that file below tests/. If FERMATA_UPDATE_GOLDEN is set, it
// writes the file before.
inline void expect_golden(const std::string& file, const std::string& text) {
  const std::string path = FERMATA_SOURCE_DIR "/tests/" + file;
  if (std::getenv("FERMATA_UPDATE_GOLDEN") != nullptr) {
    ASSERT_TRUE(write_file_atomically(path, text).ok());
  }
  const auto golden = read_file(path);
  ASSERT_TRUE(golden.ok()) << golden.error().message;
  EXPECT_EQ(*golden, text) << "if this is meant: this test with FERMATA_UPDATE_GOLDEN=1 rewrites " << file;
}

}  // namespace fermata::test
#endif
