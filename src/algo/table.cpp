// The algorithm table. A new algorithm needs a file of its own and one line here
// (docs/adding-an-algorithm.md).
#include <charconv>
#include <string>

#include "algo/algorithm.hpp"

#define FERMATA_ALGORITHMS(X) \
  X(linear)                   \
  X(kary)                     \
  X(dissemination)            \
  X(n_way_dissemination)      \
  X(butterfly)                \
  X(redundant_butterfly)      \
  X(extended_butterfly)       \
  X(tournament)               \
  X(binomial)                 \
  X(binomial_high)            \
  X(complete)                 \
  X(counter)                  \
  X(sense_reversing)          \
  X(combining_tree)           \
  X(chain)                    \
  X(ring)                     \
  X(recursive_doubling)       \
  X(recursive_halving)        \
  X(bruck)                    \
  X(pairwise)                 \
  X(scatter_allgather)        \
  X(in_order)

namespace fermata {

// Each algorithm's file defines fermata::algo::NAME(), which returns its entry.
namespace algo {
#define DECLARE(name) Algorithm name();
FERMATA_ALGORITHMS(DECLARE)
#undef DECLARE
}  // namespace algo

namespace {

// Initialized while Fermata is loaded, before other static objects. If it were initialized at first use, a
// fork could come while another thread initializes it.
#define LINE(name) algo::name(),
[[gnu::init_priority(101)]] const Algorithm kTable[] = {FERMATA_ALGORITHMS(LINE)};
#undef LINE

}  // namespace

std::span<const Algorithm> algorithms() { return kTable; }

const Algorithm* find_algorithm(std::string_view name) {
  for (const Algorithm& a : algorithms()) {
    if (name == a.name) return &a;
  }
  return nullptr;
}

bool serves(const Algorithm& algorithm, const Request& request, OpTraits op) {
  if (algorithm.folding == nullptr || !folds(request.collective)) return true;
  switch (algorithm.folding(request)) {
    case Folding::kOneTree: return true;
    case Folding::kOnce: return op.associative;
    case Folding::kRepeated: return op.associative && op.idempotent;
  }
  return false;
}

const char* skipped(const Algorithm& algorithm, const Request& request) {
  return algorithm.skip == nullptr ? nullptr : algorithm.skip(request);
}

Result<AlgorithmName> parse_algorithm(std::string_view text) {
  constexpr std::int32_t kMostDegree = kMaxScheduleMembers;
  const std::size_t open = text.find('(');
  AlgorithmName out;
  out.algorithm = find_algorithm(text.substr(0, open));
  if (out.algorithm == nullptr) {
    std::string names;
    for (const Algorithm& a : algorithms())
      names += std::string(names.empty() ? "" : ", ") + a.name + (a.has_degree ? "(k)" : "");
    return Error{Status::kNotFound,
                 "no algorithm '" + std::string(text.substr(0, 64)) + "'; there are " + names};
  }
  if (open == std::string_view::npos) return out;
  const auto refuse = [&](const std::string& why) {
    return Error{Status::kParse, "'" + std::string(text.substr(0, 64)) + "': " + why};
  };
  if (!out.algorithm->has_degree) return refuse(std::string(out.algorithm->name) + " has no degree");
  const std::string_view digits = text.substr(open + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.degree);
  const bool closed = end + 1 == digits.data() + digits.size() && *end == ')';
  const Request smallest{.degree = out.degree};
  if (error != std::errc{} || !closed || out.degree < 1 || out.degree > kMostDegree ||
      !out.algorithm->applicable(smallest)) {
    return refuse("expected a degree, as in " + std::string(out.algorithm->name) + "(4)");
  }
  return out;
}

}  // namespace fermata
