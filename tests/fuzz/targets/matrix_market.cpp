// Matrix Market files, as examples/cg reads them.
#include "matrix_market.hpp"

#include <cmath>
#include <sstream>

#include "../target.hpp"

namespace {

struct Read {
  cg::Matrix matrix;
  bool operator==(const Read& other) const {
    return matrix.rows == other.matrix.rows && matrix.row_start == other.matrix.row_start &&
           matrix.column == other.matrix.column && matrix.value == other.matrix.value;
  }
};

fermata::Result<Read> read(std::string_view text) {
  std::istringstream in{std::string(text)};
  try {
    return Read{cg::read_matrix_market(in, "input")};
  } catch (const cg::ParseError& refusal) {
    return fermata::Error{fermata::Status::kParse, refusal.what()};
  }
}

std::string write(const Read& read) {
  const cg::Matrix& m = read.matrix;
  std::ostringstream out;
  out.precision(17);
  out << "%%MatrixMarket matrix coordinate real general\n"
      << m.rows << " " << m.rows << " " << m.nonzeros() << "\n";
  for (std::size_t row = 0; row < static_cast<std::size_t>(m.rows); ++row)
    for (auto i = static_cast<std::size_t>(m.row_start[row]);
         i < static_cast<std::size_t>(m.row_start[row + 1]); ++i)
      out << row + 1 << " " << m.column[i] + 1 << " " << m.value[i] << "\n";
  return out.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fermata::fuzz::text_of(data, size);
  const auto matrix = read(text);
  if (matrix.ok()) {
    const cg::Matrix& m = matrix->matrix;
    if (m.row_start.back() != m.nonzeros() || m.column.size() != m.value.size())
      fermata::fuzz::fail("rows that do not add up", "");
    cg::why_no_jacobi(m);
    cg::why_not_spd(m);
    if (cg::partition(m, 3).back() != m.rows) fermata::fuzz::fail("a partition that loses rows", "");
  }
  return fermata::fuzz::round_trip(text, read, write);
}
