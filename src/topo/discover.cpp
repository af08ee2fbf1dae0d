// Reads topologies with hwloc: this machine's, hwloc's XML files, hwloc's synthetic strings.
#include <hwloc.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>

#include "os/os.hpp"
#include "topo/topology.hpp"

namespace fermata {

namespace {

constexpr std::size_t kMaxCpus = 65536;
constexpr std::size_t kMaxSynthetic = 4096;  // hwloc takes seconds for this many, and far longer for more

// hwloc's first and last call for a tree take a lock inside hwloc. If another thread holds that lock during
// fork(), it stays locked for ever in the child. So fork() waits until no thread is in one of these calls.
// The wait has a limit: the calls may load libraries, and a library may fork while it is loaded.
pthread_mutex_t in_hwloc = PTHREAD_MUTEX_INITIALIZER;
thread_local bool forks_alone = false;

struct InHwloc {
  InHwloc() { pthread_mutex_lock(&in_hwloc); }
  ~InHwloc() { pthread_mutex_unlock(&in_hwloc); }
  InHwloc(const InHwloc&) = delete;
};

void before_fork() {
  constexpr int kMostMs = 1000;
  forks_alone = pthread_mutex_trylock(&in_hwloc) == 0;
  for (int ms = 0; ms < kMostMs && !forks_alone; ++ms) {
    usleep(1000);
    forks_alone = pthread_mutex_trylock(&in_hwloc) == 0;
  }
}
void in_parent() {
  if (forks_alone) pthread_mutex_unlock(&in_hwloc);
}
void in_child() {
  in_parent();
  // The thread that holds the lock does not exist in the child.
  if (!forks_alone) in_hwloc = PTHREAD_MUTEX_INITIALIZER;
}

__attribute__((constructor(101))) void watch_forks() { pthread_atfork(before_fork, in_parent, in_child); }

struct Destroy {
  void operator()(hwloc_topology_t t) const {
    const InHwloc lock;
    hwloc_topology_destroy(t);
  }
  void operator()(hwloc_bitmap_t b) const { hwloc_bitmap_free(b); }
};
using Tree = std::unique_ptr<hwloc_topology, Destroy>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, Destroy>;

Tree new_tree() {
  hwloc_topology_t raw = nullptr;
  const InHwloc lock;
  if (hwloc_topology_init(&raw) != 0) return nullptr;
  return Tree(raw);
}

// Dense ids in order of first appearance. If the machine lacks a core or cache, the key is the object of the
// next inner domain. If it lacks a NUMA node or package, the key is the root.
class Ids {
 public:
  std::int32_t of(hwloc_obj_t key) {
    const auto [it, added] = ids_.try_emplace(key, static_cast<std::int32_t>(ids_.size()));
    return it->second;
  }

 private:
  std::map<hwloc_obj_t, std::int32_t> ids_;
};

hwloc_obj_t ancestor(hwloc_topology_t tree, hwloc_obj_t pu, hwloc_obj_type_t type, hwloc_obj_t otherwise) {
  hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(tree, type, pu);
  return found != nullptr ? found : otherwise;
}

// In hwloc a NUMA node is not an ancestor of a CPU. If a CPU has ordinary and fast memory, its first local
// node is the ordinary memory.
hwloc_obj_t numa_node(hwloc_topology_t tree, hwloc_obj_t pu, hwloc_obj_t otherwise) {
  const int first = pu->nodeset != nullptr ? hwloc_bitmap_first(pu->nodeset) : -1;
  if (first < 0) return otherwise;
  hwloc_obj_t found = hwloc_get_numanode_obj_by_os_index(tree, static_cast<unsigned>(first));
  return found != nullptr ? found : otherwise;
}

std::vector<Cpu> all_cpus(hwloc_topology_t tree) {
  std::vector<Cpu> out;
  Ids cores, l2s, l3s, numas, packages;
  std::map<std::int32_t, std::int32_t> siblings;
  hwloc_obj_t root = hwloc_get_root_obj(tree);
  for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(tree, HWLOC_OBJ_PU, pu)) != nullptr;) {
    if (out.size() >= kMaxCpus || pu->os_index > kMaxCpus) break;
    hwloc_obj_t core = ancestor(tree, pu, HWLOC_OBJ_CORE, pu);
    hwloc_obj_t l2 = ancestor(tree, pu, HWLOC_OBJ_L2CACHE, core);
    hwloc_obj_t l3 = ancestor(tree, pu, HWLOC_OBJ_L3CACHE, l2);
    Cpu c;
    c.os_index = static_cast<std::int32_t>(pu->os_index);
    c.core = cores.of(core);
    c.l2 = l2s.of(l2);
    c.l3 = l3s.of(l3);
    c.numa = numas.of(numa_node(tree, pu, root));
    c.package = packages.of(ancestor(tree, pu, HWLOC_OBJ_PACKAGE, root));
    c.smt = siblings[c.core]++;
    out.push_back(c);
  }
  return out;
}

