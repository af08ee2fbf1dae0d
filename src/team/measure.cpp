#include "team/measure.hpp"

#include <atomic>
#include <vector>

#include "exec/member.hpp"
#include "team/handles.hpp"
#include "team/workers.hpp"

namespace fermata {
namespace {

using exec::Member;
using exec::PlanSlot;
using exec::Team;

// Programs synchronize because they exchange data. In a loop of calls alone, the members fall into a lasting
// rhythm, often the best one for their lines. The measured time is then too low. So once in kInStep episodes
// each member writes a line before an episode, and reads its neighbour's line after it. Example: an allreduce
// between two cores, with both slots in one line. It takes 66 ns in the rhythm, and 100 ns if data disturb
// it. With a pause between two checks of the slot, it takes 69 ns with the same data.
constexpr std::int64_t kInStep = 256;
struct alignas(kMaxLine) Cell {
  std::atomic<std::int64_t> value[2];  // by parity: a member may be one exchange ahead
};

struct Timing : SharedState {
  std::atomic<std::uint32_t> ready{0};  // members
  std::atomic<std::int64_t> episodes{0};
  std::atomic<std::int64_t> ns{0};
  std::atomic<std::int64_t> seen{0};  // sum of the cells' values, so that the compiler keeps the reads

  Cell* cells() {
    return reinterpret_cast<Cell*>(reinterpret_cast<std::byte*>(this) + round_up(sizeof(Timing), kMaxLine));
  }
  static std::size_t bytes(std::uint32_t members) {
    return round_up(sizeof(Timing), kMaxLine) + members * sizeof(Cell);
  }
};

// Calls the functions that programs call: a schedule's cost depends on its callers' work between two signals.
Status one_episode(fermata_member& handle, const ProgramHeader& program) {
  Member& m = *handle.member;
  double values[7] = {1, 2, 3, 4, 5, 6, 7};
  const std::uint32_t count = program.payload > 8 ? 7 : 1;
  switch (static_cast<Collective>(program.collective)) {
    case Collective::kBarrier: return m.barrier(handle.first_signals);
    case Collective::kBroadcast: return m.broadcast(values, count * 8, 0);
    case Collective::kReduce: return m.reduce(values, values, count, Type::kDouble, Op::kMax, 0);
    case Collective::kAllreduce:
      if (m.repeats(handle.first_signals, count, static_cast<unsigned>(Type::kDouble),
                    static_cast<unsigned>(Op::kMax)))
        return m.allreduce_again(handle.first_signals, values, values);
      return m.allreduce(values, values, count, Type::kDouble, Op::kMax);
    default: return Status::kArgument;
  }
}

constexpr std::int64_t kMeetNs = 5'000'000'000;

// Waits until all members have started. Otherwise, where a member's calls do not wait for the others, a batch
// that counts would include the wait for a late member.
void meet(Timing& timing, std::uint32_t members) {
  timing.ready.fetch_add(1, std::memory_order_relaxed);  // order: relaxed throughout: only the time matters
  const std::int64_t end = os::now_ns() + kMeetNs;
  while (timing.ready.load(std::memory_order_relaxed) < members &&  // order: see above
         timing.failed.load(std::memory_order_relaxed) == 0 &&      // order: see above
         os::now_ns() < end)
    os::yield();
}

// Each member runs batches, each four times as long as the one before, until rank 0's batch took long enough.
// After each batch, rank 0 stores the batch's length, negative if it was the last one. The others wait for
// that.
void work(Team* team, const ProgramHeader& program, std::uint32_t rank, std::int32_t cpu, Timing& timing) {
  const char* detail = "";
  Member* member = nullptr;
  if (cpu >= 0) os::pin_thread(cpu);
  Status status = Member::join(team, rank, &member, &detail);
  if (status == Status::kOk) {
    member->waiter().settings.timeout_ns = 5'000'000'000;
    fermata_member handle{};
    handle.hold(member);
    std::int64_t seen = 0;
    meet(timing, program.members);
    constexpr std::int64_t kFirst = 64;  // this batch never counts, since threads are still starting
    constexpr std::int64_t kMost = 1 << 20;
    for (std::int64_t batch = kFirst; batch <= kMost && status == Status::kOk; batch *= 4) {
      const std::int64_t start = os::now_ns();
      for (std::int64_t e = 0; e < batch && status == Status::kOk; ++e) {
        const bool exchange = e % kInStep == 0;
        const std::int64_t parity = e / kInStep % 2;
        // order: relaxed at both: only the line's movement matters
        if (exchange) timing.cells()[rank].value[parity].store(e, std::memory_order_relaxed);
        status = one_episode(handle, program);
        // order: relaxed: see above
        if (exchange)
          seen += timing.cells()[(rank + 1) % program.members].value[parity].load(std::memory_order_relaxed);
      }
      if (status != Status::kOk) break;
      if (rank == 0) {
        const std::int64_t took = os::now_ns() - start;
        timing.ns.store(took, std::memory_order_relaxed);  // order: relaxed: read after all have ended
        const bool enough = took >= 2'000'000 && batch > kFirst;
        // order: relaxed: only the number matters; negative: this batch was the last
        timing.episodes.store(enough ? -batch : batch, std::memory_order_relaxed);
      } else {
        std::int64_t said;
        // order: relaxed: see rank 0's store
        while ((said = timing.episodes.load(std::memory_order_relaxed)) != batch && said != -batch) {
          // order: relaxed: it is only a flag to give up
          if (timing.failed.load(std::memory_order_relaxed) != 0) break;
          os::yield();
        }
      }
      // Rank 0 must not store another length before all have read this one: a member that missed one would
      // wait above for ever. A barrier's next batch needs all members. A broadcast's next batch needs them if
      // it has more episodes than the plan has slots.
      if (timing.episodes.load(std::memory_order_relaxed) < 0) break;  // order: relaxed: see rank 0's store
    }
    timing.seen.fetch_add(seen, std::memory_order_relaxed);  // order: relaxed: no thread reads it
  }
  if (status != Status::kOk) timing.fail(*team, rank, status);
  if (member != nullptr) member->leave();
}

Result<double> measure(const std::vector<std::byte>& blob, const PlanKey& key, int) {
  const auto& program = program_header(blob.data());
  if (!key.cpus.empty() && key.cpus.size() != program.members)
    return Error{Status::kArgument, "one CPU per member is needed to measure"};
  exec::TeamOptions options;
  options.members = program.members;
  options.shared = key.engine == Engine::kProcesses;
  const PlanSlot slot = exec::slot_for(static_cast<Collective>(program.collective), program.payload);
  options.programs[static_cast<int>(slot)] = blob.data();
  Team* team = nullptr;
  const char* detail = "";
  const Status made = Team::create(options, &team, &detail);
  if (made != Status::kOk) return Error{made, std::string("measuring: ") + detail};
  const probe::SharedMemory shared(Timing::bytes(program.members));
  auto* const times = shared.at<Timing>(0);
  const auto failed = run_members(key.engine, *team, shared, program.algorithm, [&](std::uint32_t rank) {
    work(team, program, rank, key.cpus.empty() ? -1 : key.cpus[rank], *times);
  });
  team->release();
  if (failed) return *failed;
  const Timing& timing = *times;
  const std::int64_t episodes = -timing.episodes.load(std::memory_order_relaxed);    // order: all have ended
  const double ns = static_cast<double>(timing.ns.load(std::memory_order_relaxed));  // order: as above
  return ns / static_cast<double>(episodes < 0 ? -episodes : episodes);
}

}  // namespace

Measure measure_on_this_machine() { return measure; }

}  // namespace fermata
