#include "profile/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "base/text.hpp"
#include "profile/pairs.hpp"
#include "profile/statistics.hpp"

namespace fermata {
namespace {

constexpr double kDrift = 1.5;  // if rounds differ by a larger factor, virtual CPUs have probably moved

// of(round) returns a pointer to a value, or null if the round lacks the value. Returns the median of the
// values; 0 if there are none.
template <class Of>
double median_over(const std::vector<Profile>& rounds, Of&& of) {
  std::vector<double> values;
  for (const Profile& p : rounds)
    if (const double* value = of(p)) values.push_back(*value);
  return median(std::move(values));
}

// 0 in a round: it was not measured there.
double scalar(const std::vector<Profile>& rounds, double Profile::* field, double (*round)(double)) {
  return round(median_over(rounds, [&](const Profile& p) { return p.*field != 0 ? &(p.*field) : nullptr; }));
}

// A cost of bytes that is 0 in a round was not measured there.
Matrix matrix(const std::vector<Profile>& rounds, Matrix Profile::* field, bool of_bytes) {
  std::int32_t n = 0;
  for (const Profile& p : rounds) n = std::max(n, (p.*field).n);
  Matrix out(n);
  for (std::int32_t i = 0; i < n; ++i)
    for (std::int32_t j = 0; j < n; ++j)
      out.at(i, j) = (of_bytes ? rounded_byte : rounded)(median_over(rounds, [&](const Profile& p) {
        const Matrix& m = p.*field;
        if (m.n != n) return static_cast<const double*>(nullptr);
        const double& value =
            m.v[static_cast<std::size_t>(i) * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)];
        return value != 0 || !of_bytes ? &value : nullptr;
      }));
  return out;
}

// Merges lists of measurements. `alike` tells whether two items are the same measurement; `value` is the
// member with its time.
template <class T, class Alike>
void merge(std::vector<T>& into, const std::vector<Profile>& rounds, std::vector<T> Profile::* field,
           double T::* value, Alike&& alike, double (*round)(double)) {
  into.clear();
  for (const Profile& p : rounds)
    for (const T& item : p.*field) {
      const auto same = [&](const T& other) { return alike(item, other); };
      if (std::any_of(into.begin(), into.end(), same)) continue;
      into.push_back(item);
      into.back().*value = round(median_over(rounds, [&](const Profile& q) {
        const auto at = std::find_if((q.*field).begin(), (q.*field).end(), same);
        return at != (q.*field).end() ? &((*at).*value) : nullptr;
      }));
    }
}

template <class T>
void middle(MemoryParameters& into, const std::vector<Profile>& rounds,
            std::optional<T> MemoryParameters::* field) {
  std::vector<double> values;
  for (const Profile& p : rounds)
    if (const std::optional<T>& value = p.memory.*field) values.push_back(static_cast<double>(*value));
  if (values.empty()) return;
  if constexpr (std::is_integral_v<T>) into.*field = static_cast<T>(std::lround(median(std::move(values))));
  else into.*field = rounded_share(median(std::move(values)));
}

void add_up(std::vector<Tearing>& into, const std::vector<Profile>& rounds) {
  into.clear();
  for (const Profile& p : rounds)
    for (const Tearing& t : p.tearing) {
      const auto sum = std::find_if(into.begin(), into.end(), [&](const Tearing& s) {
        return s.bytes == t.bytes && s.level == t.level;
      });
      if (sum == into.end()) {
        into.push_back(t);
        continue;
      }
      sum->reads += t.reads;
      sum->torn += t.torn;
    }
}

void collect_remarks(Profile& out, const std::vector<Profile>& rounds) {
  for (const Profile& p : rounds)
    for (const std::string& remark : p.remarks)
      if (std::find(out.remarks.begin(), out.remarks.end(), remark) == out.remarks.end())
        out.remarks.push_back(remark);
  const auto nearer = [](const Profile& a, const Profile& b) { return a.one_way_ns < b.one_way_ns; };
  const auto [least, most] = std::minmax_element(rounds.begin(), rounds.end(), nearer);
  if (least->one_way_ns <= 0 || most->one_way_ns < kDrift * least->one_way_ns) return;
  out.remarks.push_back(format(
      "the nearest CPUs' latency changed while measuring: one way %.0f to %.0f ns in %zu rounds, median %.0f",
      least->one_way_ns, most->one_way_ns, rounds.size(), out.one_way_ns));
}

}  // namespace

Profile combined(const std::vector<Profile>& rounds) {
  Profile out = rounds.front();
  out.remarks.clear();
  for (const auto field : {&Profile::o, &Profile::l}) out.*field = matrix(rounds, field, false);
  for (const auto field : {&Profile::g, &Profile::g_direct}) out.*field = matrix(rounds, field, true);
  for (const auto field :
       {&Profile::direct_ns, &Profile::one_way_ns, &Profile::awaited_ns, &Profile::reader_ns,
        &Profile::word_read_ns, &Profile::yield_ns, &Profile::futex_ns})
    out.*field = scalar(rounds, field, rounded);
  out.fold_byte_ns = scalar(rounds, &Profile::fold_byte_ns, rounded_byte);
  std::size_t adders = 0;
  for (const Profile& p : rounds) adders = std::max(adders, p.word_add_ns.size());
  out.word_add_ns.resize(adders);
  for (std::size_t k = 0; k < adders; ++k)
    out.word_add_ns[k] = rounded(median_over(
        rounds, [k](const Profile& p) { return k < p.word_add_ns.size() ? &p.word_add_ns[k] : nullptr; }));
  merge(
      out.layouts, rounds, &Profile::layouts, &LayoutCost::period_ns,
      [](const LayoutCost& a, const LayoutCost& b) { return a.layout == b.layout; }, rounded);
  merge(
      out.domains, rounds, &Profile::domains, &DomainBytes::byte_ns,
      [](const DomainBytes& a, const DomainBytes& b) { return a.level == b.level && a.cpus == b.cpus; },
      rounded_byte);
  merge(
      out.blocks, rounds, &Profile::blocks, &BlockWay::ns,
      [](const BlockWay& a, const BlockWay& b) {
        return a.way == b.way && a.both == b.both && a.bytes == b.bytes;
      },
      rounded);
  for (const auto field : {&MemoryParameters::miss_share, &MemoryParameters::line_share,
                           &MemoryParameters::work_ns, &MemoryParameters::sibling_share})
    middle(out.memory, rounds, field);
  for (const auto field : {&MemoryParameters::overlap, &MemoryParameters::prefetch})
    middle(out.memory, rounds, field);
  add_up(out.tearing, rounds);
  collect_remarks(out, rounds);
  return out;
}

}  // namespace fermata
