// Profile: what a signal costs between each pair of CPUs, per layout, and what the scheduler costs. A file.
#ifndef FERMATA_PROFILE_PROFILE_HPP
#define FERMATA_PROFILE_PROFILE_HPP

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "topo/topology.hpp"

namespace fermata {

struct Matrix {  // n x n, row-major; ns
  std::int32_t n = 0;
  std::vector<double> v;
  explicit Matrix(std::int32_t size = 0) : n(size), v(static_cast<std::size_t>(size) * size, 0.0) {}
  double& at(std::int32_t i, std::int32_t j) { return v[static_cast<std::size_t>(i) * n + j]; }
  double at(std::int32_t i, std::int32_t j) const { return v[static_cast<std::size_t>(i) * n + j]; }
  bool operator==(const Matrix&) const = default;
};

// How often a SIMD store was seen half done by a reader (reduction-with-barrier section IV.B, Table I).
struct Tearing {
  std::int32_t bytes = 16;   // 16, 32, 64
  Level level = Level::kL3;  // common level of writer and reader
  std::int64_t reads = 0;    // reads that saw a new flag
  std::int64_t torn = 0;
  bool operator==(const Tearing&) const = default;
};

// Two-member exchange period of a layout between the nearest pair, ns per episode.
struct LayoutCost {
  std::string layout;  // "private", "packed", "counter", "private+stride2" ... "private+stride8"
  double period_ns = 0;
  bool operator==(const LayoutCost&) const = default;
};

// All CPUs of a domain read each other at once: what its caches and memory give altogether. Level::kNetwork: pairs of hosts send at once,
// and get less than each by itself.
struct DomainBytes {
  Level level = Level::kL3;
  std::int32_t cpus = 2;
  double byte_ns = 0;  // ns per byte that any of them has read, or sent to another host
  bool operator==(const DomainBytes&) const = default;
};

// What a block takes from one process to another between the nearest pair, ns.
struct BlockWay {
  std::string way;    // "ring": through shared memory; "lent": copied by the kernel from where it lies
  bool both = false;  // while another one goes the other way
  std::int64_t bytes = 0;
  double ns = 0;
  bool operator==(const BlockWay&) const = default;
};

struct Citation {  // published machines: where a value comes from
  std::string field;
  std::string source;      // paper, table or figure
  bool estimated = false;  // not printed by the paper: our estimate, with the reason in `source`
  bool operator==(const Citation&) const = default;
};

struct Profile {
  std::string machine;      // name
  std::string fingerprint;  // of the topology it was measured on; empty for published machines
  std::string origin;       // "measured", "published", "estimated"
  std::string engine;       // "threads" or "processes"
  std::string date;         // ISO 8601, UTC
  Topology topology;        // CPUs in the order of the matrices' rows
  // Of an MPI job (profile/job.hpp), whose rows are processes: its hosts' names, and for each row the CPU that the process is pinned to
  // there, or -1. Empty: one machine.
  std::vector<std::string> hosts;
  std::vector<std::int32_t> pinned;
  Matrix o, l;  // ns; o(i,i) a stage without a signal
  // G, ns per byte that one CPU holds and the other gets; 0: not known; empty: none is. g: copied into a slot, then out of it, one after
  // the other; between hosts: by messages; g(i,i): copied within. g_direct: read from where it lies, by threads as they are, by processes
  // through the kernel.
  Matrix g, g_direct;
  double direct_ns = 0;     // of each direct reading, beyond its signal and its bytes: for processes the system call
  double fold_byte_ns = 0;  // two operands and a result, in one's own cache
  std::vector<DomainBytes> domains;
  std::vector<BlockWay> blocks;
  double one_way_ns = 0;            // nearest pair's one-way line latency (half a ping-pong)
  double awaited_ns = 0;            // each further awaited slot from different senders
  double reader_ns = 0;             // each further reader of a published line
  std::vector<double> word_add_ns;  // [k-1]: time per add when k members add to one word at once
  double word_read_ns = 0;
  std::vector<LayoutCost> layouts;
  std::vector<Tearing> tearing;
  double yield_ns = 0;  // a switch by sched_yield between two threads of one CPU; 0 unknown
  double futex_ns = 0;  // wake to run through a futex, other CPU
  std::vector<Citation> citations;
  std::vector<std::string> remarks;  // e.g. where the profile contradicts the declared topology
  bool operator==(const Profile&) const = default;
};

struct ProfileOptions {
  std::vector<std::int32_t> cpus;  // empty: all usable
  bool processes = false;
  bool sample = false;            // a few measured pairs per level, replicated
  double seconds_per_pair = 0.3;  // in all rounds; of each measurement that comes once, too
  double seconds = 0;             // by the clock: no further round begins that would take longer; 0: all rounds
  std::function<void(double done, const std::string& what)> progress;  // done in 0..1
};

Result<Profile> measure_profile(const Topology& topology, const ProfileOptions& options);
// Without measuring: default costs per level from the topology; origin "estimated".
Profile estimate_profile(const Topology& topology);

// ns per byte between the CPUs of two rows: measured (g or g_direct), else the default of their level, which ranks levels only.
double byte_ns(const Profile& profile, const Matrix& g, std::int32_t row_a, std::int32_t row_b);
double default_byte_ns(Level level);
// The same block by the kernel, of one that went through a ring; null: not measured, or not permitted.
const BlockWay* lent_beside(const Profile& profile, const BlockWay& ring);

std::string to_json(const Profile& profile);               // the least version that holds all it knows
Result<Profile> profile_from_json(std::string_view text);  // refuses a bad file whole: kParse with line and reason
std::string heat_map(const Profile& profile);              // of L, for a terminal
std::string byte_heat_map(const Profile& profile);         // of G; empty if none is known
std::string to_table(const Profile& profile);              // for people, <= 100 columns

}  // namespace fermata
#endif
