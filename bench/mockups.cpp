// Mock-ups and guidelines. Source of most of the list: Träff, Gropp, Thakur, Self-Consistent MPI Performance
// Guidelines, IEEE TPDS 21(5), 2010. Mock-ups are timed as one piece, as a program would call them: Hunold,
// Carpen-Amarie, Lübbe, Träff, Automatic Verification of Self-Consistent MPI Performance Guidelines, Euro-Par
// 2016.
#include "bench/mockups.hpp"

#include <algorithm>
#include <vector>

#include "bench/team_subject.hpp"

namespace fermata::bench {
namespace {

constexpr int kType = FERMATA_DOUBLE, kOp = FERMATA_SUM, kRoot = 0;

std::size_t bytes(std::size_t count) { return count * sizeof(double); }

int barrier_allreduce(const MockCall& c, const double*, double*) {
  double one = 1;
  return fermata_allreduce(c.member, &one, &one, 1, kType, kOp);
}

// The buffer of a broadcast. The root's contribution is never written to.
double* broadcast_buffer(const MockCall& c, const double* in, double* out) {
  return c.rank == kRoot ? const_cast<double*>(in) : out;
}

int broadcast_scatter_allgather(const MockCall& c, const double* in, double* out) {
  const std::size_t part = c.count / static_cast<std::size_t>(c.members);
  double* const data = broadcast_buffer(c, in, out);
  double* const mine = data + static_cast<std::size_t>(c.rank) * part;
  void* const place = c.rank == kRoot ? FERMATA_IN_PLACE : mine;
  if (const int status = fermata_scatter(c.member, in, place, part, kType, kRoot)) return status;
  return fermata_allgather(c.member, FERMATA_IN_PLACE, data, part, kType);
}

int broadcast_halves(const MockCall& c, const double* in, double* out) {
  double* const data = broadcast_buffer(c, in, out);
  const std::size_t half = c.count / 2;
  if (const int status = fermata_broadcast(c.member, data, bytes(half), kRoot)) return status;
  return fermata_broadcast(c.member, data + half, bytes(c.count - half), kRoot);
}

int reduce_allreduce(const MockCall& c, const double* in, double* out) {
  return fermata_allreduce(c.member, in, out, c.count, kType, kOp);
}

int reduce_scatter_gather(const MockCall& c, const double* in, double* out) {
  const std::size_t part = c.count / static_cast<std::size_t>(c.members);
  if (const int status = fermata_reduce_scatter(c.member, in, c.scratch, part, kType, kOp)) return status;
  return fermata_gather(c.member, c.scratch, out, part, kType, kRoot);
}

int reduce_halves(const MockCall& c, const double* in, double* out) {
  const std::size_t half = c.count / 2;
  if (const int status = fermata_reduce(c.member, in, out, half, kType, kOp, kRoot)) return status;
  return fermata_reduce(c.member, in + half, out + half, c.count - half, kType, kOp, kRoot);
}

int allreduce_reduce_broadcast(const MockCall& c, const double* in, double* out) {
  if (const int status = fermata_reduce(c.member, in, out, c.count, kType, kOp, kRoot)) return status;
  return fermata_broadcast(c.member, out, bytes(c.count), kRoot);
}

int allreduce_reduce_scatter_allgather(const MockCall& c, const double* in, double* out) {
  const std::size_t part = c.count / static_cast<std::size_t>(c.members);
  double* const mine = out + static_cast<std::size_t>(c.rank) * part;
  if (const int status = fermata_reduce_scatter(c.member, in, mine, part, kType, kOp)) return status;
  return fermata_allgather(c.member, FERMATA_IN_PLACE, out, part, kType);
}

int allreduce_halves(const MockCall& c, const double* in, double* out) {
  const std::size_t half = c.count / 2;
  if (const int status = fermata_allreduce(c.member, in, out, half, kType, kOp)) return status;
  return fermata_allreduce(c.member, in + half, out + half, c.count - half, kType, kOp);
}

int gather_allgather(const MockCall& c, const double* in, double* out) {
  return fermata_allgather(c.member, in, out, c.count, kType);
}

int scatter_broadcast(const MockCall& c, const double* in, double* out) {
  const auto n = static_cast<std::size_t>(c.members);
  double* const whole = c.rank == kRoot ? const_cast<double*>(in) : c.scratch;
  if (const int status = fermata_broadcast(c.member, whole, bytes(n * c.count), kRoot)) return status;
  std::copy_n(whole + static_cast<std::size_t>(c.rank) * c.count, c.count, out);
  return FERMATA_OK;
}

int allgather_gather_broadcast(const MockCall& c, const double* in, double* out) {
  if (const int status = fermata_gather(c.member, in, out, c.count, kType, kRoot)) return status;
  return fermata_broadcast(c.member, out, bytes(static_cast<std::size_t>(c.members) * c.count), kRoot);
}

int allgather_broadcasts(const MockCall& c, const double* in, double* out) {
  std::copy_n(in, c.count, out + static_cast<std::size_t>(c.rank) * c.count);
  for (int root = 0; root < c.members; ++root) {
    if (const int status =
            fermata_broadcast(c.member, out + static_cast<std::size_t>(root) * c.count, bytes(c.count), root))
      return status;
  }
  return FERMATA_OK;
}

int allgather_alltoall(const MockCall& c, const double* in, double* out) {
  for (int r = 0; r < c.members; ++r)
    std::copy_n(in, c.count, c.scratch + static_cast<std::size_t>(r) * c.count);
  return fermata_alltoall(c.member, c.scratch, out, c.count, kType);
}

int reduce_scatter_reduce_scatter(const MockCall& c, const double* in, double* out) {
  const std::size_t whole = static_cast<std::size_t>(c.members) * c.count;
  if (const int status = fermata_reduce(c.member, in, c.scratch, whole, kType, kOp, kRoot)) return status;
  return fermata_scatter(c.member, c.scratch, out, c.count, kType, kRoot);
}

int reduce_scatter_allreduce(const MockCall& c, const double* in, double* out) {
  const std::size_t whole = static_cast<std::size_t>(c.members) * c.count;
  if (const int status = fermata_allreduce(c.member, in, c.scratch, whole, kType, kOp)) return status;
  std::copy_n(c.scratch + static_cast<std::size_t>(c.rank) * c.count, c.count, out);
  return FERMATA_OK;
}

int alltoall_scatters(const MockCall& c, const double* in, double* out) {
  for (int root = 0; root < c.members; ++root) {
    double* const block = out + static_cast<std::size_t>(root) * c.count;
    if (const int status = fermata_scatter(c.member, in, block, c.count, kType, root)) return status;
  }
  return FERMATA_OK;
}

int scan_exscan(const MockCall& c, const double* in, double* out) {
  if (const int status = fermata_exscan(c.member, in, out, c.count, kType, kOp)) return status;
  if (c.rank == 0) {
    std::copy_n(in, c.count, out);
  } else {
    for (std::size_t i = 0; i < c.count; ++i) out[i] += in[i];
  }
  return FERMATA_OK;
}

constexpr Mockup kMockups[] = {
    {Collective::kBarrier, "allreduce(1)", false, barrier_allreduce},
    {Collective::kBroadcast, "scatter + allgather", true, broadcast_scatter_allgather},
    {Collective::kBroadcast, "2 halves", false, broadcast_halves},
    {Collective::kReduce, "allreduce", false, reduce_allreduce},
    {Collective::kReduce, "reduce_scatter + gather", true, reduce_scatter_gather},
    {Collective::kReduce, "2 halves", false, reduce_halves},
    {Collective::kAllreduce, "reduce + broadcast", false, allreduce_reduce_broadcast},
    {Collective::kAllreduce, "reduce_scatter + allgather", true, allreduce_reduce_scatter_allgather},
    {Collective::kAllreduce, "2 halves", false, allreduce_halves},
    {Collective::kGather, "allgather", false, gather_allgather},
    {Collective::kScatter, "broadcast of the whole", false, scatter_broadcast},
    {Collective::kAllgather, "gather + broadcast", false, allgather_gather_broadcast},
    {Collective::kAllgather, "n broadcasts", false, allgather_broadcasts},
    {Collective::kAllgather, "alltoall", false, allgather_alltoall},
    {Collective::kReduceScatter, "reduce + scatter", false, reduce_scatter_reduce_scatter},
    {Collective::kReduceScatter, "allreduce of the whole", false, reduce_scatter_allreduce},
    {Collective::kAlltoall, "n scatters", false, alltoall_scatters},
    {Collective::kScan, "exscan + sum", false, scan_exscan},
};

class Mock final : public TeamSubject {
 public:
  explicit Mock(const Mockup& mockup) : mockup_(mockup) {}

