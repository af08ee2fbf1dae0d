// Profile: the costs of signals and of bytes between each pair of CPUs, of signals with each layout, and of
// the scheduler. A profile can be stored in a file.
#ifndef FERMATA_PROFILE_PROFILE_HPP
#define FERMATA_PROFILE_PROFILE_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "profile/level_costs.hpp"
#include "topo/topology.hpp"

namespace fermata {

inline constexpr double kMaxNs = 1e12;  // the largest cost that a profile file may name

struct Matrix {  // n x n, row-major; ns or ns per byte
  std::int32_t n = 0;
  std::vector<double> v;
  explicit Matrix(std::int32_t size = 0) : n(size), v(static_cast<std::size_t>(size) * size, 0.0) {}
  double& at(std::int32_t i, std::int32_t j) { return v[static_cast<std::size_t>(i) * n + j]; }
  double at(std::int32_t i, std::int32_t j) const { return v[static_cast<std::size_t>(i) * n + j]; }
  bool operator==(const Matrix&) const = default;
};

// How often a reader saw only a part of a SIMD store (section IV.B and Table I of reduction-with-barrier).
struct Tearing {
  std::int32_t bytes = 16;   // 16, 32, 64
  Level level = Level::kL3;  // common level of writer and reader
  std::int64_t reads = 0;    // reads that saw a new value
  std::int64_t torn = 0;
  bool operator==(const Tearing&) const = default;
};

// Period of an exchange between two members with this layout, on the nearest pair of CPUs, in ns per episode.
struct LayoutCost {
  std::string layout;  // "private", "packed", "counter", "private+stride2" ... "private+stride8"
  double period_ns = 0;
  bool operator==(const LayoutCost&) const = default;
};

// The throughput of a domain's caches and memory, when `cpus` of its CPUs (all, but at most 128) read each
// other's memory at once. Level::kNetwork: pairs of hosts send at once; only if they are then slower than
// alone; `cpus` is then the number of the job's processes.
struct DomainBytes {
  Level level = Level::kL3;
  std::int32_t cpus = 2;
  double byte_ns = 0;  // ns per byte; the bytes are those that all of them read, or send to another host
  bool operator==(const DomainBytes&) const = default;
};

// The time of a block from one process to another, on the nearest pair of CPUs.
struct BlockWay {
  std::string way;    // "ring": through a ring buffer in shared memory; "lent": single copy by the kernel
  bool both = false;  // another block goes the other way at the same time
  std::int64_t bytes = 0;
  double ns = 0;
  bool operator==(const BlockWay&) const = default;
};

// How the cores' coherent memory behaves: what a simulated machine has to know beside O and L
// (docs/simulation.md has the model, profile/memory.hpp how it follows from times). Empty: unknown.
struct MemoryParameters {
  // The reader's miss as a share of a signal without the work of its ends. The writer's invalidation of the
  // reader's copy is the rest.
  std::optional<double> miss_share = {};
  // The part of a miss for which its line serves no other reader.
  std::optional<double> line_share = {};
  // When the processor issues a load of a stage: when the one before it has returned (1) or was issued (2).
  std::optional<std::int32_t> overlap = {};
  std::optional<double> work_ns = {};  // a member's own work for a store, and for a signal that it takes
  // What each further member on the core adds to this work, as a share of it.
  std::optional<double> sibling_share = {};
  std::optional<std::int32_t> prefetch = {};  // further lines that a miss takes, too
  bool operator==(const MemoryParameters&) const = default;
};

struct Citation {  // for published machines: where a value comes from
  std::string field;
  std::string source;      // paper, table or figure
  bool estimated = false;  // the paper does not print the value: our estimate, with the reason in `source`
  bool operator==(const Citation&) const = default;
};

struct Profile {
  std::string machine;      // name
  std::string fingerprint;  // of the topology; empty for published machines
  std::string origin;       // "measured", "published", "estimated"
  std::string engine;       // "threads" or "processes"
  std::string date;         // ISO 8601, UTC
  Topology topology;        // its CPUs are in the order of the matrices' rows
  // For an MPI job (profile/job.hpp), whose rows are processes. hosts: the hosts' names. pinned: for each
  // row, the CPU to which the process is pinned on its host, or -1. Both are empty for one machine.
  std::vector<std::string> hosts;
  std::vector<std::int32_t> pinned;
  // O and L of heterogeneous-mpi-barriers, ns: a stage costs its largest O plus the sum of its L. So one
  // signal costs O + L. o(i,i): a stage without a signal.
  Matrix o, l;
  // Of a machine with costs by level and more than kMaxExpanded CPUs (profile/levels.hpp): O and L of all
  // CPUs. The matrices have the first ones alone.
  std::optional<LevelCosts> levels;
  // G, in ns per byte that goes from one CPU to another; 0: unknown; an empty matrix: all are unknown.
  // - g: copied into a slot, then out of it, one copy after the other. Between hosts: by messages. g(i,i): a
  //   copy within the CPU's own cache.
  // - g_direct: read directly from the sender's memory, by threads through its address, by processes through
  //   the kernel.
  Matrix g, g_direct;
  double direct_ns = 0;     // ns per single copy, beyond signal and bytes; for processes the system call
  double fold_byte_ns = 0;  // ns per byte of a fold's result; operands and result in the CPU's own cache
  std::vector<DomainBytes> domains;
  std::vector<BlockWay> blocks;
  double one_way_ns = 0;            // nearest pair's one-way line latency (half a ping-pong)
  double awaited_ns = 0;            // each further slot that a member awaits, from another sender
  double reader_ns = 0;             // each further reader of a published line
  std::vector<double> word_add_ns;  // [k-1]: time per add when k members add to one word at once
  double word_read_ns = 0;          // from the end of the last add until another member has read the word
  std::vector<LayoutCost> layouts;
  std::string base_layout = "private";  // of the flags whose signals O and L describe
  std::vector<Tearing> tearing;
  MemoryParameters memory;
  double yield_ns = 0;  // a switch by sched_yield between two members on one CPU; 0: unknown
  double futex_ns = 0;  // from a wake through a futex until the member runs, on another CPU if there is one
  std::vector<Citation> citations;
  std::vector<std::string> remarks;  // for example, that the profile contradicts the declared topology
  bool operator==(const Profile&) const = default;
};

// awaited_ns, reader_ns and MemoryParameters::line_share are measured with at most so many members, one per
// core: one and eight others.
constexpr std::size_t kMostTogether = 9;

struct ProfileOptions {
  std::vector<std::int32_t> cpus;  // empty: all CPUs that this process may use
  bool processes = false;
  bool sample = false;  // measures at most three pairs of each level; the others get their medians
  // For the signals of a pair, in all rounds together; less if there are many pairs. The time of the other
  // measurements depends on it, too, but most of them get at least 0.02 s in each round.
  double seconds_per_pair = 0.3;
  // Time limit: after the first round, none begins that would exceed it. 0: no limit.
  double seconds = 0;
  std::function<void(double done, const std::string& what)> progress;  // done in 0..1
};

Result<Profile> measure_profile(const Topology& topology, const ProfileOptions& options);
// Makes a profile from default costs per level of the topology, without a measurement. Its origin is
// "estimated". Its topology has at most the first kMaxExpanded CPUs (profile/levels.hpp).
Profile estimate_profile(const Topology& topology);

// Returns ns per byte between the CPUs of two rows. `g` is the profile's g or g_direct. If `g` has no value
// for these rows, returns the default of their level; defaults only rank levels.
double byte_ns(const Profile& profile, const Matrix& g, std::int32_t row_a, std::int32_t row_b);
double default_byte_ns(Level level);
// Returns the single-copy time of the block that `ring` describes; null: not measured, or not permitted.
const BlockWay* single_copy_beside(const Profile& profile, const BlockWay& ring);

std::string to_json(const Profile& profile);  // in the lowest format version that can hold the profile
// If the text has an error, refuses all of it: kParse, with line and reason.
Result<Profile> profile_from_json(std::string_view text);
// For a terminal: of L, or of O + L if L is about the same for all pairs and O is not.
std::string heat_map(const Profile& profile);
// Of g_direct if the profile has it, else of g; empty if it has neither.
std::string byte_heat_map(const Profile& profile);
std::string to_table(const Profile& profile);  // for people, about 100 columns at most

}  // namespace fermata
#endif