std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127; }, ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  text.erase(0, text.find_first_not_of(' '));
  return text;
}

std::string model_of(hwloc_topology_t tree) {
  for (hwloc_obj_t obj : {hwloc_get_obj_by_type(tree, HWLOC_OBJ_PACKAGE, 0), hwloc_get_root_obj(tree)}) {
    if (obj == nullptr) continue;
    const char* name = hwloc_obj_get_info_by_name(obj, "CPUModel");
    if (name != nullptr) return printable(name);
  }
  return {};
}

std::int32_t line_of(hwloc_topology_t tree) {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE}) {
    hwloc_obj_t cache = hwloc_get_next_obj_by_type(tree, type, nullptr);
    if (cache == nullptr || cache->attr == nullptr) continue;
    const unsigned line = cache->attr->cache.linesize;
    if (line >= 16 && line <= 4096) return static_cast<std::int32_t>(line);
  }
  return 64;
}

bool names_a_hypervisor(hwloc_topology_t tree) {
  hwloc_obj_t root = hwloc_get_root_obj(tree);
  for (const char* key : {"DMIProductName", "DMISysVendor", "PlatformModel", "DMIBoardVendor"}) {
    const char* raw = hwloc_obj_get_info_by_name(root, key);
    if (raw == nullptr) continue;
    std::string value = raw;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    for (const char* word :
         {"kvm", "qemu", "vmware", "virtual", "xen", "hvm domu", "bochs", "google compute"})
      if (value.find(word) != std::string::npos) return true;
  }
  return false;
}

bool runs_on_a_hypervisor() {
  if (access("/proc/device-tree/hypervisor", F_OK) == 0 || access("/sys/hypervisor/type", F_OK) == 0)
    return true;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, 5, "flags") == 0) return line.find(" hypervisor") != std::string::npos;
  return false;
}

Result<Topology> from_tree(hwloc_topology_t tree, std::string source) {
  Topology t;
  t.source = printable(std::move(source));
  t.model = model_of(tree);
  t.line_bytes = line_of(tree);
  t.virtual_machine = names_a_hypervisor(tree);
  t.cpus = all_cpus(tree);
  t.cpus_total = static_cast<std::int32_t>(t.cpus.size());
  t.shape = shape_of(t.cpus);
  if (t.cpus.empty()) return Error{Status::kParse, t.source + ": no CPUs in this topology"};
  return t;
}

void keep(Topology& t, hwloc_const_bitmap_t allowed) {
  std::erase_if(
      t.cpus, [&](const Cpu& c) { return !hwloc_bitmap_isset(allowed, static_cast<unsigned>(c.os_index)); });
}

// hwloc builds a tree of any size for a synthetic string. So this function first bounds the size, which is
// the product of all counts outside of brackets. A count is a plain decimal number that follows a colon or
// stands alone. Digits in a name, as in l3, are not a count.
bool synthetic_size_is_sane(std::string_view spec) {
  std::size_t product = 1, count = 0;
  int depth = 0;
  bool in_count = false;
  char before = ' ';
  for (const char c : std::string(spec) + ' ') {
    const bool digit = c >= '0' && c <= '9';
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (depth != 0) {
      before = c;
      continue;
    }
    if (c == '+' || c == '-' || (before == ':' && !digit) ||
        (in_count && std::isalpha(static_cast<unsigned char>(c))))
      return false;
    if (digit && (in_count || !std::isalnum(static_cast<unsigned char>(before)))) {
      in_count = true;
      count = count * 10 + static_cast<std::size_t>(c - '0');
      if (count > kMaxSynthetic) return false;
    } else if (in_count) {
      product *= std::max<std::size_t>(count, 1);
      if (product > kMaxSynthetic) return false;
      in_count = false;
      count = 0;
    }
    before = c;
  }
  return depth == 0;
}