  std::string prepare(const Case& c, Arena& arena) override {
    if (mockup_.divides && c.doubles() % c.members != 0)
      return std::to_string(c.doubles()) + " doubles cannot be divided among " + std::to_string(c.members) +
             " members";
    scratch_.resize(static_cast<std::size_t>(c.members));
    return TeamSubject::prepare(c, arena);
  }

  void work(int rank, Turn& turn) override {
    std::vector<double>& scratch = scratch_[static_cast<std::size_t>(rank)];
    const auto count = static_cast<std::size_t>(turn.doubles);
    scratch.resize(count * static_cast<std::size_t>(turn.members));
    const MockCall call{member_of(rank), rank, turn.members, count, scratch.data()};
    if (turn.collective == Collective::kBarrier) {
      run_calls(rank, turn, [&] { return mockup_.call(call, nullptr, nullptr); });
    } else {
      run_calls(rank, turn, [&](const double* in, double* out) { return mockup_.call(call, in, out); });
    }
  }

 private:
  const Mockup& mockup_;
  std::vector<std::vector<double>> scratch_;
};

}  // namespace

std::span<const Mockup> mockups() { return kMockups; }
std::unique_ptr<Subject> make_mockup(const Mockup& mockup) { return std::make_unique<Mock>(mockup); }

}  // namespace fermata::bench
