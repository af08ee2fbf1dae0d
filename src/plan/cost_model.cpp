// Derives the costs of a placement from a profile: of signals (signal_costs.hpp), bytes, words and layouts.
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <string>

#include "exec/block_program.hpp"
#include "plan/cluster.hpp"
#include "plan/signal_costs.hpp"

namespace fermata {
namespace {

// Estimated time of a context switch, ns, if neither yield nor futex was measured. It is typical of current
// hardware.
constexpr double kUnknownSwitch = 1000;

// Estimates in ns, where nothing was measured:
// - kUnknownSingleCopy: a system call that reads another process's memory
// - kUnknownFold: a byte folded instead of copied, for which a core reads one more stream from memory
constexpr double kUnknownSingleCopy = 1500;
constexpr double kUnknownFold = 0.1;
// An estimate in ns: the time of the walk through a block program for each further chunk of a message.
constexpr double kChunk = 30;

// The mean over adjacent rows of the profile.
double typical_byte(const Profile& profile, const Matrix& g) {
  const std::int32_t n = rows_of(profile);
  double sum = 0;
  for (std::int32_t i = 0; i + 1 < n; ++i) sum += byte_ns(profile, g, i, i + 1);
  return n > 1 ? sum / (n - 1) : default_byte_ns(Level::kL3);
}

double period_of(const Profile& profile, const std::string& layout) {
  for (const LayoutCost& cost : profile.layouts)
    if (cost.layout == layout) return cost.period_ns;
  return 0;
}

void fill_layouts(CostModel& model, const Profile& profile) {
  const double base = period_of(profile, profile.base_layout), line = period_of(profile, "private");
  if (base <= 0 || line <= 0) return;
  for (double& factor : model.layout_factor) factor = line / base;
  for (const Layout layout : {Layout::kPublished, Layout::kPacked})
    if (const double p = period_of(profile, name_of(layout)); p > 0)
      model.layout_factor[static_cast<int>(layout)] = p / base;
  for (int stride = 2; stride <= 8; ++stride)
    if (const double p = period_of(profile, "private+stride" + std::to_string(stride)); p > 0)
      model.stride_factor[stride] = p / line;
}

double own_byte(const Profile& profile) {
  return profile.g.n > 0 && profile.g.at(0, 0) > 0 ? profile.g.at(0, 0) : default_byte_ns(Level::kSelf);
}

// Returns ns per byte for one copy. A profile has the time of copying in and copying out together, so this is
// half of it. Between hosts, a profile has the time of a message.
Matrix copied_once(const Profile& profile) {
  Matrix g = profile.g;
  const auto host = [&](std::int32_t i) { return profile.topology.cpus[static_cast<std::size_t>(i)].host; };
  for (std::int32_t i = 0; i < g.n; ++i)
    for (std::int32_t j = 0; j < g.n; ++j)
      if (host(i) == host(j)) g.at(i, j) /= 2;
  return g;
}

double guess_byte(const Profile& profile, const Topology& topology, const Matrix& g, std::int32_t a,
                  std::int32_t b) {
  const Cpu* x = topology.find(a);
  const Cpu* y = topology.find(b);
  return x == nullptr || y == nullptr ? typical_byte(profile, g) : default_byte_ns(common_level(*x, *y));
}

void fill_matrices(CostModel& model, const Profile& profile, const Topology& topology, const PlanKey& key) {
  const auto n = static_cast<std::size_t>(key.members);
  const SignalRows rows(profile, topology);
  const Matrix g = copied_once(profile);
  // Direct reads between threads are also an estimate for processes. Direct reads between processes are no
  // estimate for threads, since they include the system call.
  const bool same_engine = (profile.engine == "processes") == (key.engine == Engine::kProcesses);
  const Matrix& direct = same_engine || profile.engine == "threads" ? profile.g_direct : g;
  model.g.assign(n * n, typical_byte(profile, g));
  model.direct.assign(n * n, typical_byte(profile, direct));
  const bool placed = key.cpus.size() == n;
  std::vector<std::int32_t> row(n, -1);
  for (std::size_t i = 0; placed && i < n; ++i) row[i] = rows.row(key.cpus[i]);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; placed && j < n; ++j) {
      if (i == j) continue;
      const auto cost = [&](const Matrix& bytes) {
        return row[i] >= 0 && row[j] >= 0 ? byte_ns(profile, bytes, row[i], row[j])
                                          : guess_byte(profile, topology, bytes, key.cpus[i], key.cpus[j]);
      };
      model.g[i * n + j] = cost(g);
      model.direct[i * n + j] = cost(direct);
    }
    model.g[i * n + i] = model.direct[i * n + i] = own_byte(profile);
  }
}

