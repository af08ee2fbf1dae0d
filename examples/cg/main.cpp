// cg: solves A x = A x* for a known x* by a Krylov method, with A from a Matrix Market file.
#include <sched.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

#include "engines.hpp"
#include "matrix_market.hpp"
#include "report.hpp"

namespace {

constexpr const char* kUsage =
    "cg --matrix FILE [options]: solves a sparse system by conjugate gradient or a related method\n"
    "  --matrix FILE      Matrix Market, coordinate real|integer general|symmetric\n"
    "  --method NAME      cg (default), pipelined (cg whose sums overlap the product), or bicgstab, for\n"
    "                     matrices that are not symmetric positive definite\n"
    "  --engine NAME      fermata (default), openmp or serial\n"
    "  --threads N        members (default 2; serial: 1)\n"
    "  --iterations K     at most K iterations (default 1000)\n"
    "  --tolerance T      limit of |r|/|b| (default 1e-10)\n"
    "  --repeats R        solves of the same system by the same threads (default 1)\n"
    "  --pin              one CPU for each thread, if there are enough\n"
    "  --no-check         do not compare with a serial run\n"
    "  --json FILE        write all results as JSON\n"
    "Exit status: 0 solved and equal to the serial run to rounding, 1 not, 2 bad arguments or file.\n";

struct Options {
  std::string matrix, engine = "fermata", json;
  cg::Job job;
  bool pin = false, check = true;
};

struct BadUsage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
T number(const char* option, const char* text, T least) {
  T value{};
  const char* const end = text + std::strlen(text);
  const auto [at, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || at != end || !(value >= least))
    throw BadUsage(std::string(option) + ": '" + text + "' is not a number in range");
  return value;
}

cg::Method method(const std::string& name) {
  for (const auto known : {cg::Method::kConjugateGradient, cg::Method::kPipelinedCg, cg::Method::kBicgstab})
    if (name == cg::name_of(known)) return known;
  throw BadUsage("--method must be cg, pipelined or bicgstab");
}

Options parse(int count, char** words) {
  Options o;
  o.job.threads = 2;
  for (int i = 1; i < count; ++i) {
    const std::string option = words[i];
    if (option == "--pin") {
      o.pin = true;
    } else if (option == "--no-check") {
      o.check = false;
    } else if (i + 1 == count) {
      throw BadUsage("unknown option, or its value is missing: " + option);
    } else if (option == "--matrix") {
      o.matrix = words[++i];
    } else if (option == "--method") {
      o.job.method = method(words[++i]);
    } else if (option == "--engine") {
      o.engine = words[++i];
    } else if (option == "--json") {
      o.json = words[++i];
    } else if (option == "--threads") {
      o.job.threads = number<int>("--threads", words[++i], 1);
    } else if (option == "--iterations") {
      o.job.limits.iterations = number<int>("--iterations", words[++i], 0);
    } else if (option == "--tolerance") {
      o.job.limits.tolerance = number<double>("--tolerance", words[++i], 0.0);
    } else if (option == "--repeats") {
      o.job.repeats = number<int>("--repeats", words[++i], 1);
    } else {
      throw BadUsage("unknown option " + option);
    }
  }
  if (o.matrix.empty()) throw BadUsage("--matrix is needed");
  if (o.engine != "fermata" && o.engine != "openmp" && o.engine != "serial")
    throw BadUsage("--engine must be fermata, openmp or serial");
  if (o.engine == "serial") o.job.threads = 1;
  return o;
}

// The first CPUs that this process may use, one for each thread; none if there are too few.
std::vector<int> cpus_for(int threads) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE && static_cast<int>(cpus.size()) < threads; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  if (static_cast<int>(cpus.size()) < threads) cpus.clear();
  return cpus;
}

int run(const Options& options) {
  const cg::Matrix matrix = cg::read_matrix_market(options.matrix);
  const bool any = options.job.method == cg::Method::kBicgstab;
  const std::string why = any ? cg::why_no_jacobi(matrix) : cg::why_not_spd(matrix);
  if (!why.empty())
    throw std::runtime_error(options.matrix + (any ? ": " : ": not symmetric positive definite: ") + why);
  cg::Job job = options.job;
  job.matrix = &matrix;

  std::optional<cg::Result> serial, nudged;
  if (options.check && options.engine != "serial") {
    cg::Job alone = job;
    alone.threads = alone.repeats = 1;
    serial = cg::run_serial(alone);
    nudged = cg::run_nudged(alone);
  }
  if (options.pin) job.cpus = cpus_for(job.threads);
  const cg::Result result = options.engine == "serial"   ? cg::run_serial(job)
                            : options.engine == "openmp" ? cg::run_openmp(job)
                                                         : cg::run_fermata(job);
  cg::Report report;
  report.matrix_name = options.matrix.substr(options.matrix.find_last_of('/') + 1);
  report.engine = options.engine;
  report.job = &job;
  report.result = &result;
  if (serial)
    report.difference =
        cg::compare(result.outcome.residuals, serial->outcome.residuals, nudged->outcome.residuals);
  cg::print(report);
  if (!options.json.empty()) {
    std::ofstream out(options.json);
    out << cg::to_json(report);
    if (!out.flush()) throw std::runtime_error("cannot write " + options.json);
  }
  const bool solved = result.outcome.ending == cg::Ending::kConverged;
  return solved && (!report.difference || report.difference->equal_to_rounding) ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  if (count > 1 && (std::strcmp(words[1], "--help") == 0 || std::strcmp(words[1], "-h") == 0)) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  try {
    return run(parse(count, words));
  } catch (const BadUsage& e) {
    std::fprintf(stderr, "cg: %s\n%s", e.what(), kUsage);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cg: %s\n", e.what());
  }
  return 2;
}
