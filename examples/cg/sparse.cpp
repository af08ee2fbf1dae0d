#include "sparse.hpp"

#include <algorithm>
#include <cmath>

namespace cg {

Matrix compress(std::int32_t rows, std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.row != b.row ? a.row < b.row : a.column < b.column;
  });
  Matrix m;
  m.rows = rows;
  m.row_start.assign(static_cast<std::size_t>(rows) + 1, 0);
  m.column.reserve(entries.size());
  m.value.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& e = entries[i];
    if (i > 0 && entries[i - 1].row == e.row && entries[i - 1].column == e.column) {
      m.value.back() += e.value;
      continue;
    }
    m.column.push_back(e.column);
    m.value.push_back(e.value);
    ++m.row_start[static_cast<std::size_t>(e.row) + 1];
  }
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) m.row_start[r + 1] += m.row_start[r];
  return m;
}

namespace {

// The entry, or 0 if none is stored.
double at(const Matrix& m, std::int32_t row, std::int32_t column) {
  const auto first = m.column.begin() + m.row_start[static_cast<std::size_t>(row)];
  const auto last = m.column.begin() + m.row_start[static_cast<std::size_t>(row) + 1];
  const auto hit = std::lower_bound(first, last, column);
  return hit != last && *hit == column ? m.value[static_cast<std::size_t>(hit - m.column.begin())] : 0.0;
}

}  // namespace

std::string why_no_jacobi(const Matrix& m) {
  for (std::int32_t row = 0; row < m.rows; ++row)
    if (at(m, row, row) == 0) return "diagonal entry " + std::to_string(row + 1) + " is 0";
  return {};
}

std::string why_not_spd(const Matrix& m) {
  for (std::int32_t row = 0; row < m.rows; ++row) {
    if (!(at(m, row, row) > 0)) return "diagonal entry " + std::to_string(row + 1) + " is not positive";
    for (auto i = m.row_start[static_cast<std::size_t>(row)];
         i < m.row_start[static_cast<std::size_t>(row) + 1]; ++i) {
      const std::int32_t column = m.column[static_cast<std::size_t>(i)];
      const double here = m.value[static_cast<std::size_t>(i)];
      const double there = at(m, column, row);
      if (std::abs(here - there) > 1e-12 * std::max(std::abs(here), std::abs(there)))
        return "entries (" + std::to_string(row + 1) + ", " + std::to_string(column + 1) +
               ") and its mirror image differ";
    }
  }
  return {};
}

std::vector<std::int32_t> partition(const Matrix& m, int parts) {
  std::vector<std::int32_t> cuts(static_cast<std::size_t>(parts) + 1, m.rows);
  cuts[0] = 0;
  for (int p = 1; p < parts; ++p) {
    const std::int64_t goal = m.nonzeros() * p / parts;
    const auto hit = std::lower_bound(m.row_start.begin(), m.row_start.end() - 1, goal);
    cuts[static_cast<std::size_t>(p)] =
        std::max(cuts[static_cast<std::size_t>(p) - 1], static_cast<std::int32_t>(hit - m.row_start.begin()));
  }
  return cuts;
}

Rows rows_alone(const Matrix& m, Rows rows) {
  const auto alone = [&](std::size_t row) {
    const auto first = static_cast<std::size_t>(m.row_start[row]);
    const auto last = static_cast<std::size_t>(m.row_start[row + 1]);
    return first == last || (static_cast<std::size_t>(m.column[first]) >= rows.first &&
                             static_cast<std::size_t>(m.column[last - 1]) < rows.last);
  };
  Rows longest{rows.first, rows.first};
  for (std::size_t begin = rows.first; begin < rows.last;) {
    std::size_t end = begin;
    while (end < rows.last && alone(end)) ++end;
    if (end - begin > longest.last - longest.first) longest = {begin, end};
    begin = end + 1;
  }
  return longest;
}

}  // namespace cg
