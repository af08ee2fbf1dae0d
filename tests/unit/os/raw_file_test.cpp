// Files that are read by system calls alone.
#include "os/linux/raw_file.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace fermata::os {
namespace {

TEST(RawFile, ThatIsNotThereHasNoLineWhateverErrnoWas) {
  RawFile none("/nonexistent/file");
  char text[8];
  errno = EINTR;
  EXPECT_FALSE(none.line(text, sizeof text));
}

}  // namespace
}  // namespace fermata::os
