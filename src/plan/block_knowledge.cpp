#include "plan/block_knowledge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <type_traits>

namespace fermata {
namespace {

constexpr std::uint32_t kMagic = 0x34444d46;  // "FMD4"
constexpr std::size_t kMostClasses = 256;     // a pair's class is one byte

struct Costs {
  double o = 0, l = 0, g = 0, direct = 0;
  bool operator==(const Costs&) const = default;
};

// The packed form: Header | Costs[classes] | KnownChoice[choices] | class of each pair, one byte each.
struct Header {
  std::uint32_t magic = kMagic;
  std::uint32_t members = 0, classes = 0, choices = 0;
  CostTerms terms;
};
static_assert(std::is_trivially_copyable_v<Header> && std::is_trivially_copyable_v<Costs> &&
              std::is_trivially_copyable_v<KnownChoice>);

Costs costs_of(const CostModel& m, std::int32_t i, std::int32_t j) {
  return {m.o_at(i, j), m.l_at(i, j), m.g_at(i, j), m.direct_at(i, j)};
}

using Step = std::array<int, 4>;  // of a signal, a copied byte, a directly read byte; 1 if i == j

int step(double ns, double ratio) {
  return ns > 0 ? static_cast<int>(std::lround(std::log(ns) / std::log(ratio))) : -10000;
}

struct Classes {
  std::vector<Costs> mean;
  std::vector<std::uint8_t> of;
};

bool classify(const CostModel& m, double ratio, Classes& out) {
  struct Sum {
    Costs first,  // of the first pair
        beyond;   // sum of all pairs' differences from it, so that the mean of equal pairs is exact
    double count = 0;
    std::uint8_t number = 0;
  };
  std::map<Step, Sum> sums;
  Sum* last = nullptr;  // adjacent pairs often have equal costs
  Costs seen;
  bool own = false;
  out.of.clear();
  for (std::int32_t i = 0; i < m.members; ++i) {
    for (std::int32_t j = 0; j < m.members; ++j) {
      const Costs c = costs_of(m, i, j);
      if (last == nullptr || c != seen || own != (i == j)) {
        own = i == j;
        seen = c;
        const auto [at, fresh] = sums.try_emplace(
            Step{step(c.o + c.l, ratio), step(c.g, ratio), step(c.direct, ratio), own ? 1 : 0});
        if (fresh && sums.size() > kMostClasses) return false;
        last = &at->second;
        if (fresh) *last = {c, {}, 0, static_cast<std::uint8_t>(sums.size() - 1)};
      }
      Sum& s = *last;
      s.beyond = {s.beyond.o + c.o - s.first.o, s.beyond.l + c.l - s.first.l, s.beyond.g + c.g - s.first.g,
                  s.beyond.direct + c.direct - s.first.direct};
      ++s.count;
      out.of.push_back(s.number);
    }
  }
  out.mean.resize(sums.size());
  for (const auto& [key, s] : sums)
    out.mean[s.number] = {s.first.o + s.beyond.o / s.count, s.first.l + s.beyond.l / s.count,
                          s.first.g + s.beyond.g / s.count, s.first.direct + s.beyond.direct / s.count};
  return true;
}

template <class T>
std::byte* put(std::byte* to, const T* items, std::size_t count) {
  if (count != 0) std::memcpy(to, items, count * sizeof(T));
  return to + count * sizeof(T);
}

std::size_t size_of(const Header& h) {
  return sizeof(Header) + h.classes * sizeof(Costs) + h.choices * sizeof(KnownChoice) +
         std::size_t{h.members} * h.members;
}

// Estimated O and L of cores that share a cache, ns. The one-way latencies on the recorded machines have this
// magnitude.
constexpr double kFlatO = 60, kFlatL = 40;
constexpr double kFoldNsPerByte = 0.15;  // an estimate: a core reads two streams from memory

bool all_alike(const CostModel& m) {
  for (std::int32_t i = 0; i < m.members; ++i)
    for (std::int32_t j = 0; j < m.members; ++j)
      if (i != j &&
          (m.o_at(i, j) != m.o_at(0, 1) || m.l_at(i, j) != m.l_at(0, 1) || m.g_at(i, j) != m.g_at(0, 1)))
        return false;
  return true;
}

}  // namespace

CostModel flat_model(std::int32_t members) {
  const auto n = static_cast<std::size_t>(members);
  CostModel model;
  model.members = members;
  model.o.assign(n * n, kFlatO);
  model.l.assign(n * n, kFlatL);
  model.g.assign(n * n, default_byte_ns(Level::kL3));
  for (std::size_t i = 0; i < n; ++i) {
    model.l[i * n + i] = 0;
    model.g[i * n + i] = default_byte_ns(Level::kSelf);
  }
  model.bytes.fold_apart = kFoldNsPerByte;
  return model;
}

bool knows_bytes(const Profile& profile) { return profile.g.n > 0; }

CostModel block_costs(const Profile& profile, const Topology& topology, const PlanKey& key) {
  CostModel model = cost_model(profile, topology, key);
  if (knows_bytes(profile) || !key.hosts.empty() || !all_alike(model)) return model;
  CostModel flat = flat_model(key.members);
  flat.switch_ns = model.switch_ns;
  flat.members_per_cpu = model.members_per_cpu;
  crowd(flat);
  return flat;
}

const KnownChoice* BlockKnowledge::find(Collective collective, std::size_t bytes) const {
  for (const KnownChoice& choice : choices)
    if (choice.collective == static_cast<std::uint8_t>(collective) &&
        std::size_t{1} << choice.log2_bytes == bytes)
      return &choice;
  return nullptr;
}

std::vector<std::byte> pack(const CostModel& model, const std::vector<KnownChoice>& choices) {
  Classes classes;
  for (double ratio = 1.1; !classify(model, ratio, classes); ratio *= ratio) {
  }
  Header h;
  h.members = static_cast<std::uint32_t>(model.members);
  h.classes = static_cast<std::uint32_t>(classes.mean.size());
  h.choices = static_cast<std::uint32_t>(choices.size());
  h.terms = model;
  std::vector<std::byte> out(size_of(h));
  std::byte* at = put(out.data(), &h, 1);
  at = put(at, classes.mean.data(), classes.mean.size());
  at = put(at, choices.data(), choices.size());
  put(at, classes.of.data(), classes.of.size());
  return out;
}

bool unpack(std::span<const std::byte> packed, std::int32_t members, BlockKnowledge* out) {
  Header h;
  if (packed.size() < sizeof h) return false;
  std::memcpy(&h, packed.data(), sizeof h);
  if (h.magic != kMagic || h.members != static_cast<std::uint32_t>(members) || h.classes < 1 ||
      h.classes > kMostClasses || h.choices > packed.size() / sizeof(KnownChoice) ||
      packed.size() != size_of(h))
    return false;
  std::vector<Costs> classes(h.classes);
  const std::byte* at = packed.data() + sizeof h;
  std::memcpy(classes.data(), at, classes.size() * sizeof(Costs));
  at += classes.size() * sizeof(Costs);
  // Members choose by these numbers, and another process may have overwritten them.
  const auto is_cost = [](double value) { return std::abs(value) < 1e18; };
  for (const Costs& c : classes)
    for (const double value : {c.o, c.l, c.g, c.direct})
      if (!is_cost(value) || value < 0) return false;  // clustering needs distances
  const CostTerms& t = h.terms;
  const ByteCosts& b = t.bytes;
  for (const double value : {t.awaited, t.reader, t.word_add, t.word_read, t.packed_sharers, t.switch_ns,
                             t.members_per_cpu, b.slot, b.direct_once, b.fold, b.direct_fold, b.fold_apart,
                             b.chunk, b.cached, b.beyond, b.together, b.between})
    if (!is_cost(value)) return false;
  if (!std::all_of(std::begin(t.layout_factor), std::end(t.layout_factor), is_cost) ||
      !std::all_of(std::begin(t.stride_factor), std::end(t.stride_factor), is_cost))
    return false;
  out->choices.resize(h.choices);
  if (h.choices != 0) std::memcpy(out->choices.data(), at, h.choices * sizeof(KnownChoice));
  for (const KnownChoice& choice : out->choices)
    if (choice.log2_bytes >= 64) return false;
  at += h.choices * sizeof(KnownChoice);
  CostModel& m = out->model;
  m = {};
  m.members = members;
  static_cast<CostTerms&>(m) = t;
  const std::size_t pairs = std::size_t{h.members} * h.members;
  for (std::vector<double>* v : {&m.o, &m.l, &m.g, &m.direct}) v->reserve(pairs);
  for (std::size_t k = 0; k < pairs; ++k) {
    const auto number = static_cast<std::size_t>(at[k]);
    if (number >= classes.size()) return false;
    const Costs& c = classes[number];
    m.o.push_back(c.o);
    m.l.push_back(c.l);
    m.g.push_back(c.g);
    m.direct.push_back(c.direct);
  }
  return true;
}

}  // namespace fermata
