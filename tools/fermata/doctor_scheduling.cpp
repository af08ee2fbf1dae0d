#include <sched.h>

#include <fstream>

#include "doctor_checks.hpp"
#include "os/os.hpp"
#include "profile/store.hpp"
#include "topo/topology.hpp"

namespace fermata::tool {

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

namespace {

Check affinity(const Topology& t) {
  std::vector<std::int32_t> cpus;
  for (const Cpu& c : t.cpus) cpus.push_back(c.os_index);
  const bool all = static_cast<std::int32_t>(cpus.size()) == t.cpus_total;
  const std::string count = std::to_string(cpus.size()) + " of " + std::to_string(t.cpus_total);
  return {"affinity", all ? "yes" : "partly",
          "this process may use CPUs " + cpu_list(cpus) + " (" + count + ")",
          std::to_string(t.usable_cpus()) + " members can spin at once; larger teams yield or park"};
}

Check quota() {
  const os::CgroupQuota q = os::cgroup_quota();
  const std::string where = q.version == 0 ? "no cpu control group is visible"
                                           : "cgroup version " + std::to_string(q.version) + ", " + q.group;
  if (q.cpus == 0)
    return {"cgroup quota", "no", where + ": no limit", "CPU time is bounded by affinity alone"};
  const std::string cpus = std::to_string(q.cpus).substr(0, 6);
  return {"cgroup quota", "partly", where + ": " + cpus + " CPUs",
          "spinning uses up the quota: the kernel throttles larger teams as a whole, so their waits park"};
}

Check smt() {
  const std::string active = line_of("/sys/devices/system/cpu/smt/active");
  if (active == "1")
    return {"SMT", "yes", "cores run several hardware threads",
            "a spinning member pauses for its sibling; --place core puts one rank on each core first"};
  if (active == "0")
    return {"SMT", "no", "one hardware thread per core (as declared)",
            "a spinning member disturbs no sibling"};
  return {"SMT", "unknown", "the kernel doesn't say", "the profile shows whether two CPUs share a core"};
}

Check isolation() {
  const std::string isolated = line_of("/sys/devices/system/cpu/isolated");
  const std::string ticks = line_of("/sys/devices/system/cpu/nohz_full");
  const bool none = isolated.empty() && (ticks.empty() || ticks == "(null)");
  if (none)
    return {"isolation", "no", "no isolated CPUs, the scheduler's tick runs on all",
            "expect outliers of some microseconds; medians and p99 are reported apart"};
  return {"isolation", "yes", "isolated: " + isolated + "; without tick: " + ticks,
          "members pinned there see fewer outliers; the scheduler moves no other thread there"};
}

Check pinning(const Topology& t) {
  cpu_set_t before, one;
  CPU_ZERO(&one);
  const auto cpu = static_cast<std::size_t>(t.cpus.front().os_index);
  if (cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof before, &before) != 0)
    return {"pinning", "unknown", "more CPUs than this check knows",
            "pinning is tried when a team asks for it"};
  CPU_SET(cpu, &one);
  const bool works = sched_setaffinity(0, sizeof one, &one) == 0;
  if (works) sched_setaffinity(0, sizeof before, &before);
  if (works)
    return {"pinning", "yes", "sched_setaffinity works",
            "plans can be laid out for the CPUs that members stay on"};
  return {"pinning", "no", "sched_setaffinity is refused",
          "teams get placement-free plans, and no profile can be measured"};
}

Check hypervisor(const Topology& t) {
  if (!t.virtual_machine)
    return {"virtual machine", "no", "no hypervisor is visible", "the declared topology can be trusted"};
  return {
      "virtual machine", "yes", "a hypervisor is there",
      "the declared topology and distances may be wrong and may drift: a measured profile has precedence"};
}

Check clock_source() {
  const std::string source = line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  const bool fast = source == "tsc" || source == "kvm-clock" || source == "arch_sys_counter" ||
                    source == "timebase" || source == "hyperv_clocksource_tsc_page";
  if (source.empty())
    return {"clock", "unknown", "the kernel doesn't say", "time-outs are checked rarely anyway"};
  if (fast)
    return {"clock", "yes", source + ": read without a system call",
            "each reading costs tens of ns, for measurements and for time-outs"};
  return {"clock", "partly", source + ": each reading is a system call",
          "measure longer batches; time-outs cost more"};
}

Check saved_profile(const Topology& t) {
  std::string found;
  for (const char* engine : {"threads", "processes"}) {
    const auto profile = load_profile(fingerprint(t), engine);
    if (profile) found += (found.empty() ? "" : ", ") + std::string(engine) + " of " + profile->date;
    else if (profile.error().status == Status::kParse)
      return {"profile", "no", profile.error().message, "delete it, then run `fermata profile`"};
  }
  if (!found.empty()) return {"profile", "yes", found, "plans are made from measured costs"};
  return {"profile", "no", "this machine (" + fingerprint(t) + ") was not measured",
          "plans rest on default costs per level: run `fermata profile`"};
}

}  // namespace

std::vector<Check> check_scheduling() {
  const auto topology = discover_topology();
  if (!topology) return {{"topology", "no", topology.error().message, "nothing can be planned here"}};
  return {affinity(*topology),
          quota(),
          smt(),
          isolation(),
          pinning(*topology),
          hypervisor(*topology),
          clock_source(),
          saved_profile(*topology)};
}

}  // namespace fermata::tool
