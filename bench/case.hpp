// A subject's task, in plain values, which can be passed on a worker's command line and written into the
// JSON.
#ifndef FERMATA_BENCH_CASE_HPP
#define FERMATA_BENCH_CASE_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.hpp"

namespace fermata::bench {

// kMixed: processes of two members each; with an odd number the last process has one.
enum class Engine : std::uint8_t { kThreads = 0, kProcesses = 1, kMixed = 2 };
// kStagger is not reported: it is the untimed check in which each member in turn comes late. kSkewed and
// kOverlap belong to `fermata bench overlap` (bench/overlap.hpp).
enum class Quantity : std::uint8_t {
  kPeriod = 0,
  kLatency = 1,
  kEpcc = 2,
  kStagger = 3,
  kSkewed = 4,
  kOverlap = 5
};

constexpr const char* name_of(Engine e) {
  return e == Engine::kThreads ? "threads" : e == Engine::kProcesses ? "processes" : "mixed";
}
constexpr const char* name_of(Quantity q) {
  constexpr const char* kNames[] = {"period", "latency", "epcc", "stagger", "skewed", "overlap"};
  return kNames[static_cast<int>(q)];
}

// Whether the delay between episodes is subtracted from their time.
constexpr bool has_reference(Quantity q) {
  return q == Quantity::kEpcc || q == Quantity::kSkewed || q == Quantity::kOverlap;
}

std::optional<Engine> engine_from(std::string_view name);
std::optional<Quantity> quantity_from(std::string_view name);

inline constexpr int kMaxBytes = 8 << 20;

// How many blocks of one payload a member's contribution and result have, at members that have them. Counted
// as in MPI: an alltoall of 8 bytes moves 8 bytes from each member to each member.
constexpr int blocks_in(Collective c, int members) { return rules_of(c).differs_by_receiver() ? members : 1; }
constexpr int blocks_out(Collective c, int members) { return rules_of(c).differs_by_giver() ? members : 1; }

struct Case {
  Collective collective = Collective::kBarrier;
  Engine engine = Engine::kThreads;
  int members = 2;
  // payload, a multiple of 8; 0 for a barrier; for gather and similar collectives one member's block
  int bytes = 0;
  bool rotating = false;  // episode e of a turn has root e mod members; otherwise the root is always 0
  std::vector<int> cpus;  // OS index of each rank's CPU; empty: no member is pinned
  int doubles() const { return bytes / 8; }
};

int distinct(std::vector<int> cpus);  // how many different ones
// Whether each member has a CPU to itself, to which it is pinned.
inline bool has_own_cpus(const Case& c) { return !c.cpus.empty() && distinct(c.cpus) == c.members; }

// The roots of a turn's episodes in order. Untimed episodes count, too.
class Roots {
 public:
  Roots(int members, bool rotating) : members_(members), step_(rotating ? 1 : 0) {}
  int next() {
    const int root = next_;
    next_ += step_;
    if (next_ == members_) next_ = 0;
    return root;
  }

 private:
  const int members_, step_;
  int next_ = 0;
};

// "1,2,8" -> {1, 2, 8}; nothing if the text is not a list of non-negative numbers.
std::optional<std::vector<int>> numbers_from(std::string_view list);
std::string to_string(const std::vector<int>& numbers);
std::vector<std::string> split(std::string_view list, char separator = ',');

// CPUs that the calling thread may use, in the order in which ranks are placed on them.
std::vector<int> allowed_cpus();
// Pins the calling thread; false if the system refuses.
bool pin_self(int cpu);

}  // namespace fermata::bench
#endif
