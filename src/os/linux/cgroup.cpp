// Reads the CPU quota of control groups, versions 1 and 2, also in containers and with hybrid mounts.
#include <stdio.h>
#include <string.h>

#include "os/linux/raw_file.hpp"
#include "os/os.hpp"

namespace fermata::os {
namespace {

constexpr std::size_t kLine = 512;  // longer lines are cut, since threads with small stacks run this
constexpr int kDepth = 64;
constexpr double kMostQuota = 1e6;

bool has_item(const char* list, const char* item) {
  const std::size_t n = strlen(item);
  for (const char* at = list; at != nullptr; at = strchr(at, ',')) {
    if (*at == ',') ++at;
    if (strncmp(at, item, n) == 0 && (at[n] == ',' || at[n] == '\0')) return true;
  }
  return false;
}

// mountinfo writes blanks, tabs, newlines and backslashes as three octal digits.
void unescape(char* text) {
  char* to = text;
  for (const char* from = text; *from != '\0'; ++from, ++to) {
    if (from[0] == '\\' && from[1] != '\0' && from[2] != '\0' && from[3] != '\0') {
      *to = static_cast<char>((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
      from += 3;
    } else {
      *to = *from;
    }
  }
  *to = '\0';
}

struct Mount {
  const char* root = nullptr;  // the part of the hierarchy that is mounted
  const char* point = nullptr;
  int version = 0;
};

// Splits a line of mountinfo in place (proc(5)): id parent dev root point options [optional...] - type source
// super-options. Returns false unless the line is a mount of a hierarchy that can have the cpu controller.
bool cgroup_mount(char* line, Mount* out) {
  char* fields[7] = {};
  char* save = nullptr;
  char* word = strtok_r(line, " ", &save);
  for (int i = 0; word != nullptr && i < 5; ++i, word = strtok_r(nullptr, " ", &save)) fields[i] = word;
  while (word != nullptr && strcmp(word, "-") != 0) word = strtok_r(nullptr, " ", &save);
  const char* type = word != nullptr ? strtok_r(nullptr, " ", &save) : nullptr;
  strtok_r(nullptr, " ", &save);
  const char* super = type != nullptr ? strtok_r(nullptr, " ", &save) : nullptr;
  if (type == nullptr || fields[4] == nullptr) return false;
  out->version = strcmp(type, "cgroup2") == 0                                                ? 2
                 : strcmp(type, "cgroup") == 0 && super != nullptr && has_item(super, "cpu") ? 1
                                                                                             : 0;
  unescape(fields[3]);
  unescape(fields[4]);
  out->root = fields[3];
  out->point = fields[4];
  return out->version != 0;
}

// Finds this process's group in the hierarchy of that version. Lines are "ID:CONTROLLERS:PATH"; version 2 has
// ID 0 and no controllers.
bool group_path(const char* root, int version, char* path) {
  char name[kLine];
  snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
  RawFile file(name);
  char line[kLine];
  while (file.line(line, sizeof line)) {
    char* controllers = strchr(line, ':');
    char* group = controllers != nullptr ? strchr(controllers + 1, ':') : nullptr;
    if (group == nullptr) continue;
    *controllers++ = '\0';
    *group++ = '\0';
    if (version == 2 ? strcmp(line, "0") == 0 && *controllers == '\0' : has_item(controllers, "cpu")) {
      memmove(path, group, strlen(group) + 1);
      return true;
    }
  }
  return false;
}

// Reads a number and the blank after it. Returns 0 if there is no number ("max", "-1"), or if the number is
// not below 1e15. strtod() would depend on the locale.
double number_at(const char*& text) {
  double value = 0;
  while (*text >= '0' && *text <= '9') value = value * 10 + (*text++ - '0');
  if (*text == ' ') ++text;
  return value < 1e15 ? value : 0;
}

// Returns the first number of a file, or 0 without such a file or number. Stores the next one in `second`.
double number_in(const char* directory, const char* file, double* second) {
  char name[2 * kLine + 32];
  snprintf(name, sizeof name, "%s/%s", directory, file);
  RawFile in(name);
  char line[64];
  if (!in.line(line, sizeof line)) return 0;
  const char* rest = line;
  const double value = number_at(rest);
  if (second != nullptr) *second = number_at(rest);
  return value;
}

// Returns how many CPUs one group's files grant; 0: no limit, or a limit beyond any machine.
double quota_of_group(const char* directory, int version) {
  double period = 0;
  const double quota = version == 2 ? number_in(directory, "cpu.max", &period)
                                    : number_in(directory, "cpu.cfs_quota_us", nullptr);
  if (version == 1) period = number_in(directory, "cpu.cfs_period_us", nullptr);
  if (version == 2 && period <= 0) period = 100'000;  // the kernel's default
  return quota > 0 && period > 0 && quota / period < kMostQuota ? quota / period : 0;
}

// Returns the group's path below the mount. In a container whose mount shows only a part of the hierarchy,
// the path starts with the mount's root. If it does not, the group is not visible, and the mount's own group
// counts.
const char* below(const char* path, const char* root) {
  if (strcmp(root, "/") == 0 || *root == '\0') return path;
  const std::size_t n = strlen(root);
  const bool inside = strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
  return inside ? path + n : "";
}

}  // namespace

CgroupQuota cgroup_quota(const char* root) {
  const ErrnoGuard guard;
  CgroupQuota out;
  char name[kLine];
  snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
  RawFile mounts(name);
  char line[kLine];
  while (mounts.line(line, sizeof line)) {
    Mount mount;
    char path[kLine];
    if (!cgroup_mount(line, &mount) || !group_path(root, mount.version, path) ||
        strstr(path, "/..") != nullptr)
      continue;
    char directory[2 * kLine];
    const int base = snprintf(directory, sizeof directory, "%s%s", root, mount.point);
    const int length =
        snprintf(directory, sizeof directory, "%s%s%s", root, mount.point, below(path, mount.root));
    if (base < 0 || length < base || length >= static_cast<int>(sizeof directory)) continue;
    char* const least = directory + base;
    for (char* end = directory + length; end > least && end[-1] == '/';) *--end = '\0';
    // A hybrid system mounts version 2 without the cpu controller, and version 1 with it. So version 1 wins.
    if (out.version == 0 || mount.version == 1) {
      out.version = mount.version;
      const std::size_t n = strnlen(directory, sizeof out.group - 1);
      memcpy(out.group, directory, n);
      out.group[n] = '\0';
    }
    // A parent's limit binds its children.
    for (int depth = 0; depth < kDepth; ++depth) {
      const double here = quota_of_group(directory, mount.version);
      if (here > 0 && (out.cpus <= 0 || here < out.cpus)) out.cpus = here;
      char* slash = strrchr(least, '/');
      if (slash == nullptr) break;
      *slash = '\0';
    }
  }
  return out;
}

std::uint32_t within_quota(std::uint32_t cpus, const char* root) {
  const double quota = cgroup_quota(root).cpus;
  // With the part of a CPU that is beyond a whole number, members run at once for most of the time.
  const auto whole = static_cast<std::uint32_t>(quota);
  const std::uint32_t usable = quota > 0 && quota < cpus ? whole + (quota > whole ? 1 : 0) : cpus;
  return usable > 0 ? usable : 1;
}

}  // namespace fermata::os
