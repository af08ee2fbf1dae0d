#include "bench/smpi/replay.hpp"

#include <mpi.h>

#include "net/mpi/wire.hpp"

namespace fermata::smpi {
namespace {

constexpr int kTag = 7;

std::uint64_t key_of(std::uint64_t line, std::uint64_t episode) { return episode << 32 | line; }

}  // namespace

Result<Replay> replay_of(const Plan& plan) {
  const Schedule& s = plan.schedule;
  if (!s.words.empty() || s.chunks > 1)
    return Error{Status::kUnsupported, s.algorithm + " has shared words, or data that is cut: not replayed"};
  const auto host = [&](std::int32_t rank) {
    return plan.key.hosts.empty() ? 0 : plan.key.hosts[static_cast<std::size_t>(rank)];
  };
  Replay out;
  out.collective = s.collective;
  out.ranks.resize(static_cast<std::size_t>(s.members));
  std::uint32_t line = 0;
  for (const Stage& stage : s.stages) {
    std::vector<bool> begun(static_cast<std::size_t>(s.members), false);
    const auto stage_of = [&](std::int32_t rank) -> RankStage& {
      const auto r = static_cast<std::size_t>(rank);
      if (!begun[r]) out.ranks[r].emplace_back();
      begun[r] = true;
      return out.ranks[r].back();
    };
    for (const Transfer& t : stage.transfers) {
      const bool data = t.action != Action::kSignal, folds = t.action == Action::kCombine;
      const bool local = host(t.from) == host(t.to);
      stage_of(t.from).sent.push_back({line, t.to, local, folds, data, t.src_reg});
      stage_of(t.to).awaited.push_back({line, t.from, local, folds, data, t.dst_reg});
      ++line;
    }
  }
  return out;
}

std::uint64_t Member::call(const Replay& replay, std::uint64_t episode, std::uint64_t contribution) {
  std::uint64_t regs[kMaxScheduleRegisters] = {contribution};
  for (const RankStage& stage : replay.ranks[static_cast<std::size_t>(rank_)]) {
    for (const Signal& signal : stage.sent) send(signal, episode, regs[signal.reg]);
    for (const Signal& signal : stage.awaited) {
      const std::uint64_t value = receive(signal, episode);
      if (!signal.has_data) continue;
      regs[signal.reg] = signal.combines ? regs[signal.reg] + value : value;
    }
  }
  return regs[0];
}

// A signal to itself costs nothing: the value that the member held when the stage began.
void Member::send(const Signal& signal, std::uint64_t episode, std::uint64_t value) {
  if (signal.peer == rank_) {
    early_[key_of(signal.line, episode)] = value;
    return;
  }
  if (signal.is_local) return local_.store(signal.line, episode, value);
  local_.end_stage();
  fermata_line line{};
  line.header = episode;
  line.offset = signal.line;
  line.to = line.rank = static_cast<std::uint32_t>(signal.peer);
  line.words = signal.has_data ? 1 : 0;
  line.payload[0] = value;
  unsigned char message[net::Wire::kMostHead];
  const std::size_t bytes = net::Wire::encode(line, 0, nullptr, message);
  MPI_Send(message, static_cast<int>(bytes), MPI_BYTE, signal.peer, kTag, MPI_COMM_WORLD);
}

// Messages are taken in the order in which they come, whatever is awaited, as a port takes them.
std::uint64_t Member::receive(const Signal& signal, std::uint64_t episode) {
  if (signal.is_local && signal.peer != rank_) return local_.await(signal.line, episode);
  for (;;) {
    if (const auto come = early_.find(key_of(signal.line, episode)); come != early_.end()) {
      const std::uint64_t value = come->second;
      early_.erase(come);
      return value;
    }
    unsigned char message[net::Wire::kMostHead];
    MPI_Status status;
    MPI_Recv(message, sizeof message, MPI_BYTE, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &status);
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    net::Letter letter;
    if (!net::Wire::decode(message, static_cast<std::size_t>(bytes), letter)) MPI_Abort(MPI_COMM_WORLD, 1);
    early_[key_of(letter.line.offset, letter.line.header)] = letter.line.payload[0];
  }
}

}  // namespace fermata::smpi
