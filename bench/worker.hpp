// The process of one subject: it reads orders from a socket, runs batches, and answers each with one number.
#ifndef FERMATA_BENCH_WORKER_HPP
#define FERMATA_BENCH_WORKER_HPP

#include <memory>
#include <string>
#include <string_view>

#include "bench/subject.hpp"

namespace fermata::bench {

inline constexpr int kWorkerSocket = 3;  // the descriptor on which a worker finds its socket

// Answer to an order. `length` bytes of text follow it: why there is no number. The very first order is not
// run; the text of its answer is version '\0' description, or why the subject cannot run.
struct Reply {
  enum Verdict : std::int32_t { kGood = 0, kWrong = 1, kUnavailable = 2, kFailed = 3 };
  std::int32_t verdict = kGood;
  std::uint32_t length = 0;
  // per episode: period, latency (the batch's median), or the time added to the reference
  double value_ns = 0;
  double elapsed_ns = 0;        // of the whole batch with warm-up; calibration uses it
  double reference_ns = 0;      // what was subtracted, per episode
  std::uint64_t episodes = 0;   // that ran, with warm-up; fewer than ordered if they took too long
  double cpu_ns = 0;            // CPU time of all members, per episode
  double switches = 0;          // of the scheduler, per episode and member
  Counts counts = kNotCounted;  // per episode and member
};
static_assert(std::is_trivially_copyable_v<Reply>);

bool send_all(int descriptor, const void* data, std::size_t bytes);
bool receive_all(int descriptor, void* data, std::size_t bytes);

// Serves until the socket closes, the subject cannot run, or an exception is thrown. It answers with every
// error and prints none.
void serve(int descriptor, const Case& c, Subject& subject);

// Arguments of the worker executables: --subject NAME --collective K --engine E --members N --bytes B
// --roots rotating --cpus LIST.
struct WorkerArguments {
  std::string subject;
  Case what;
  std::string member;  // --member TEXT: for a recruited member, from its host
};
WorkerArguments parse_worker_arguments(int argc, char** argv);
// worker_main is the main function of the worker executables. It returns 2 if `make` returns null.
using MakeByName = std::unique_ptr<Subject> (*)(std::string_view name);
int worker_main(int argc, char** argv, MakeByName make);
std::vector<std::string> worker_arguments(std::string_view subject, const Case& c);

}  // namespace fermata::bench
#endif
