// Format: https://math.nist.gov/MatrixMarket/formats.html. A banner, comments that begin with %, a size line,
// and one entry per line.
#include "matrix_market.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <string_view>

namespace cg {
namespace {

constexpr std::int64_t kMaxRows = 100'000'000;
constexpr std::int64_t kMaxEntries = 2'000'000'000;
constexpr std::int64_t kCheapRows = 1'000'000;

struct Reader {
  std::istream& in;
  std::string name;
  long line_number = 0;
  std::string line;

  [[noreturn]] void refuse(const std::string& reason) const { throw ParseError(name, line_number, reason); }

  bool next() {
    if (!std::getline(in, line)) return false;
    ++line_number;
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
  }
  // The next line that is neither empty nor a comment.
  bool next_content() {
    while (next()) {
      const auto first = line.find_first_not_of(" \t");
      if (first != std::string::npos && line[first] != '%') return true;
    }
    return false;
  }
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string lower(std::string_view word) {
  std::string out(word);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

template <class T>
T number(const Reader& reader, std::string_view word, const char* what) {
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size())
    reader.refuse(std::string(what) + " '" + std::string(word) + "' is not a number in range");
  return value;
}

// Returns whether the matrix is stored as symmetric.
bool read_banner(Reader& reader) {
  if (!reader.next()) reader.refuse("the file is empty");
  const auto words = words_of(reader.line);
  if (words.size() != 5 || lower(words[0]) != "%%matrixmarket")
    reader.refuse("the first line must be: %%MatrixMarket matrix coordinate real symmetric");
  if (lower(words[1]) != "matrix")
    reader.refuse("object '" + std::string(words[1]) + "': only matrix is read");
  if (lower(words[2]) != "coordinate")
    reader.refuse("format '" + std::string(words[2]) + "': only coordinate is read");
  const std::string field = lower(words[3]);
  if (field != "real" && field != "integer")
    reader.refuse("field '" + field + "': only real and integer are read");
  const std::string symmetry = lower(words[4]);
  if (symmetry != "general" && symmetry != "symmetric")
    reader.refuse("symmetry '" + symmetry + "': only general and symmetric are read");
  return symmetry == "symmetric";
}

struct Size {
  std::int32_t rows = 0;
  std::int64_t entries = 0;
};

Size read_size(Reader& reader) {
  if (!reader.next_content()) reader.refuse("the size line (rows, columns, entries) is missing");
  const auto words = words_of(reader.line);
  if (words.size() != 3) reader.refuse("the size line needs rows, columns and entries");
  const auto rows = number<std::int64_t>(reader, words[0], "rows");
  const auto columns = number<std::int64_t>(reader, words[1], "columns");
  const auto entries = number<std::int64_t>(reader, words[2], "entries");
  if (rows != columns)
    reader.refuse("a system needs a square matrix, not " + std::to_string(rows) + " x " +
                  std::to_string(columns));
  if (rows < 1 || rows > kMaxRows) reader.refuse("rows must be 1.." + std::to_string(kMaxRows));
  if (entries < 0 || entries > kMaxEntries)
    reader.refuse("entries must be 0.." + std::to_string(kMaxEntries));
  // A wrong size line must not cost the memory that it claims.
  if (rows > kCheapRows + 2 * entries)
    reader.refuse(std::to_string(entries) + " entries leave most of " + std::to_string(rows) + " rows empty");
  return {static_cast<std::int32_t>(rows), entries};
}

Entry read_entry(Reader& reader, std::int32_t rows) {
  const auto words = words_of(reader.line);
  if (words.size() != 3) reader.refuse("an entry needs row, column and value");
  const auto row = number<std::int64_t>(reader, words[0], "row");
  const auto column = number<std::int64_t>(reader, words[1], "column");
  if (row < 1 || row > rows)
    reader.refuse("row " + std::to_string(row) + " is not in 1.." + std::to_string(rows));
  if (column < 1 || column > rows)
    reader.refuse("column " + std::to_string(column) + " is not in 1.." + std::to_string(rows));
  const auto value = number<double>(reader, words[2], "value");
  if (!std::isfinite(value)) reader.refuse("value '" + std::string(words[2]) + "' is not finite");
  return {static_cast<std::int32_t>(row - 1), static_cast<std::int32_t>(column - 1), value};
}

}  // namespace

Matrix read_matrix_market(std::istream& in, const std::string& name) {
  Reader reader{in, name, 0, {}};
  const bool symmetric = read_banner(reader);
  const Size size = read_size(reader);
  std::vector<Entry> entries;
  entries.reserve(static_cast<std::size_t>(std::min<std::int64_t>(size.entries, 1 << 20)));
  for (std::int64_t i = 0; i < size.entries; ++i) {
    if (!reader.next_content())
      reader.refuse("the file ends after " + std::to_string(i) + " of " + std::to_string(size.entries) +
                    " entries");
    const Entry e = read_entry(reader, size.rows);
    if (symmetric && e.column > e.row) reader.refuse("a symmetric file stores the lower triangle only");
    entries.push_back(e);
    if (symmetric && e.row != e.column) entries.push_back({e.column, e.row, e.value});
  }
  if (reader.next_content()) reader.refuse("more than " + std::to_string(size.entries) + " entries");
  if (in.bad()) reader.refuse("reading failed");
  Matrix matrix = compress(size.rows, std::move(entries));
  if (!std::all_of(matrix.value.begin(), matrix.value.end(), [](double v) { return std::isfinite(v); }))
    reader.refuse("the values given for one place have no finite sum");
  return matrix;
}

Matrix read_matrix_market(const std::string& path) {
  errno = 0;
  std::ifstream in(path);
  if (!in) throw ParseError(path, 0, std::strerror(errno != 0 ? errno : EIO));
  return read_matrix_market(in, path);
}

}  // namespace cg
