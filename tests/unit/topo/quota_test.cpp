#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "../../own_folder.hpp"
#include "os/os.hpp"

namespace fermata {
namespace {

class QuotaTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& content) {
    const std::filesystem::path whole = root_ + path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << content;
  }

  const test::OwnFolder folder_;
  const std::string root_ = folder_.path();
};

constexpr const char* kV2Mount = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n";

TEST_F(QuotaTest, NothingThere) {
  const os::CgroupQuota q = os::cgroup_quota(root_.c_str());
  EXPECT_EQ(q.cpus, 0);
  EXPECT_EQ(q.version, 0);
}

TEST_F(QuotaTest, Version2TakesTheTightestAncestor) {
  write("/proc/self/mountinfo", kV2Mount);
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n");
  const os::CgroupQuota q = os::cgroup_quota(root_.c_str());
  EXPECT_DOUBLE_EQ(q.cpus, 1.5);
  EXPECT_EQ(q.version, 2);
  EXPECT_EQ(std::string(q.group), root_ + "/sys/fs/cgroup/a/b");
}

TEST_F(QuotaTest, Version2MaxIsNone) {
  write("/proc/self/mountinfo", kV2Mount);
  write("/proc/self/cgroup", "0::/a\n");
  write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(os::cgroup_quota(root_.c_str()).cpus, 0);
}

TEST_F(QuotaTest, Version1InAContainerWithoutANamespace) {
  write("/proc/self/mountinfo",
        "40 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct\n");
  write("/proc/self/cgroup", "5:cpuset:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const os::CgroupQuota q = os::cgroup_quota(root_.c_str());
  EXPECT_DOUBLE_EQ(q.cpus, 2.5);
  EXPECT_EQ(q.version, 1);
}

TEST_F(QuotaTest, Version1MinusOneIsNone) {
  write("/proc/self/mountinfo", "40 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n");
  write("/proc/self/cgroup", "4:cpu:/\n");
  write("/cg/cpu/cpu.cfs_quota_us", "-1\n");
  write("/cg/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(os::cgroup_quota(root_.c_str()).cpus, 0);
}

TEST_F(QuotaTest, HybridTakesTheTighterOfBoth) {
  write("/proc/self/mountinfo",
        std::string("40 31 0:29 / /cg/my\\040cpu rw - cgroup cgroup rw,cpu\n") + kV2Mount);
  write("/proc/self/cgroup", "4:cpu:/x\n0::/y\n");
  write("/cg/my cpu/x/cpu.cfs_quota_us", "300000\n");
  write("/cg/my cpu/x/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/y/cpu.max", "200000 100000\n");
  const os::CgroupQuota q = os::cgroup_quota(root_.c_str());
  EXPECT_DOUBLE_EQ(q.cpus, 2);
  EXPECT_EQ(q.version, 1);
}

// All barriers read this number before they choose how to wait: with more members, the CPUs are shared.
TEST_F(QuotaTest, AQuotaBelowTheCpusIsWhatCounts) {
  EXPECT_EQ(os::within_quota(8, root_.c_str()), 8U);
  EXPECT_EQ(os::within_quota(0, root_.c_str()), 1U);
  write("/proc/self/mountinfo", kV2Mount);
  write("/proc/self/cgroup", "0::/a\n");
  write("/sys/fs/cgroup/a/cpu.max", "350000 100000\n");
  EXPECT_EQ(os::within_quota(8, root_.c_str()), 4U);
  EXPECT_EQ(os::within_quota(2, root_.c_str()), 2U);
  write("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  EXPECT_EQ(os::within_quota(8, root_.c_str()), 3U);
  write("/sys/fs/cgroup/a/cpu.max", "20000 100000\n");
  EXPECT_EQ(os::within_quota(8, root_.c_str()), 1U);
  write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  EXPECT_EQ(os::within_quota(8, root_.c_str()), 8U);
}

TEST_F(QuotaTest, NonsenseIsNoQuota) {
  write("/proc/self/mountinfo", std::string("\n - \nx y z\n") + kV2Mount);
  write("/proc/self/cgroup", "::::\n0::/a/../..\n0\n");
  write("/sys/fs/cgroup/cpu.max", "-5 0\n");
  EXPECT_EQ(os::cgroup_quota(root_.c_str()).cpus, 0);
  write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(os::cgroup_quota(root_.c_str()).cpus, 0);
}

}  // namespace
}  // namespace fermata