// Returns ns per byte in the smallest measured domain with enough CPUs; 0: there is none.
double bytes_together(const Profile& profile, std::int32_t members) {
  const DomainBytes* best = nullptr;
  for (const DomainBytes& domain : profile.domains)
    if (domain.level != Level::kNetwork && domain.cpus >= members &&
        (best == nullptr || domain.cpus < best->cpus))
      best = &domain;
  return best == nullptr ? 0 : best->byte_ns;
}

// Returns the sizes for which single copy by the kernel was measured as faster than the ring buffer. A fold
// needs one more copy, into the member's own memory.
Direct lent_sizes(const Profile& profile) {
  Direct out;
  std::int64_t most = 0;
  for (const BlockWay& ring : profile.blocks) most = std::max(most, ring.bytes);
  for (const BlockWay& ring : profile.blocks) {
    const BlockWay* const single_copy = ring.way == "ring" ? single_copy_beside(profile, ring) : nullptr;
    const int k = std::bit_width(static_cast<std::uint64_t>(ring.bytes)) - 1;
    if (single_copy == nullptr || k < kLog2SingleCopyFrom) continue;
    // Every other power of two is measured. The largest size stands for all larger ones.
    const Sizes sizes = ring.bytes == most ? Sizes::from(k) : Sizes{std::uint64_t{3} << k};
    const int alone = ring.both ? 0 : 1;
    if (single_copy->ns < ring.ns) out.moved[alone].bits |= sizes.bits;
    if (single_copy->ns + static_cast<double>(ring.bytes) * own_byte(profile) < ring.ns)
      out.folded[alone].bits |= sizes.bits;
  }
  return out;
}

// `cached` is the longest block whose bytes cost at most a twentieth more than the cheapest. `beyond` is the
// cost per byte of the longest block, relative to the cheapest.
void fill_beyond(ByteCosts& c, const Profile& profile) {
  constexpr double kAlike = 1.05;
  std::map<std::int64_t, double> byte;  // by size
  for (const BlockWay& b : profile.blocks)
    if (b.way == "ring" && b.both && b.ns > 0) byte[b.bytes] = b.ns / static_cast<double>(b.bytes);
  if (byte.empty()) return;
  const double least = std::min_element(byte.begin(), byte.end(), [](const auto& a, const auto& b) {
                         return a.second < b.second;
                       })->second;
  const auto last =
      std::find_if(byte.rbegin(), byte.rend(), [&](const auto& b) { return b.second <= kAlike * least; });
  if (last == byte.rbegin()) return;
  c.cached = static_cast<double>(last->first);
  c.beyond = byte.rbegin()->second / least;
}

void fill_bytes(CostModel& model, const Profile& profile, const PlanKey& key) {
  ByteCosts& c = model.bytes;
  const double fold =
      profile.fold_byte_ns > 0 ? std::max(0.0, profile.fold_byte_ns - own_byte(profile)) : kUnknownFold;
  c.slot = static_cast<double>(kMostPiece);
  c.chunk = kChunk;
  c.fold = fold;
  c.together = bytes_together(profile, key.members);
  for (const DomainBytes& domain : profile.domains)
    if (domain.level == Level::kNetwork) c.between = domain.byte_ns;
  fill_beyond(c, profile);
  if (key.engine == Engine::kThreads) {
    c.direct = Direct::from(kLog2DirectFrom);
    c.direct_once = profile.engine == "threads" ? profile.direct_ns : 0;
    c.direct_fold = c.fold;
    return;
  }
  c.direct = lent_sizes(profile);
  c.direct_once = profile.engine == "processes" ? profile.direct_ns : kUnknownSingleCopy;
  c.direct_fold = own_byte(profile) + fold;  // the kernel copies into the member's own memory, then it folds
}

double crowding(const Topology& topology, const PlanKey& key) {
  const double usable = std::max(1, topology.usable_cpus());
  double most = std::max(1.0, key.members / usable);
  std::map<std::int32_t, int> count;
  for (const std::int32_t cpu : key.cpus) most = std::max(most, static_cast<double>(++count[cpu]));
  return most;
}

double pair_cost(const Profile& p, std::int32_t i, std::int32_t j) {
  return 0.5 * (p.o.at(i, j) + p.l.at(i, j) + p.o.at(j, i) + p.l.at(j, i));
}

// Looks at both directions of a pair, so it takes the matrices in tiles that caches hold.
double nearest(const Profile& profile) {
  constexpr std::int32_t kTile = 32;
  const std::int32_t n = profile.o.n;
  double least = 0;
  for (std::int32_t rows = 0; rows < n; rows += kTile)
    for (std::int32_t columns = rows; columns < n; columns += kTile)
      for (std::int32_t i = rows; i < std::min(n, rows + kTile); ++i)
        for (std::int32_t j = std::max(i + 1, columns); j < std::min(n, columns + kTile); ++j)
          if (const double d = pair_cost(profile, i, j); d > 0 && (least <= 0 || d < least)) least = d;
  return least;
}

