// A set-user-ID program ignores its caller's environment: no variable names a file or changes a setting.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <string>

#include "child.hpp"
#include "fermata/fermata.h"
#include "os/environment.hpp"
#include "profile/store.hpp"
#include "topo/topology.hpp"

namespace fermata {
namespace {

constexpr uid_t kNobody = 65534;

constexpr char kAsked[] = "FERMATA_TEST_SETUID";  // set for the copy

// Runs in a copy of this program that belongs to root and that another user starts.
void ask() {
  if (getauxval(AT_SECURE) == 0) exit(77);
  ASSERT_NE(getenv("XDG_CACHE_HOME"), nullptr);
  char path[4096];
  EXPECT_FALSE(os::barrier_plan_path(4, path, sizeof path)) << path;
  EXPECT_EQ(cache_directory(), "");
  EXPECT_EQ(os::stall_ns(), 0);
  EXPECT_TRUE(os::may_single_copy());
  EXPECT_FALSE(os::is_on(os::Variable::kReproducible));
  os::check_environment([](const char* text) { ADD_FAILURE() << text; });
  const auto topology = discover_topology();
  ASSERT_FALSE(topology);
  EXPECT_NE(topology.error().message.find("HWLOC_"), std::string::npos) << topology.error().message;
  unsetenv("HWLOC_XMLFILE");
  EXPECT_TRUE(discover_topology());
}

bool copy(const char* from, const char* to) {
  const int in = open(from, O_RDONLY | O_CLOEXEC);
  const int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
  ssize_t n = 1;
  while (in >= 0 && out >= 0 && n > 0) n = sendfile(out, in, nullptr, std::size_t{1} << 30);
  const bool done = n == 0 && fchmod(out, 04755) == 0;
  close(in);
  close(out);
  return done;
}

TEST(Setuid, TakesNothingFromTheEnvironment) {
  if (getenv(kAsked) != nullptr) return ask();
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a program that runs with root's rights for others";
  char folder[] = "/tmp/fermata-setuid-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string program = std::string(folder) + "/program";
  struct statvfs mount{};
  ASSERT_EQ(statvfs(folder, &mount), 0);
  ASSERT_EQ(chmod(folder, 0755), 0);
  ASSERT_TRUE(copy("/proc/self/exe", program.c_str()));
  const int status = (mount.f_flag & (ST_NOSUID | ST_NOEXEC)) != 0 ? 77 : in_child(60'000'000'000, [&] {
    setenv(kAsked, "1", 1);
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("FERMATA_STALL_SECONDS", "5", 1);
    setenv("FERMATA_CMA", "0", 1);
    setenv("FERMATA_REPRODUCIBLE", "1", 1);
    setenv("FERMATA_WIAT", "spin", 1);
    setenv("HWLOC_XMLFILE", "/tmp/none.xml", 1);
    unsetenv("GTEST_OUTPUT");
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) return 77;
    execl(program.c_str(), program.c_str(), "--gtest_filter=Setuid.TakesNothingFromTheEnvironment", nullptr);
    return 77;
  });
  unlink(program.c_str());
  rmdir(folder);
  if (status == 77) GTEST_SKIP() << "programs with rights of their own are not permitted here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace fermata
