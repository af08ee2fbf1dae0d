// The compiled form of a schedule for blocks of any size: what one member sends, receives, folds and copies,
// stage by stage. It is plain data, private to a process. Each member compiles its own program, all from the
// same schedule.
//
// A member gives and gets blocks. A block can be cut into pieces, which travel apart: piece p of n of a block
// with `count` elements is the elements [p count / n, (p + 1) count / n), both bounds rounded down. A
// transfer moves one piece of one block.
//
// Where a piece lies at a member:
//   kInput   in the call's input, at `index` of its blocks; never the target of a transfer
//   kOutput  in the call's output, at `index` of its blocks
//   kSpace   in the operation's own space: space_blocks blocks of the largest size; index counts from 0
//
// An input or output has no block, one, or one for each member, by rank (fermata/collectives.hpp). The input
// of a broadcast's root is its output.
#ifndef FERMATA_EXEC_BLOCK_PROGRAM_HPP
#define FERMATA_EXEC_BLOCK_PROGRAM_HPP

#include <cstddef>
#include <cstdint>

#include "base/collective.hpp"

namespace fermata {

enum class BlockPlace : std::uint8_t { kInput = 0, kOutput, kSpace };

struct BlockAt {
  BlockPlace place = BlockPlace::kInput;
  std::uint32_t index = 0;  // of the block there
  bool operator==(const BlockAt&) const = default;
};

enum class BlockCode : std::uint8_t {
  kSend = 0,      // from -> peer
  kReceive,       // to = the peer's data
  kReceiveLeft,   // to = (the peer's data) op from
  kReceiveRight,  // to = from op (the peer's data)
  // Local, before all receives of the stage.
  kCopy,  // to = from
  kFold,  // to = from op to
};

constexpr bool is_local(BlockCode code) { return code >= BlockCode::kCopy; }
constexpr bool is_receive(BlockCode code) { return code != BlockCode::kSend && !is_local(code); }

// A send reads the data that its place held when the stage began. Receives of a stage that share `to` run in
// list order, which is the order of the fold; if they run part by part, each part keeps this order. Transfers
// of one edge also run in list order, and a receive can wait for sends (after_sends). Other transfers must
// not wait for each other: that could deadlock. An edge can lead from a member to itself, so that its own
// value is folded at its place in the list.
struct BlockTransfer {
  BlockCode code = BlockCode::kSend;
  // A receive: this stage also sends the data in `to`. Each part of `to` may be overwritten only after it was
  // sent. BlockOperation does not read this: it compares addresses (Work::follows).
  bool after_sends = false;
  std::uint32_t peer = 0;
  std::uint32_t edge = 0;  // in BlockProgram::edges
  // kSend, kCopy, kFold: the source; kReceiveLeft, kReceiveRight: this member's operand, which may be `to`
  BlockAt from;
  BlockAt to;  // where the result goes; not for kSend
  // number of the block (schedule/contents.hpp): gives its size if it lies in kSpace
  std::uint32_t block = 0;
  std::uint32_t piece = 0;
  std::uint32_t pieces = 1;
};

struct BlockStage {
  std::uint32_t first = 0;  // in BlockProgram::transfers
  // Sends and local transfers, mixed, then receives. Sends and receives are in the schedule's order; local
  // transfers run in list order.
  std::uint32_t count = 0;
};

struct BlockEdge {
  std::uint32_t from = 0, to = 0;
  bool operator==(const BlockEdge&) const = default;
};

// In a team of threads, a transfer of at least this size goes by single copy: the receiver reads directly
// from the sender's memory. It does not if it goes to another host, or if its stage overwrites the data. An
// address and its acknowledgement cost two transfers of a cache line, which is less than a copy of this size.
// Between processes the kernel copies in a call that looks up every page, while through a ring both CPUs copy
// at the same time. So the sizes for which single copy pays are measured (plan/cost_model.cpp). Without a
// measurement processes use no single copy, except with FERMATA_CMA=1.
inline constexpr int kLog2DirectFrom = 11;
inline constexpr std::size_t kDirectFrom = std::size_t{1} << kLog2DirectFrom;
inline constexpr int kLog2SingleCopyFrom = 14;           // between processes never below this
inline constexpr std::int32_t kMostBlockMembers = 1024;  // members of a team that moves blocks, at most
// A long transfer through a ring is cut again, into smaller pieces. Each takes a line of the ring
// (exec/blocks.hpp). This is the most bytes of such a piece on one host. Between hosts it is the longest
// block that transports accept (net/net.hpp): each message costs system calls, and wakes whoever moves it.
inline constexpr std::size_t kMostPiece = 16384;
// The bytes that fit on a line of a ring. Between hosts, adjacent transfers of an edge share a line if they
// fit: then a stage sends one message, not several.
inline constexpr std::size_t kOnLine = 48;

// One member's program. The two ends of an edge run its transfers in the same order.
struct BlockProgram {
  Collective collective = Collective::kBarrier;
  std::uint32_t members = 1;
  std::uint32_t rank = 0;
  std::uint32_t root = 0;
  std::uint32_t space_blocks = 0;
  std::uint32_t stage_count = 0;
  std::uint32_t transfer_count = 0;
  // of the whole schedule, in the same order at every member: in a channel for this program alone, an edge's
  // index says where its ring lies
  std::uint32_t edge_count = 0;
  const BlockStage* stages = nullptr;
  const BlockTransfer* transfers = nullptr;
  const BlockEdge* edges = nullptr;
};

}  // namespace fermata
#endif
