// The compiled form of a schedule whose data are blocks of any size: what one member sends, receives and copies, stage by stage. Plain
// data, private to a process: every member's process makes its own from the same schedule.
//
// A block is what one member contributes or gets: a vector of `count` elements (or counts[block] of them). A block may be cut into pieces,
// which travel apart: piece p of n is the elements [p count / n, (p + 1) count / n). A transfer moves one piece of one block.
//
// Where a piece lies at a member:
//   kInput   in the call's input, at `index` of its blocks; never written
//   kOutput  in the call's output
//   kSpace   in space of the operation's own, of block_count blocks that are as large as the largest; index counts from 0
// Blocks of an input or output: one, or `members`, by rank. What a kind has:
//   kind             input                        output
//   broadcast        root 1                       others 1 (the root: its input is its output)
//   reduce           1                            root 1
//   allreduce, scan, exscan  1                    1
//   gather           1                            root P
//   scatter          root P                       1
//   allgather        1                            P
//   reduce_scatter   P                            1
//   alltoall         P                            P
#ifndef FERMATA_EXEC_BLOCK_PROGRAM_HPP
#define FERMATA_EXEC_BLOCK_PROGRAM_HPP

#include <cstddef>
#include <cstdint>

#include "base/kind.hpp"

namespace fermata {

enum class BlockPlace : std::uint8_t { kInput = 0, kOutput, kSpace };

struct BlockAt {
  BlockPlace place = BlockPlace::kInput;
  std::uint32_t index = 0;  // of its blocks there
  bool operator==(const BlockAt&) const = default;
};

enum class BlockCode : std::uint8_t {
  kSend = 0,      // from -> the peer
  kReceive,       // the peer's -> to
  kReceiveLeft,   // to = the peer's op from
  kReceiveRight,  // to = from op the peer's
  // Here, before all that this stage receives.
  kCopy,  // to = from
  kFold,  // to = from op to
};

constexpr bool is_local(BlockCode code) { return code >= BlockCode::kCopy; }
constexpr bool is_receive(BlockCode code) { return code != BlockCode::kSend && !is_local(code); }

// Sends read what their place held when the stage began. Receives of a stage that share `to` are done in list order, for that is the
// order of the fold; if part by part, then every part in it. All others, and all sends, go on independently, those of one edge in list
// order; whoever held them up for one another could wait for ever. An edge may lead from a member to itself: its own value, folded at
// its place in the list.
struct BlockTransfer {
  BlockCode code = BlockCode::kSend;
  // Of a receive: this stage also sends what `to` holds, so each part of it may be overwritten only when it was sent.
  bool after_sends = false;
  std::uint32_t peer = 0;
  std::uint32_t edge = 0;   // in BlockProgram::edges
  BlockAt from;             // kSend and what is local: the source; kReceiveLeft, kReceiveRight: this member's own operand (may be `to`)
  BlockAt to;               // of all but sends: where the result goes
  std::uint32_t block = 0;  // number of the block (schedule/contents.hpp), whose size it has where it lies in space
  std::uint32_t piece = 0;
  std::uint32_t pieces = 1;
};

struct BlockStage {
  std::uint32_t first = 0;  // in BlockProgram::transfers
  std::uint32_t count = 0;  // sends and what is local first, then receives, each kind in the schedule's order
};

struct BlockEdge {
  std::uint32_t from = 0, to = 0;
  bool operator==(const BlockEdge&) const = default;
};

// Bytes of a piece from which it is not copied into a slot but read where it lies. Between threads an address and its acknowledgement
// cost two line moves: to copy so much costs more. Between processes it is a copy by the kernel, a call that looks up every page, where
// the ring lets both CPUs copy at the same time; which sizes that is for is measured (cost_model.cpp), and none if it was not.
inline constexpr int kLog2DirectFrom = 11;
inline constexpr std::size_t kDirectFrom = std::size_t{1} << kLog2DirectFrom;
inline constexpr int kLog2LentFrom = 14;          // never less
inline constexpr std::size_t kMostPiece = 16384;  // bytes of one that goes through a ring (to another host: net/net.hpp)

// One member's program. Transfers between two members happen in the same order at both.
struct BlockProgram {
  Kind kind = Kind::kBarrier;
  std::uint32_t members = 1;
  std::uint32_t rank = 0;
  std::uint32_t root = 0;
  std::uint32_t space_blocks = 0;
  std::uint32_t stage_count = 0;
  std::uint32_t transfer_count = 0;
  std::uint32_t edge_count = 0;  // of the whole schedule, the same list at every member: where the rings lie
  const BlockStage* stages = nullptr;
  const BlockTransfer* transfers = nullptr;
  const BlockEdge* edges = nullptr;
};

}  // namespace fermata
#endif
