// The internal enumerations have the numbers of the public header: src/api casts between them.
#include <fermata/fermata.h>

#include <string_view>

#include "base/collective.hpp"
#include "base/status.hpp"

namespace fermata {
namespace {

constexpr bool same(Status a, fermata_status b) { return static_cast<int>(a) == static_cast<int>(b); }
static_assert(same(Status::kOk, FERMATA_OK) && same(Status::kPending, FERMATA_PENDING));
static_assert(same(Status::kArgument, FERMATA_ERR_ARGUMENT) && same(Status::kMemory, FERMATA_ERR_MEMORY));
static_assert(same(Status::kSystem, FERMATA_ERR_SYSTEM) && same(Status::kTimeout, FERMATA_ERR_TIMEOUT));
static_assert(same(Status::kMemberLost, FERMATA_ERR_MEMBER_LOST) &&
              same(Status::kMismatch, FERMATA_ERR_MISMATCH));
static_assert(same(Status::kBroken, FERMATA_ERR_BROKEN) && same(Status::kParse, FERMATA_ERR_PARSE));
static_assert(same(Status::kUnsupported, FERMATA_ERR_UNSUPPORTED) &&
              same(Status::kForked, FERMATA_ERR_FORKED));
static_assert(same(Status::kBusy, FERMATA_ERR_BUSY) && same(Status::kInterrupted, FERMATA_ERR_INTERRUPTED));
static_assert(same(Status::kVerify, FERMATA_ERR_VERIFY) && same(Status::kNotFound, FERMATA_ERR_NOT_FOUND));

// The rows of the public table of collectives.
constexpr bool same(Collective a, fermata_collective b) { return static_cast<int>(a) == static_cast<int>(b); }
constexpr bool is_row(int collective, std::string_view name) { return rules_of(collective).name == name; }
static_assert(same(Collective::kBroadcast, FERMATA_BROADCAST) && is_row(FERMATA_BROADCAST, "broadcast"));
static_assert(same(Collective::kReduce, FERMATA_REDUCE) && is_row(FERMATA_REDUCE, "reduce"));
static_assert(same(Collective::kAllreduce, FERMATA_ALLREDUCE) && is_row(FERMATA_ALLREDUCE, "allreduce"));
static_assert(same(Collective::kGather, FERMATA_GATHER) && is_row(FERMATA_GATHER, "gather"));
static_assert(same(Collective::kScatter, FERMATA_SCATTER) && is_row(FERMATA_SCATTER, "scatter"));
static_assert(same(Collective::kAllgather, FERMATA_ALLGATHER) && is_row(FERMATA_ALLGATHER, "allgather"));
static_assert(same(Collective::kReduceScatter, FERMATA_REDUCE_SCATTER) &&
              is_row(FERMATA_REDUCE_SCATTER, "reduce_scatter"));
static_assert(same(Collective::kAlltoall, FERMATA_ALLTOALL) && is_row(FERMATA_ALLTOALL, "alltoall"));
static_assert(same(Collective::kScan, FERMATA_SCAN) && is_row(FERMATA_SCAN, "scan"));
static_assert(same(Collective::kExscan, FERMATA_EXSCAN) && is_row(FERMATA_EXSCAN, "exscan"));
static_assert(same(Collective::kBarrier, FERMATA_BARRIER) && is_row(FERMATA_BARRIER, "barrier"));
static_assert(kCollectiveCount == FERMATA_EXSCAN + 1);

constexpr bool same(Type a, fermata_type b) { return static_cast<int>(a) == static_cast<int>(b); }
static_assert(same(Type::kInt32, FERMATA_INT32) && same(Type::kInt64, FERMATA_INT64));
static_assert(same(Type::kUint32, FERMATA_UINT32) && same(Type::kUint64, FERMATA_UINT64));
static_assert(same(Type::kFloat, FERMATA_FLOAT) && same(Type::kDouble, FERMATA_DOUBLE));
static_assert(same(Type::kInt8, FERMATA_INT8) && same(Type::kUint8, FERMATA_UINT8));
static_assert(same(Type::kInt16, FERMATA_INT16) && same(Type::kUint16, FERMATA_UINT16));
static_assert(same(Type::kHalf, FERMATA_HALF) && same(Type::kBfloat16, FERMATA_BFLOAT16));
static_assert(same(Type::kFloatInt, FERMATA_FLOAT_INT) && same(Type::kDoubleInt, FERMATA_DOUBLE_INT));
static_assert(same(Type::kInt32Int, FERMATA_INT32_INT) && same(Type::kInt64Int, FERMATA_INT64_INT));
static_assert(same(Type::kInt16Int, FERMATA_INT16_INT));

constexpr bool same(Op a, fermata_op b) { return static_cast<int>(a) == static_cast<int>(b); }
static_assert(same(Op::kSum, FERMATA_SUM) && same(Op::kProd, FERMATA_PROD) && same(Op::kMin, FERMATA_MIN));
static_assert(same(Op::kMax, FERMATA_MAX) && same(Op::kAnd, FERMATA_AND) && same(Op::kOr, FERMATA_OR));
static_assert(same(Op::kXor, FERMATA_XOR) && same(Op::kLand, FERMATA_LAND) && same(Op::kLor, FERMATA_LOR));
static_assert(same(Op::kMinloc, FERMATA_MINLOC) && same(Op::kMaxloc, FERMATA_MAXLOC));

static_assert(kLinePayload == FERMATA_MAX_PAYLOAD);

}  // namespace
}  // namespace fermata
