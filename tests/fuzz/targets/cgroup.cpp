// Five files in which the kernel describes mounts, this process's control group, and the group's quota.
#include "../files.hpp"
#include "os/os.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fermata;
  static fuzz::Root root;
  const auto files = fuzz::files_of(fuzz::text_of(data, size), 5);
  root.write("proc/self/mountinfo", files[0]);
  root.write("proc/self/cgroup", files[1]);
  root.write("g/cpu.max", files[2]);
  root.write("g/a/cpu.max", files[2]);
  root.write("g/a/cpu.cfs_quota_us", files[3]);
  root.write("g/a/cpu.cfs_period_us", files[4]);
  const os::CgroupQuota quota = os::cgroup_quota(root.path().c_str());
  // A topology's text allows as many CPUs.
  if (!(quota.cpus >= 0 && quota.cpus < 1e9)) fuzz::fail("no quota", std::to_string(quota.cpus));
  if (quota.version < 0 || quota.version > 2)
    fuzz::fail("no version of control groups", std::to_string(quota.version));
  if (quota.cpus > 0 && quota.version == 0)
    fuzz::fail("a quota of no control group", std::to_string(quota.cpus));
  const std::uint32_t cpus = os::within_quota(64, root.path().c_str());
  if (cpus < 1 || cpus > 64)
    fuzz::fail("a quota of more CPUs than there are, or of none", std::to_string(cpus));
  return quota.version > 0 ? 0 : -1;
}