// Returns the time to read a word after its last add. If a two-member exchange over one counter was measured,
// it is the time of an episode without the add. The separate probe is too fast, because its reader does not
// contend with the adders. On 2 virtual Cascade Lake CPUs, by that probe an episode takes 85 ns; measured are
// 130 ns.
double word_read(const Profile& profile) {
  for (const LayoutCost& layout : profile.layouts) {
    if (layout.layout != "counter" || profile.word_add_ns.size() < 2) continue;
    return std::max(profile.word_read_ns, layout.period_ns - profile.word_add_ns[1]);
  }
  return profile.word_read_ns;
}

// Returns the mean distance of the members with which the profile measured a cost: its first CPUs, one per
// core. Published and estimated costs are those of the nearest pair.
double distance_of(const Profile& profile, std::size_t members) {
  if (profile.origin != "measured") return profile.one_way_ns;
  const double near = nearest(profile);
  double sum = 0, pairs = 0;
  const auto rows = std::min<std::int32_t>(profile.o.n, static_cast<std::int32_t>(members));
  for (std::int32_t i = 0; i < rows; ++i)
    for (std::int32_t j = i + 1; j < rows; ++j, ++pairs) sum += pair_cost(profile, i, j);
  return pairs > 0 ? std::max(near, sum / pairs) : near;
}

// A line moves between its users, so the costs of words and of published lines grow with the team's mean
// distance. The profile measures reads of a word on the nearest pair.
void fill_words(CostModel& model, const Profile& profile) {
  const double mean = mean_distance(model);
  const auto scaled = [&](double ns, double distance) {
    return ns * (distance > 0 ? std::max(1.0, mean / distance) : 1);
  };
  model.reader = scaled(profile.reader_ns, distance_of(profile, kMostTogether));
  if (profile.word_add_ns.empty()) return;
  const std::size_t k =
      std::clamp<std::size_t>(static_cast<std::size_t>(model.members), 1, profile.word_add_ns.size());
  model.word_add = scaled(profile.word_add_ns[k - 1], distance_of(profile, k));
  model.word_read = scaled(word_read(profile), distance_of(profile, 1));
}

}  // namespace

// A CPU does the work of its members one after the other. While one member works on its slots, all other
// members on its CPU wait. After one member has read a word or a published line, it is in the cache for all
// members on the CPU. Adds on a word are always serial, so their cost does not change.
void crowd(CostModel& model) {
  if (model.members_per_cpu <= 1) return;
  model.scale_signals(model.members_per_cpu);
  for (double& g : model.g) g *= model.members_per_cpu;
  for (double& g : model.direct) g *= model.members_per_cpu;
  for (double* each :
       {&model.bytes.direct_once, &model.bytes.fold, &model.bytes.direct_fold, &model.bytes.chunk})
    *each *= model.members_per_cpu;
  model.awaited *= model.members_per_cpu;
  model.reader /= model.members_per_cpu;
}

double reader_share(const Profile& profile) {
  const double distance = distance_of(profile, kMostTogether);
  return profile.reader_ns > 0 && distance > 0 ? profile.reader_ns / distance : 1;
}

namespace {

CostModel with_terms(CostModel model, const Profile& profile, const Topology& topology, const PlanKey& key) {
  fill_bytes(model, profile, key);
  model.awaited = profile.awaited_ns;
  fill_words(model, profile);
  fill_layouts(model, profile);
  // The automatic wait policy yields if a yield is the cheaper switch, else it parks.
  const double yield = profile.yield_ns, futex = profile.futex_ns;
  model.switch_ns = yield > 0 && futex > 0 ? std::min(yield, futex) : std::max(yield, futex);
  if (model.switch_ns <= 0) model.switch_ns = kUnknownSwitch;
  model.members_per_cpu = crowding(topology, key);
  crowd(model);
  return model;
}

}  // namespace

CostModel cost_model(const Profile& profile, const Topology& topology, const PlanKey& key) {
  CostModel model;
  model.members = key.members;
  model.hosts = key.hosts;
  fill_signals(model, profile, topology, key);
  fill_matrices(model, profile, topology, key);
  return with_terms(std::move(model), profile, topology, key);
}

CostModel signal_model(const Profile& profile, const Topology& topology, const PlanKey& key) {
  CostModel model;
  model.members = key.members;
  model.hosts = key.hosts;
  model.grouped = grouped_costs(profile, topology, key);
  if (model.grouped.empty()) fill_signals(model, profile, topology, key);
  return with_terms(std::move(model), profile, topology, key);
}

}  // namespace fermata
