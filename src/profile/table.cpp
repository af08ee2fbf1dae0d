// Prints a profile for people: a table of the numbers, and heat maps of L and G.
#include <algorithm>
#include <vector>

#include "base/text.hpp"
#include "profile/profile.hpp"

namespace fermata {

namespace {

constexpr std::size_t kColumns = 100;
constexpr std::int32_t kMapCells = 46;  // a cell is two columns wide

std::string ns(double value) {
  if (value <= 0) return "-";
  return value < 10000 ? format("%.1f ns", value) : format("%.1f us", value / 1000);
}

std::string line(const std::string& name, const std::string& value) {
  std::string out = "  " + name;
  out.resize(std::max<std::size_t>(58, out.size() + 1), ' ');
  return out + value + "\n";
}

// Wraps text at blanks and indents the continuation lines.
std::string wrapped(const std::string& text) {
  std::string out, current = "  * ";
  std::size_t at = 0;
  while (at < text.size()) {
    const auto blank = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, blank - at);
    if (current.size() + word.size() > kColumns && current.size() > 4) {
      current.pop_back();
      out += current + "\n";
      current = "    ";
    }
    current += word + " ";
    at = blank + 1;
  }
  current.pop_back();
  return out + current + "\n";
}

struct Spread {
  double o = 0, l = 0, low = 0, high = 0;
  double g = 0, direct = 0;  // 0: unknown
  std::size_t pairs = 0;
};

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto mid = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), mid, values.end());
  return *mid;
}

Spread spread_at(const Profile& p, Level level) {
  std::vector<double> o, l, sum, g, direct;
  for (std::int32_t i = 0; i < p.o.n; ++i) {
    for (std::int32_t j = 0; j < p.o.n; ++j) {
      const Cpu &a = p.topology.cpus[static_cast<std::size_t>(i)],
                &b = p.topology.cpus[static_cast<std::size_t>(j)];
      if (common_level(a, b) != level) continue;
      o.push_back(p.o.at(i, j));
      l.push_back(p.l.at(i, j));
      sum.push_back(o.back() + l.back());
      if (i < p.g.n && p.g.at(i, j) > 0) g.push_back(p.g.at(i, j));
      if (i < p.g_direct.n && p.g_direct.at(i, j) > 0) direct.push_back(p.g_direct.at(i, j));
    }
  }
  if (sum.empty()) return {};
  const auto [low, high] = std::minmax_element(sum.begin(), sum.end());
  return {middle(o), middle(l), *low, *high, middle(std::move(g)), middle(std::move(direct)), sum.size()};
}

std::string byte_column(double ns) { return ns <= 0 ? "        -" : format(" %8.3f", ns); }

std::string levels_table(const Profile& p) {
  std::string out =
      "  level       pairs        O        L    O+L from      to   G slot G direct  (ns, medians; G a "
      "byte)\n";
  for (int level = 0; level < kLevelCount; ++level) {
    const Spread s = spread_at(p, static_cast<Level>(level));
    if (s.pairs == 0) continue;
    out += format("  %-9s %7zu %8.1f %8.1f %11.1f %7.1f", name_of(static_cast<Level>(level)), s.pairs, s.o,
                  s.l, s.low, s.high) +
           byte_column(s.g) + byte_column(s.direct) + "\n";
  }
  return out;
}

std::string byte_text(double ns) { return format("%.4f ns (%.1f GB/s)", ns, 1 / ns); }

std::string share_text(double share) { return format("%.3g", share); }

std::string memory_lines(const MemoryParameters& m) {
  std::string out;
  if (m.miss_share) out += line("a reader's miss, share of a signal", share_text(*m.miss_share));
  if (m.line_share)
    out += line("a line serves one reader for this share of its miss", share_text(*m.line_share));
  if (m.overlap) out += line("a stage's loads", *m.overlap == 2 ? "overlap" : "follow each other");
  if (m.work_ns) out += line("own work for a store, and for a signal taken", ns(*m.work_ns));
  if (m.sibling_share)
    out += line("each member more on the core adds to it, as a share", share_text(*m.sibling_share));
  if (m.prefetch) out += line("further lines that a miss takes, too", std::to_string(*m.prefetch));
  return out;
}

std::string tearing_text(const Tearing& t) {
  const double share = t.reads > 0 ? 100.0 * static_cast<double>(t.torn) / static_cast<double>(t.reads) : 0;
  return format("%lld of %lld reads torn (%.3g %%)", static_cast<long long>(t.torn),
                static_cast<long long>(t.reads), share);
}

// Returns the rows and columns that a map shows. For large machines it omits some.
std::vector<std::int32_t> shown_rows(std::int32_t n) {
  const std::int32_t step = (n + kMapCells - 1) / kMapCells;
  std::vector<std::int32_t> rows;
  for (std::int32_t i = 0; i < n; i += step) rows.push_back(i);
  return rows;
}

struct Range {
  double low = 0, high = 0;
  bool flat() const { return high <= low * 1.05; }  // noise must not look like structure
};

// Values off the diagonal, sorted.
std::vector<double> sorted_values(const Matrix& m, const std::vector<std::int32_t>& rows) {
  std::vector<double> values;
  for (const std::int32_t i : rows)
    for (const std::int32_t j : rows)
      if (i != j) values.push_back(m.at(i, j));
  std::sort(values.begin(), values.end());
  return values;
}

Range range_of(const std::vector<double>& values) {
  return values.empty() ? Range{} : Range{values.front(), values.back()};
}

