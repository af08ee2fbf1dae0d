#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "fermata/fermata.h"

namespace cg {
namespace {

constexpr double kAmplified = 1000;  // sums of thousands of numbers differ in more than their last bit
constexpr double kSameHistory = 1e-12;
constexpr double kFloor = 1e-13;  // residuals smaller than this times the first are only rounding
constexpr int kSameEnd = 2;

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return std::isfinite(value) ? text : "null";
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
  }
  return out + '"';
}

template <class T, class F>
std::string list(const std::vector<T>& values, F&& text) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? ", " : "") + text(values[i]);
  return out + "]";
}

int iterations(const Result& result) { return static_cast<int>(result.outcome.residuals.size()) - 1; }

}  // namespace

Difference compare(const std::vector<double>& residuals, const std::vector<double>& serial,
                   const std::vector<double>& nudged) {
  Difference d;
  d.equal_to_rounding = true;
  const auto off = [&](const std::vector<double>& other, std::size_t k) {
    const double scale = std::max({std::abs(serial[k]), kFloor * std::abs(serial[0]), 1e-300});
    return std::abs(other[k] - serial[k]) / scale;
  };
  const std::size_t common = std::min(residuals.size(), serial.size());
  for (std::size_t k = 0; k < common; ++k) {
    if (k < nudged.size()) d.rounding = std::max(d.rounding, off(nudged, k));
    d.largest = std::max(d.largest, off(residuals, k));
    if (!(off(residuals, k) <= kSameHistory + kAmplified * d.rounding)) d.equal_to_rounding = false;
  }
  d.iterations_apart = std::abs(static_cast<int>(residuals.size()) - static_cast<int>(serial.size()));
  const int tenth = static_cast<int>(serial.size()) / 10;
  const int same_end = kAmplified * d.rounding < 1 ? kSameEnd : std::max(kSameEnd, tenth);
  if (d.iterations_apart > same_end) d.equal_to_rounding = false;
  return d;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double largest_error(const std::vector<double>& solution) {
  double worst = 0;
  for (std::size_t row = 0; row < solution.size(); ++row)
    worst = std::max(worst, std::abs(solution[row] - exact_solution(static_cast<std::int32_t>(row))));
  return worst;
}

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::kConverged: return "converged";
    case Ending::kIterations: return "out of iterations";
    case Ending::kIndefinite: return "the matrix is not positive definite";
    case Ending::kBreakdown: return "broken down";
  }
  return "";
}

const char* name_of(Method method) {
  switch (method) {
    case Method::kConjugateGradient: return "cg";
    case Method::kPipelinedCg: return "pipelined";
    case Method::kBicgstab: return "bicgstab";
  }
  return "";
}

void print(const Report& report) {
  const Result& result = *report.result;
  const double seconds = median(result.seconds);
  const int steps = iterations(result);
  const double first = result.outcome.residuals.front();
  std::printf("%s: %d rows, %lld nonzeros\n", report.matrix_name.c_str(), report.job->matrix->rows,
              static_cast<long long>(report.job->matrix->nonzeros()));
  std::printf("  %s, %s, %d thread%s%s: %s after %d iterations, |r|/|b| = %.2e, largest error %.2e\n",
              name_of(report.job->method), report.engine.c_str(), report.job->threads,
              report.job->threads == 1 ? "" : "s", report.job->cpus.empty() ? "" : " pinned",
              name_of(result.outcome.ending), steps,
              first > 0 ? result.outcome.residuals.back() / first : 0.0, largest_error(result.solution));
  std::printf("  %.6f s a solve (median of %zu), %.2f us an iteration; %s\n", seconds, result.seconds.size(),
              steps > 0 ? seconds / steps * 1e6 : 0.0,
              result.seconds.size() < 2 ? "one solve"
              : result.repeatable       ? "bitwise the same residuals in every solve"
                                        : "the residuals' last bits changed between solves");
  if (report.difference)
    std::printf(
        "  against the serial run: largest relative difference of the residuals %.2e, %d iterations apart: "
        "%s\n  (last bits changed in the serial run's sums: %.2e)\n",
        report.difference->largest, report.difference->iterations_apart,
        report.difference->equal_to_rounding ? "equal to rounding" : "DIFFERENT",
        report.difference->rounding);
}

std::string to_json(const Report& report) {
  const Result& result = *report.result;
  const double seconds = median(result.seconds);
  const int steps = iterations(result);
  const auto of_double = [](double v) { return number(v); };
  const auto of_int = [](int v) { return std::to_string(v); };
  const auto flag = [](bool b) { return b ? "true" : "false"; };
  std::string out = "{\n";
  out += "  \"program\": \"cg\",\n  \"fermata\": " + quoted(fermata_version()) + ",\n";
  out += "  \"matrix\": " + quoted(report.matrix_name) + ",\n";
  out += "  \"rows\": " + std::to_string(report.job->matrix->rows) + ",\n";
  out += "  \"nonzeros\": " + std::to_string(report.job->matrix->nonzeros()) + ",\n";
  out += std::string("  \"method\": \"") + name_of(report.job->method) + "\",\n";
  out += "  \"engine\": " + quoted(report.engine) + ",\n";
  out += "  \"threads\": " + std::to_string(report.job->threads) + ",\n";
  out += "  \"cpus\": " + list(report.job->cpus, of_int) + ",\n";
  out += "  \"tolerance\": " + number(report.job->limits.tolerance) + ",\n";
  out += "  \"ending\": " + quoted(name_of(result.outcome.ending)) + ",\n";
  out += "  \"iterations\": " + std::to_string(steps) + ",\n";
  out += "  \"seconds\": " + list(result.seconds, of_double) + ",\n";
  out += "  \"median_seconds\": " + number(seconds) + ",\n";
  out += "  \"us_per_iteration\": " + number(steps > 0 ? seconds / steps * 1e6 : 0) + ",\n";
  out += std::string("  \"repeatable\": ") + flag(result.repeatable) + ",\n";
  out += "  \"largest_error\": " + number(largest_error(result.solution)) + ",\n";
  if (report.difference) {
    out += "  \"largest_relative_difference\": " + number(report.difference->largest) + ",\n";
    out += "  \"last_bits_changed\": " + number(report.difference->rounding) + ",\n";
    out += "  \"iterations_apart\": " + std::to_string(report.difference->iterations_apart) + ",\n";
    out += std::string("  \"equal_to_rounding\": ") + flag(report.difference->equal_to_rounding) + ",\n";
  }
  out += "  \"residuals\": " + list(result.outcome.residuals, of_double) + "\n}\n";
  return out;
}

}  // namespace cg