// kCpusToo: hwloc also asks each CPU itself. For that, this thread moves to each CPU. On a CPU with spinning
// ranks, it waits a time slice for each of them.
enum class Ask { kKernel, kCpusToo };

Tree load_this_machine(Ask ask) {
  Tree tree = new_tree();
  if (!tree || hwloc_topology_set_flags(tree.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0)
    return nullptr;
#if HWLOC_API_VERSION >= 0x00020100
  if (ask == Ask::kKernel)
    hwloc_topology_set_components(tree.get(), HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#endif
  return hwloc_topology_load(tree.get()) == 0 ? std::move(tree) : nullptr;
}

// hwloc reads files and loads plugins that its environment variables name. In a setuid program the caller
// chooses these variables.
bool hwloc_is_steered_by_a_caller() {
  if (getauxval(AT_SECURE) == 0) return false;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
    if (std::strncmp(*variable, "HWLOC_", 6) == 0) return true;
  return false;
}

}  // namespace

Result<Topology> discover_topology() {
  if (hwloc_is_steered_by_a_caller())
    return Error{
        Status::kSystem,
        "this program is setuid or has file capabilities, so it refuses hwloc's variables: unset HWLOC_..."};
  // If this call fails, hwloc would repeat it for ever.
  std::int32_t cpu = 0;
  if (os::affinity_list(&cpu, 1) == 0)
    return Error{Status::kSystem, "the kernel does not tell this process its CPUs (sched_getaffinity)"};
  Tree tree = load_this_machine(Ask::kKernel);
  if (!tree || hwloc_get_nbobjs_by_type(tree.get(), HWLOC_OBJ_L1CACHE) == 0)
    tree = load_this_machine(Ask::kCpusToo);
  if (!tree) return Error{Status::kSystem, "hwloc can't read this machine's topology"};
  auto result = from_tree(tree.get(), "this machine");
  if (!result) return result;
  Topology& t = *result;
  keep(t, hwloc_topology_get_allowed_cpuset(tree.get()));
  Bitmap bound(hwloc_bitmap_alloc());
  if (bound && hwloc_get_cpubind(tree.get(), bound.get(), HWLOC_CPUBIND_PROCESS) == 0) keep(t, bound.get());
  if (t.cpus.empty()) return Error{Status::kSystem, "this process's affinity names no CPU that hwloc knows"};
  t.quota_cpus = os::cgroup_quota().cpus;
  t.virtual_machine = t.virtual_machine || runs_on_a_hypervisor();
  utsname names{};
  if (uname(&names) == 0) t.kernel = printable(names.release);
  return result;
}

Result<Topology> topology_from_xml(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) return Error{Status::kNotFound, path + ": " + std::strerror(errno)};
  Tree tree = new_tree();
  if (!tree || hwloc_topology_set_xml(tree.get(), path.c_str()) != 0 || hwloc_topology_load(tree.get()) != 0)
    return Error{Status::kParse, path + ": hwloc can't read it as one of its XML files"};
  auto result = from_tree(tree.get(), "xml:" + path);
  if (result) keep(*result, hwloc_topology_get_allowed_cpuset(tree.get()));
  if (result && result->cpus.empty()) return Error{Status::kParse, path + ": it allows no CPU"};
  return result;
}

Result<Topology> topology_from_synthetic(const std::string& spec) {
  if (!synthetic_size_is_sane(spec))
    return Error{Status::kParse, "synthetic topology: a count is malformed or there are more than 4096 CPUs"};
  Tree tree = new_tree();
  if (!tree || hwloc_topology_set_synthetic(tree.get(), spec.c_str()) != 0 ||
      hwloc_topology_load(tree.get()) != 0)
    return Error{Status::kParse,
                 "hwloc doesn't understand '" + spec.substr(0, 80) + "' (example: pack:2 l3:1 core:4 pu:2)"};
  return from_tree(tree.get(), "synthetic:" + spec);
}

}  // namespace fermata
