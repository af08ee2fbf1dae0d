#include "sim/latency_law.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "base/text.hpp"

namespace fermata::sim {
namespace {

double grown(Growth growth, double hosts) { return growth == Growth::kLog ? std::log(hosts) : hosts; }

// ---- Least squares

using Numbers = std::array<double, 4>;
using Row = std::pair<Numbers, double>;  // the factors of the unknown numbers, and what they should give

constexpr double kDependent = 1e-9;  // of a normalised column: what is left when the others explain it

// Solves the normal equations for the first `unknowns` numbers by Gauss's elimination. nullopt: the rows do
// not determine them.
std::optional<Numbers> least_squares(const std::vector<Row>& rows, std::size_t unknowns) {
  Numbers scale{}, x{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < unknowns; ++i) scale[i] = std::hypot(scale[i], row.first[i]);
  std::array<std::array<double, 5>, 4> a{};  // the last column: the right side
  for (const Row& row : rows)
    for (std::size_t i = 0; i < unknowns; ++i) {
      if (scale[i] <= 0) return std::nullopt;
      for (std::size_t j = 0; j < unknowns; ++j)
        a[i][j] += row.first[i] / scale[i] * (row.first[j] / scale[j]);
      a[i][4] += row.first[i] / scale[i] * row.second;
    }
  for (std::size_t k = 0; k < unknowns; ++k) {
    std::size_t best = k;
    for (std::size_t i = k; i < unknowns; ++i)
      if (std::abs(a[i][k]) > std::abs(a[best][k])) best = i;
    if (std::abs(a[best][k]) < kDependent) return std::nullopt;
    std::swap(a[k], a[best]);
    for (std::size_t i = 0; i < unknowns; ++i) {
      if (i == k) continue;
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < 5; ++j) a[i][j] -= factor * a[k][j];
    }
  }
  for (std::size_t k = 0; k < unknowns; ++k) x[k] = a[k][4] / a[k][k] / scale[k];
  return x;
}

// 1 - (sum of squared residuals) / (sum of squared distances from the mean). Where all values are the same,
// the constant of the law explains them.
double determination(const std::vector<Row>& rows, const Numbers& x) {
  double mean = 0, left = 0, all = 0;
  for (const Row& row : rows) mean += row.second / static_cast<double>(rows.size());
  for (const auto& [factors, us] : rows) {
    double residual = us;
    for (std::size_t i = 0; i < x.size(); ++i) residual -= x[i] * factors[i];
    left += residual * residual;
    all += (us - mean) * (us - mean);
  }
  return all > 0 ? 1 - left / all : 1;
}

std::optional<double> least_of_lines(const std::vector<LawPoint>& points, Growth growth) {
  std::map<double, std::vector<Row>> lines;  // by cores
  for (const LawPoint& p : points) lines[p.cores].push_back({{grown(growth, p.hosts), 1, 0, 0}, p.us});
  std::optional<double> least;
  for (const auto& [cores, rows] : lines) {
    std::set<double> hosts;
    for (const Row& row : rows) hosts.insert(row.first[0]);
    const auto line = hosts.size() < 3 ? std::nullopt : least_squares(rows, 2);
    if (line) least = std::min(least.value_or(1), determination(rows, *line));
  }
  return least;
}

// ---- Text

constexpr std::string_view kHeader = "hosts,cores,latency_us";

std::optional<double> field(std::string_view text, double least, double most) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return parse_number<double>(text, least, most);
}

std::optional<LawPoint> point_of(std::string_view line) {
  const std::size_t first = line.find(','), second = line.find(',', first + 1);
  if (first == line.npos || second == line.npos) return std::nullopt;
  const auto hosts = field(line.substr(0, first), 1, 1e9);
  const auto cores = field(line.substr(first + 1, second - first - 1), 1, 1e9);
  const auto us = field(line.substr(second + 1), 0, 1e12);
  if (!hosts || !cores || !us) return std::nullopt;
  return LawPoint{*hosts, *cores, *us};
}

}  // namespace

double LatencyLaw::us(double hosts, double cores) const {
  return (a1 * cores + a2) * grown(growth, hosts) + b1 * cores + b2;
}

Result<LawFit> fit_law(const std::vector<LawPoint>& points, Growth growth) {
  std::vector<Row> rows;
  for (const LawPoint& p : points) {
    const double g = grown(growth, p.hosts);
    rows.push_back({{p.cores * g, g, p.cores, 1}, p.us});
  }
  const auto x = least_squares(rows, 4);
  if (!x)
    return Error{Status::kArgument,
                 counted(points.size(), "point") +
                     " cannot be fitted: the law needs at least two numbers of cores, with "
                     "at least two numbers of hosts for each"};
  LawFit fit;
  fit.law = {(*x)[0], (*x)[1], (*x)[2], (*x)[3], growth};
  fit.r2 = determination(rows, *x);
  fit.least_r2 = least_of_lines(points, growth);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double residual = points[i].us - fit.law.us(points[i].hosts, points[i].cores);
    if (std::abs(residual) <= std::abs(fit.worst_residual)) continue;
    fit.worst = i;
    fit.worst_residual = residual;
  }
  return fit;
}

Result<std::vector<LawPoint>> points_from_csv(std::string_view text) {
  std::vector<LawPoint> points;
  bool headed = false;
  for (std::int32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#') continue;
    if (!headed) {
      if (line != kHeader)
        return Error{Status::kParse,
                     format("line %d: expected the header \"%s\"", number, std::string(kHeader).c_str())};
      headed = true;
      continue;
    }
    const auto point = point_of(line);
    if (!point)
      return Error{Status::kParse,
                   format("line %d: expected hosts and cores, from 1 to 1e9, and a latency of "
                          "at most 1e12 us, separated by commas",
                          number)};
    points.push_back(*point);
  }
  if (!headed) return Error{Status::kParse, "no line says \"" + std::string(kHeader) + "\""};
  return points;
}

std::string to_csv(const std::vector<LawPoint>& points) {
  std::string text = std::string(kHeader) + "\n";
  for (const LawPoint& p : points) {
    const double values[] = {p.hosts, p.cores, p.us};
    for (std::size_t i = 0; i < 3; ++i) {
      char number[32];
      text.append(number, std::to_chars(number, number + sizeof number, values[i]).ptr);
      text += i < 2 ? ',' : '\n';
    }
  }
  return text;
}

}  // namespace fermata::sim
