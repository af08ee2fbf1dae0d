// Reads Matrix Market files: coordinate, real or integer, general or symmetric, square.
#ifndef EXAMPLES_CG_MATRIX_MARKET_HPP
#define EXAMPLES_CG_MATRIX_MARKET_HPP

#include <istream>
#include <stdexcept>
#include <string>

#include "sparse.hpp"

namespace cg {

// "name:line: reason". Line 0 means the file as a whole.
class ParseError : public std::runtime_error {
 public:
  ParseError(const std::string& name, long line, const std::string& reason)
      : std::runtime_error(name + ":" + (line > 0 ? std::to_string(line) + ": " : " ") + reason) {}
};

// name is for messages. Throws ParseError.
Matrix read_matrix_market(std::istream& in, const std::string& name);
Matrix read_matrix_market(const std::string& path);

}  // namespace cg
#endif
