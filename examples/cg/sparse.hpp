// A sparse matrix in compressed rows, and its partition into parts of about equal work.
#ifndef EXAMPLES_CG_SPARSE_HPP
#define EXAMPLES_CG_SPARSE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cg {

struct Matrix {
  std::int32_t rows = 0;                // also the number of columns
  std::vector<std::int64_t> row_start;  // rows + 1 entries
  std::vector<std::int32_t> column;     // ascending in each row
  std::vector<double> value;

  std::int64_t nonzeros() const { return static_cast<std::int64_t>(value.size()); }
};

struct Entry {
  std::int32_t row = 0;  // from 0
  std::int32_t column = 0;
  double value = 0;
};

// Entries in any order; entries of one place are added up. Both halves of a symmetric matrix must be present.
Matrix compress(std::int32_t rows, std::vector<Entry> entries);

// Empty if Jacobi's preconditioner exists, else the reason: a diagonal entry that is 0 or not stored.
std::string why_no_jacobi(const Matrix& matrix);

// Empty if conjugate gradient can be tried, else the reason: a diagonal entry that is not positive, or a
// value that differs from its mirror image by more than rounding. (Only the solve can find an indefinite
// matrix.)
std::string why_not_spd(const Matrix& matrix);

// parts + 1 row numbers; part p has rows [result[p], result[p+1]) and about nonzeros/parts entries.
std::vector<std::int32_t> partition(const Matrix& matrix, int parts);

struct Rows {
  std::size_t first = 0, last = 0;  // [first, last)
};
// The longest run within `rows` whose entries are all in columns of `rows`.
Rows rows_alone(const Matrix& matrix, Rows rows);

}  // namespace cg
#endif
