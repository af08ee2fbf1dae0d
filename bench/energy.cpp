#include "bench/energy.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace fermata::bench {
namespace {

// AMD's zones have the same names. "intel-rapl-mmio:0" has the same counter as "intel-rapl:0".
constexpr const char* kZone = "intel-rapl:";

template <class Value>
bool read(const std::string& path, Value& value) {
  std::ifstream file(path);
  return static_cast<bool>(file >> value);
}

}  // namespace

Energy::Energy(const std::string& root) {
  const std::string folder = root + "/sys/class/powercap";
  std::vector<std::string> paths;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.path().filename().string().starts_with(kZone)) paths.push_back(entry.path().string());
  }
  if (paths.empty()) {
    source_ = "not read: " + folder + " has no " + kZone + "...";
    return;
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    std::string name;
    if (!read(path + "/name", name) || !(name.starts_with("package") || name == "dram")) continue;
    Zone zone{path + "/energy_uj"};
    if (!read(zone.counter, zone.last_uj) || !read(path + "/max_energy_range_uj", zone.range_uj)) {
      zones_.clear();
      source_ = "not read: cannot read " + zone.counter;
      return;
    }
    source_ += (zones_.empty() ? "" : ", ") + name;
    zones_.push_back(zone);
  }
  if (zones_.empty()) source_ = "not read: no zone of " + folder + " is a package";
}

std::optional<double> Energy::spent() {
  if (zones_.empty()) return std::nullopt;
  double sum_uj = 0;
  bool all = true;
  for (Zone& zone : zones_) {
    std::uint64_t now_uj = 0;
    if (!read(zone.counter, now_uj)) {
      all = false;
      continue;
    }
    sum_uj += static_cast<double>(now_uj - zone.last_uj + (now_uj < zone.last_uj ? zone.range_uj : 0));
    zone.last_uj = now_uj;
  }
  return all ? std::optional(sum_uj / 1e6) : std::nullopt;
}

}  // namespace fermata::bench
