#include "bench/case.hpp"

#include <sched.h>

#include <algorithm>
#include <limits>

#include "base/text.hpp"

namespace fermata::bench {

std::optional<Engine> engine_from(std::string_view name) {
  for (const Engine e : {Engine::kThreads, Engine::kProcesses, Engine::kMixed}) {
    if (name == name_of(e)) return e;
  }
  return std::nullopt;
}

std::optional<Quantity> quantity_from(std::string_view name) {
  for (const Quantity q : {Quantity::kPeriod, Quantity::kLatency, Quantity::kEpcc}) {
    if (name == name_of(q)) return q;
  }
  return std::nullopt;
}

std::vector<std::string> split(std::string_view list, char separator) {
  std::vector<std::string> parts;
  // Commas inside parentheses belong to the name: hybrid(kary(2),binomial).
  int depth = 0;
  std::string part;
  for (const char c : list) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == separator && depth == 0) {
      if (!part.empty()) parts.push_back(part);
      part.clear();
    } else {
      part += c;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

std::optional<std::vector<int>> numbers_from(std::string_view list) {
  std::vector<int> numbers;
  for (const std::string& part : split(list)) {
    const std::optional<int> value = parse_number(part, 0, std::numeric_limits<int>::max());
    if (!value) return std::nullopt;
    numbers.push_back(*value);
  }
  return numbers;
}

std::string to_string(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

int distinct(std::vector<int> cpus) {
  std::sort(cpus.begin(), cpus.end());
  return static_cast<int>(std::unique(cpus.begin(), cpus.end()) - cpus.begin());
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

bool pin_self(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

}  // namespace fermata::bench