// Returns the values that begin a step: each is more than a twentieth above the previous step.
std::vector<double> steps_of(const std::vector<double>& sorted) {
  std::vector<double> steps;
  for (const double value : sorted)
    if (steps.empty() || value > 1.05 * steps.back()) steps.push_back(value);
  return steps;
}

// A value's shade depends on the rank of its step. So levels stay distinct even if one level is much larger
// than the others.
std::string map_of(const Profile& p, const Matrix& m, const std::string& title, int decimals) {
  constexpr const char* kShades[] = {"\u2591\u2591", "\u2592\u2592", "\u2593\u2593", "\u2588\u2588"};
  const std::vector<std::int32_t> rows = shown_rows(m.n);
  const std::vector<double> values = sorted_values(m, rows);
  const Range range = range_of(values);
  const std::vector<double> steps = steps_of(values);
  const auto shade = [&](double value) -> const char* {
    const auto step = std::upper_bound(steps.begin(), steps.end(), value) - steps.begin() - 1;
    const auto last = static_cast<std::ptrdiff_t>(steps.size()) - 1;
    return kShades[range.flat() || last < 1 ? 0 : std::clamp<std::ptrdiff_t>(step * 3 / last, 0, 3)];
  };
  std::string out = title;
  if (rows.size() > 1 && rows[1] > 1) out += ", one in " + std::to_string(rows[1]) + " CPUs";
  out += "\n";
  for (const std::int32_t i : rows) {
    out += format("%5d ", p.topology.cpus[static_cast<std::size_t>(i)].os_index);
    for (const std::int32_t j : rows) out += i == j ? "\\ " : shade(m.at(i, j));
    out += "\n";
  }
  return out +
         format("      \u2591 %.*f ns  ...  \u2588 %.*f ns\n", decimals, range.low, decimals, range.high);
}

}  // namespace

std::string to_table(const Profile& p) {
  std::string out = (p.machine.empty() ? "unnamed machine" : p.machine).substr(0, kColumns) + "\n";
  out += p.origin + ", " + p.engine + (p.date.empty() ? "" : ", " + p.date);
  out += (p.fingerprint.empty() ? "" : ", machine " + p.fingerprint) + "\n\n" + levels_table(p) + "\n";
  out += line("one-way line latency, nearest pair", ns(p.one_way_ns));
  out += line("each further awaited slot", ns(p.awaited_ns));
  out += line("each further reader of a published line", ns(p.reader_ns));
  for (std::size_t k = 0; k < p.word_add_ns.size(); ++k) {
    const bool shown = k < 2 || k + 1 == p.word_add_ns.size() || ((k + 1) & k) == 0;
    if (shown)
      out += line("add on a word, " + std::to_string(k + 1) + (k == 0 ? " member" : " members"),
                  ns(p.word_add_ns[k]));
  }
  out += line("read of a word that another member wrote", ns(p.word_read_ns));
  for (const LayoutCost& c : p.layouts)
    out += line("period of an exchange, layout " + c.layout, ns(c.period_ns));
  out += line("each single copy, beyond its signal and its bytes", ns(p.direct_ns));
  if (p.fold_byte_ns > 0) out += line("a byte folded in the CPU's own cache", byte_text(p.fold_byte_ns));
  for (const DomainBytes& d : p.domains)
    out += line(d.level == Level::kNetwork ? "a byte, pairs of hosts sending at once"
                                           : "a byte, " + std::to_string(d.cpus) + " CPUs of one " +
                                                 name_of(d.level) + " reading each other",
                byte_text(d.byte_ns));
  for (const BlockWay& ring : p.blocks) {
    if (ring.way != "ring") continue;
    const BlockWay* const single_copy = single_copy_beside(p, ring);
    out += line(std::to_string(ring.bytes) + " bytes between processes" + (ring.both ? ", both ways" : ""),
                ns(ring.ns) + " by ring" +
                    (single_copy != nullptr ? ", " + ns(single_copy->ns) + " single copy" : ""));
  }
  for (const Tearing& t : p.tearing)
    out += line("store of " + std::to_string(t.bytes) + " bytes read across level " + name_of(t.level),
                tearing_text(t));
  out += memory_lines(p.memory);
  out += line("switch by yield", ns(p.yield_ns)) + line("wake through a futex", ns(p.futex_ns));
  for (const std::string& remark : p.remarks) out += wrapped(remark);
  for (const Citation& c : p.citations)
    out += wrapped(c.field + (c.estimated ? " (estimate): " : ": ") + c.source);
  return out;
}

// Shows O + L if L is the same for all pairs and O is not.
std::string heat_map(const Profile& p) {
  if (p.l.n < 1) return "no matrix\n";
  const std::vector<std::int32_t> rows = shown_rows(p.l.n);
  Matrix m = p.l;
  std::string title = "L in ns";
  if (range_of(sorted_values(p.l, rows)).flat() && !range_of(sorted_values(p.o, rows)).flat()) {
    for (std::size_t i = 0; i < m.v.size(); ++i) m.v[i] += p.o.v[i];
    title = "L is the same for all pairs; O + L in ns";
  }
  return map_of(p, m, title + ", row: sender, column: receiver", 1);
}

// Shows the cheaper way: g_direct if known, else g.
std::string byte_heat_map(const Profile& p) {
  const Matrix& g = p.g_direct.n > 0 ? p.g_direct : p.g;
  if (g.n < 1) return {};
  const char* title = p.g_direct.n > 0 ? "G in ns a byte, read directly" : "G in ns a byte, through slots";
  return map_of(p, g, std::string(title) + ", row: sender, column: receiver", 3);
}

}  // namespace fermata
