// A plan's schedule among the ranks of a simulated MPI job: who signals whom, in which stage, and what each
// signal carries. A signal to another host is one MPI message with the bytes that libfermata-net would send;
// a signal on one host is a store in shared memory (local.hpp).
#ifndef FERMATA_BENCH_SMPI_REPLAY_HPP
#define FERMATA_BENCH_SMPI_REPLAY_HPP

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "bench/smpi/local.hpp"
#include "plan/plan.hpp"

namespace fermata::smpi {

// What one rank does in a stage, in the schedule's order.
struct Signal {
  std::uint32_t line = 0;  // number of the transfer in the schedule
  std::int32_t peer = 0;
  bool is_local = false, combines = false;
  bool has_data = false;
  std::uint8_t reg = 0;  // the register that is sent, or the one that it goes into
};
struct RankStage {
  std::vector<Signal> sent, awaited;
};

// The steps of all ranks. One for all ranks of the process, since SMPI runs them all in it.
struct Replay {
  Collective collective = Collective::kBarrier;
  std::vector<std::vector<RankStage>> ranks;
};
// Error: kUnsupported if the schedule has words, or more than a line carries.
Result<Replay> replay_of(const Plan& plan);

class Member {
 public:
  Member(HostMemory& host, std::int32_t core, std::int32_t rank) : local_(host, core), rank_(rank) {}

  // One call of the collective. `episode` grows with each call, over all plans. Returns register 0.
  std::uint64_t call(const Replay& replay, std::uint64_t episode, std::uint64_t contribution);

 private:
  void send(const Signal& signal, std::uint64_t episode, std::uint64_t value);
  std::uint64_t receive(const Signal& signal, std::uint64_t episode);

  LocalMember local_;
  const std::int32_t rank_;
  std::unordered_map<std::uint64_t, std::uint64_t> early_;  // messages that have come before they are awaited
};

}  // namespace fermata::smpi
#endif
