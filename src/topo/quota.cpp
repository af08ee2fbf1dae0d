#include "topo/quota.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace fermata {

namespace {

struct Mount {
  std::string root, point;
  int version = 0;
};

bool has_item(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == item) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// mountinfo writes blanks, tabs, newlines and backslashes as three octal digits.
std::string unescape(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      out += text[i];
      continue;
    }
    int value = 0;
    for (int k = 1; k <= 3; ++k) value = value * 8 + (text[i + static_cast<std::size_t>(k)] - '0');
    out += static_cast<char>(value);
    i += 3;
  }
  return out;
}

// Fields of proc(5): id parent dev root point options [optional...] - type source super-options.
std::vector<Mount> cgroup_mounts(const std::string& path) {
  std::vector<Mount> mounts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string id, parent, device, root, point, word, type, device_name, super;
    fields >> id >> parent >> device >> root >> point;
    while (fields >> word && word != "-") {
    }
    fields >> type >> device_name >> super;
    if (type == "cgroup2") mounts.push_back({unescape(root), unescape(point), 2});
    if (type == "cgroup" && has_item(super, "cpu")) mounts.push_back({unescape(root), unescape(point), 1});
  }
  return mounts;
}

// Lines are "ID:CONTROLLERS:PATH"; version 2 has ID 0 and no controllers.
std::string group_path(const std::string& path, int version) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    if (version == 2 ? line.compare(0, 3, "0::") == 0 : has_item(controllers, "cpu"))
      return line.substr(second + 1);
  }
  return {};
}

bool read_first(const std::string& path, std::string& a, std::string& b) {
  std::ifstream file(path);
  if (!(file >> a)) return false;
  if (!(file >> b)) b.clear();
  return true;
}

double positive(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' && value > 0 && value < 1e15 ? value : 0;
}

// CPUs that one group's files grant; 0: no limit here.
double quota_of_group(const std::string& directory, int version) {
  std::string quota, period, none;
  if (version == 2) {
    if (!read_first(directory + "/cpu.max", quota, period)) return 0;
  } else if (!read_first(directory + "/cpu.cfs_quota_us", quota, none) ||
             !read_first(directory + "/cpu.cfs_period_us", period, none)) {
    return 0;
  }
  const double q = positive(quota), p = positive(period.empty() ? "100000" : period);
  return q > 0 && p > 0 ? q / p : 0;
}

// The group's path below the mount. Inside a container whose mount shows only a part of the hierarchy the
// path starts with the mount's root; a path that does not lie below it belongs to a group that is not
// visible: the mount's own.
std::string below(const std::string& path, const std::string& root) {
  if (root == "/" || root.empty()) return path == "/" ? "" : path;
  if (path.compare(0, root.size(), root) != 0) return {};
  const std::string rest = path.substr(root.size());
  return rest.empty() || rest[0] == '/' ? rest : std::string();
}

}  // namespace

Quota cgroup_quota(const std::string& root) {
  Quota quota;
  for (const Mount& mount : cgroup_mounts(root + "/proc/self/mountinfo")) {
    const std::string path = group_path(root + "/proc/self/cgroup", mount.version);
    if (path.empty() || path.find("/..") != std::string::npos) continue;
    std::string relative = below(path, mount.root);
    while (!relative.empty() && relative.back() == '/') relative.pop_back();
    // A hybrid system mounts version 2 without the cpu controller beside version 1 with it: the latter is
    // reported.
    if (quota.version == 0 || mount.version == 1) {
      quota.version = mount.version;
      quota.group = root + mount.point + relative;
    }
    while (true) {
      const double here = quota_of_group(root + mount.point + relative, mount.version);
      if (here > 0 && (quota.cpus == 0 || here < quota.cpus)) quota.cpus = here;
      if (relative.empty()) break;
      relative.erase(relative.rfind('/'));
    }
  }
  return quota;
}

}  // namespace fermata
