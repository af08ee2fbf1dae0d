// Runs collectives on blocks for the planner. It calls them as programs do, with the candidate's compiled
// program in place of the chosen one.
#include <atomic>
#include <new>

#include "os/os.hpp"
#include "schedule/verify.hpp"
#include "team/calls.hpp"
#include "team/measure.hpp"
#include "team/team.hpp"
#include "team/workers.hpp"

namespace fermata {
namespace {

using namespace team;

// Rounds of the first batch. This batch never counts, since pages and ring buffers are still cold.
constexpr std::int64_t kFirst = 4;
constexpr std::int64_t kMost = 1 << 18;
constexpr std::int64_t kLongEnough = 3'000'000;  // ns
constexpr std::int64_t kTimeout = 10'000'000'000;

struct Timing : SharedState {
  std::atomic<std::int64_t> batch{0};  // rank 0's: rounds of the batch; negative: another batch follows
  std::atomic<std::int64_t> with_ns{0}, without_ns{0};
};

struct Subject {
  const Schedule& schedule;
  Verified proof;
  const PlanKey& key;
  std::size_t bytes;
  fermata_team* team;
};

// A barrier before each call lets all members arrive together, since the prediction begins at the last
// arrival. The time of the barriers alone is measured in the same way, and subtracted.
int rounds(fermata_member* member, const Plain* operation, std::int64_t count) {
  for (std::int64_t r = 0; r < count; ++r) {
    int status = barrier(member);
    if (status == FERMATA_OK && operation != nullptr) status = call(member, *operation);
    if (status != FERMATA_OK) return status;
  }
  return barrier(member);
}

int run_batches(fermata_member* member, std::uint32_t rank, const Plain& operation, Timing& timing) {
  for (std::int64_t batch = kFirst; batch <= kMost; batch *= 4) {
    int status = barrier(member);
    const std::int64_t start = os::now_ns();
    if (status == FERMATA_OK) status = rounds(member, &operation, batch);
    const std::int64_t middle = os::now_ns();
    if (status == FERMATA_OK) status = rounds(member, nullptr, batch);
    if (rank == 0) {
      const std::int64_t end = os::now_ns();
      const bool last = batch > kFirst && (middle - start >= kLongEnough || batch * 4 > kMost);
      timing.with_ns.store(middle - start, std::memory_order_relaxed);       // order: read after the end
      timing.without_ns.store(end - middle, std::memory_order_relaxed);      // order: as above
      timing.batch.store(last ? batch : -batch, std::memory_order_relaxed);  // order: the barrier orders it
    }
    if (status == FERMATA_OK) status = barrier(member);
    if (status != FERMATA_OK) return status;
    if (timing.batch.load(std::memory_order_relaxed) > 0) return status;  // order: after the barrier
  }
  return FERMATA_OK;
}

int work_as(fermata_member* member, std::uint32_t rank, const Subject& subject, Timing& timing) {
  const bool doubles = subject.bytes % sizeof(double) == 0;
  const auto blocks = static_cast<std::size_t>(subject.key.members);
  const std::unique_ptr<std::byte[]> in(new (std::nothrow) std::byte[blocks * subject.bytes]());
  const std::unique_ptr<std::byte[]> out(new (std::nothrow) std::byte[blocks * subject.bytes]());
  if (in == nullptr || out == nullptr) return FERMATA_ERR_MEMORY;
  const Plain operation{.collective = static_cast<int>(subject.schedule.collective),
                        .type = doubles ? FERMATA_DOUBLE : FERMATA_UINT8,
                        .op = FERMATA_SUM,
                        .root = 0,
                        .in = in.get(),
                        .out = out.get(),
                        .count = doubles ? subject.bytes / sizeof(double) : subject.bytes};
  Checked checked;
  if (const int bad = check(member, operation_of(operation), &checked); bad != FERMATA_OK) return bad;
  auto program = compile_blocks(subject.schedule, static_cast<std::int32_t>(rank), subject.proof);
  if (!program) return fail(program.error());
  blocks_of(member).programs[key_of(checked, 0)] =
      std::make_shared<const CompiledBlocks>(std::move(*program));
  member->member->waiter().settings.timeout_ns = kTimeout;
  return run_batches(member, rank, operation, timing);
}

void work(std::uint32_t rank, const Subject& subject, Timing& timing) {
  if (!subject.key.cpus.empty()) os::pin_thread(subject.key.cpus[rank]);
  fermata_member* member = nullptr;
  const int status = guarded([&] {
    const int joined = join(subject.team, static_cast<int>(rank), false, &member);
    return joined == FERMATA_OK ? work_as(member, rank, subject, timing) : joined;
  });
  if (status != FERMATA_OK) timing.fail(*subject.team->team, rank, static_cast<Status>(status));
  if (member != nullptr) leave(member);
}

Result<double> measure(const Schedule& schedule, const PlanKey& key, std::size_t bytes, int) {
  const auto proof = verify(schedule, algebra_of(schedule.collective));
  if (!proof) return proof.error();
  TeamRequest request;
  request.members = key.members;
  request.engine = key.engine;
  request.cpus = key.cpus;
  fermata_team* team = nullptr;
  if (const int made = make_team(request, &team); made != FERMATA_OK)
    return Error{static_cast<Status>(made), "measuring: no team"};
  const Subject subject{schedule, *proof, key, bytes, team};
  const probe::SharedMemory shared(sizeof(Timing));
  auto* const times = shared.at<Timing>(0);
  const auto failed = run_members(key.engine, *team->team, shared, schedule.algorithm,
                                  [&](std::uint32_t rank) { work(rank, subject, *times); });
  destroy(team);
  if (failed) return *failed;
  const Timing& timing = *times;
  const auto batch =
      static_cast<double>(timing.batch.load(std::memory_order_relaxed));  // order: all have ended
  const auto with = static_cast<double>(timing.with_ns.load(std::memory_order_relaxed));  // order: as above
  // order: as above
  const auto without = static_cast<double>(timing.without_ns.load(std::memory_order_relaxed));
  if (batch <= 0) return Error{Status::kSystem, "measuring " + schedule.algorithm + ": a member failed"};
  constexpr double kLeast = 1;  // ns; the noise of the barrier's time is larger
  return std::max(kLeast, (with - without) / batch);
}

}  // namespace

BlockMeasure measure_blocks_on_this_machine() { return measure; }

}  // namespace fermata
