// Operations on blocks of any size: one member's walk through a block program (exec/block_program.hpp).
//
// Pieces travel through rings, a ring per directed edge: a line for each, with up to 48 bytes on it; more in a circular buffer behind
// the lines, long ones cut to a quarter of it, so that writing and reading overlap and memory is bounded however long the block. Lines
// are many, so that short calls which nobody answers stream. Long pieces are not copied in: the line carries their address and whose it
// is, and the reader copies or folds from where they lie; out of another process by one copy of the kernel's. Where that fails the reader
// refuses the piece, and from then on the edge's pieces go through the ring. Every line says which call it is of.
//
// Of a ring between members on two hosts each host has one, at the same offset. Lines, and what lies in the buffer, are written by the
// sender's port into the receiver's; credits by the receiver's port into the sender's. All else is the same.
#ifndef FERMATA_EXEC_BLOCKS_HPP
#define FERMATA_EXEC_BLOCKS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/line.hpp"
#include "base/sizes.hpp"
#include "base/status.hpp"
#include "exec/block_program.hpp"
#include "exec/team.hpp"
#include "sync/ring.hpp"

namespace fermata::exec {

inline constexpr std::uint64_t kLeastRingLines = 4, kMostRingLines = 128;  // powers of two
// Of crowded teams, whose members get as far as they have room in each turn on a CPU: calls that don't synchronize share its switch. By
// members per CPU, so that the turns of all of them stay well below what makes a yield dear (sync/wait.hpp).
inline constexpr std::uint64_t kMostCrowdedLines = 512, kLinesOfACpu = 1024;
inline constexpr std::size_t kRingLine = 64;
inline constexpr std::uint64_t kRingQuarters = 4;  // of the buffer behind the lines
// Of the rings that members share, where there is room: a stream that is four pieces long stops at each (1 MiB, two processes: 126 us with
// quarters of a piece each, 75 so).
inline constexpr std::size_t kMostInQuarter = 65536;
inline constexpr std::size_t kOnLine = 48;  // bytes of a piece beside header and tag
using fermata::kMostPiece;
static_assert(kMostPiece <= net::kMostBlock && kRingLine == (1 + net::kLineWords) * 8);
inline constexpr std::size_t kBounce = 65536;          // bytes that a fold takes from another process at a time
inline constexpr std::size_t kMostLent = 1024 * 1024;  // bytes read from another process before others get their turn

// Where the rings of one channel lie in a team's segment, and how far this member is with each. Operations that share a channel run
// in the same order at all members.
struct Channel {
  struct End {
    std::uint64_t next = 1;  // piece to write, or to await
    std::uint64_t credit_seen = 0;
    std::uint64_t place = 0;                    // bytes of the buffer handed out so far, lap after lap
    std::uint64_t last_in[kRingQuarters] = {};  // the sender's: piece that was last written into each quarter
    bool refused = false;                       // the receiver can't read this process's memory
  };
  std::byte* base = nullptr;
  std::uint64_t lines = kLeastRingLines;
  std::size_t in_quarter = 0;  // bytes of a quarter of the buffer; 0: lines only
  std::uint32_t members = 0;   // not 0: a ring for each pair, and this member's ends; 0: a ring and two ends for every edge of one program
  End* ends = nullptr;

  static constexpr std::size_t ring_bytes(std::uint64_t lines, std::size_t in_quarter) {
    return round_up(kMaxLine + lines * kRingLine + kRingQuarters * in_quarter, kMaxLine);
  }
  static constexpr std::size_t ends_of(std::uint32_t members) { return 2 * std::size_t{members}; }
  // Makes rings that lie where others did as new.
  static void clear(std::byte* base, std::uint64_t lines, std::size_t in_quarter, std::size_t rings);
  // Bytes of the longest piece.
  std::size_t most() const { return in_quarter > kMostPiece ? kMostPiece : in_quarter > kOnLine ? in_quarter : kOnLine; }
  std::byte* ring(const BlockEdge& edge, std::uint32_t number) const {
    return base + (members != 0 ? std::size_t{edge.from} * members + edge.to : number) * ring_bytes(lines, in_quarter);
  }
  std::byte* line(std::byte* ring, std::uint64_t piece) const { return ring + kMaxLine + (piece & (lines - 1)) * kRingLine; }
  // Where the next piece lies in the buffer, in one part, as `place` counts. Both ends find the same.
  struct Extent {
    std::uint64_t start = 0, end = 0;
  };
  Extent extent_of(std::uint64_t place, std::size_t bytes) const {
    const std::uint64_t room = kRingQuarters * in_quarter;
    const std::uint64_t size = round_up(bytes, kRingLine);
    const std::uint64_t left = room - place % room;
    const std::uint64_t start = size <= left ? place : place + left;
    return {start, start + size};
  }
  std::byte* at(std::byte* ring, std::uint64_t start) const {
    return ring + kMaxLine + lines * kRingLine + start % (kRingQuarters * in_quarter);
  }
  // A member may send to itself.
  End* end(const BlockEdge& edge, std::uint32_t number, bool receives) const {
    if (members == 0) return &ends[2 * number + (receives ? 1 : 0)];
    return &ends[receives ? members + edge.from : edge.to];
  }
};

// out[i] = left[i] op right[i]; out may be left or right.
using BlockFold = void (*)(void* context, void* out, const void* left, const void* right, std::size_t count);

// One side's blocks. counts and displacements in elements, one per block; null: all `count`, one behind the other.
struct BlockBuffer {
  std::byte* base = nullptr;
  std::size_t count = 0;
  const std::size_t* counts = nullptr;
  const std::size_t* displacements = nullptr;
};

struct BlockCall {
  BlockBuffer input, output;
  std::size_t element = 1;  // bytes
  BlockFold fold = nullptr;
  void* context = nullptr;
  std::uint64_t tag = 0;        // of this call; 63 bits
  std::size_t direct_from = 0;  // bytes from which pieces go by address: in a team of threads all,
  Sizes lent[2];                // in one of processes these: base/sizes.hpp
  const Team* team = nullptr;   // null: none; the members are driven by hand, in one process
  os::Lender home;              // this one; {} in a team of threads
  bool bounded = false;         // a block has its sender's length, and its receiver drops what it has no room for
  std::uint64_t bytes = 0;      // of each block, where all have the same length
  std::byte* bounce = nullptr;  // kBounce bytes; null: pieces that come by another process's address are refused
};

class BlockOperation {
 public:
  // What advance() needs per transfer; the caller provides program.transfer_count of them.
  struct Work {
    std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::byte* ring = nullptr;
    Channel::End* end = nullptr;
    std::size_t elements = 0;      // as many as travel
    std::size_t room = 0;          // as many as this member's arguments say: what a receive may write
    std::size_t done = 0;          // elements
    std::uint64_t announced = 0;   // a direct send: the piece that carries the address; 0: not sent yet
    std::uint32_t after = 0;       // 1 + the transfer before it on its edge in this stage; 0: none
    std::uint32_t after_fold = 0;  // a receive: 1 + the one before it in this stage with the same result
    bool follows = false;          // a receive: sends of this stage read just what it writes: it stays behind them
    bool shifted = false;          // a receive: sends of this stage read some of what it writes, and more: it cannot be run like this
    bool overwritten = false;      // a send: this stage writes what it reads
    bool alone = false;            // a send: this member has nothing else to move in this stage
    bool away = false;             // the peer is on another host
    std::uint8_t ahead = 0;        // a send: how many pieces before it is written a piece's place is asked for; 0: it isn't
    std::uint16_t in_buffer = 0;   // and how much of that is in the buffer
  };

  // space: program.space_blocks blocks of space_elements elements.
  void prepare(const BlockProgram& program, const BlockCall& call, Channel* channel, Work* work, std::byte* space,
               std::size_t space_elements);
  void restart();
  // A stage writes what it still sends, as may happen where output and input are the same memory: the input must be a copy.
  bool needs_copy() const;

  // Does what can be done now, though not much more than `most` bytes of it. True: over, or status() is an error. Rings doors by
  // bell(rank).
  template <class Bell>
  bool advance(Bell&& bell, std::size_t most = SIZE_MAX);
  bool has_moved() const { return moved_; }  // in the last advance()
  // Could advance() do something now? For parking.
  bool ready() const;
  // The member that the first unfinished transfer is with; its own rank if none.
  std::uint32_t awaited() const;
  // What is to be moved by it and those it works with before its stage is over.
  std::size_t open_bytes() const;
  bool is_prepared() const { return program_ != nullptr; }
  bool over() const { return stage_ == program_->stage_count || status_ != Status::kOk; }
  Status status() const { return status_; }
  const BlockCall& call() const { return call_; }
  void set_tag(std::uint64_t tag) { call_.tag = tag; }
  bool truncated() const { return truncated_; }  // dropped something
  // Its result came some other way.
  void end(bool truncated) {
    stage_ = program_->stage_count;
    truncated_ = truncated;
  }
  void forget_mismatch() { status_ = Status::kOk; }  // it was another call's
  void fail(std::uint32_t foreigner) {
    foreigner_ = foreigner;
    their_bytes_ = 0;
    status_ = Status::kMismatch;
  }
  bool untouched() const;  // nothing was sent yet, nor taken
  bool works_with(std::uint32_t rank) const;
  // Does a transfer with `rank` need something of it that is not there? What has come from a member that left will do, even if it can't
  // be taken yet.
  bool lacks(std::uint32_t rank) const;
  // Is a block of this member's where others may be reading it?
  bool lends() const;
  // Over several hosts what another member said of its call can't be read. What has come of its call with this tag shows how long a block
  // is there; 0: nothing has, or it is another call's.
  static std::uint64_t length_come(const Channel& channel, const BlockEdge& edge, std::uint64_t tag);
  std::uint32_t foreigner() const { return foreigner_; }  // of a kMismatch: whose tag was another one
  // Of a kMismatch: bytes of a block as that one has them, where its call is the same but for that; 0: it isn't.
  std::uint64_t their_bytes() const { return their_bytes_; }

 private:
  std::byte* line(const Work& w) const { return channel_->line(w.ring, w.end->next); }
  // Both ends of an edge have the same: of the same call, and a block of the same size.
  std::uint64_t tag_of(const Work& w) const { return (call_.tag + (call_.bytes != 0 ? call_.bytes : w.elements)) << 1 >> 1; }
  bool has_room(const Work& w, bool direct, std::uint64_t& credit_seen) const;
  void look_ahead(Work& w, bool both_ways) const;
  void fetch_ahead(const Work& w) const;
  struct Range {
    std::byte* at;
    std::size_t elements;
  };
  Range locate(const BlockTransfer& transfer, const BlockAt& at) const;
  void relate(const BlockStage& stage);
  bool is_done(std::uint32_t t) const { return work_[t].done == work_[t].elements; }
  // On its edge.
  bool is_next(std::uint32_t t) const { return work_[t].after == 0 || is_done(work_[t].after - 1); }
  template <class Predicate>
  bool any_open(Predicate&& holds) const;
  std::size_t piece_elements(const Work& w) const;
  std::size_t limit(const BlockStage& stage, std::uint32_t t) const;
  // All members, so that an address means the same to each, and nobody else writes where it stands. Those of a team of processes read even
  // their own process's memory by the kernel: another member may have written the address.
  bool one_process() const { return call_.home.word == 0; }
  bool goes_direct(const Work& w) const;
  bool was_refused(Work& w) const;
  enum class Moved : std::uint8_t { kNothing, kQuietly, kTold };  // kTold: the peer may go on
  bool may_move(const BlockStage& stage, std::uint32_t t) const;
  bool could_move(const BlockStage& stage, std::uint32_t t) const;
  bool peer_has_acted(std::uint32_t t) const;
  Moved move(const BlockStage& stage, std::uint32_t t);
  Moved send(const BlockTransfer& transfer, Work& w);
  Moved send_away(const BlockTransfer& transfer, Work& w);
  void give_credit_away(const BlockTransfer& transfer, const Work& w, std::uint64_t piece) const;
  void put(const Work& w, std::byte* line, const std::byte* from, std::size_t bytes) const;
  std::byte* room_for(const Work& w, std::size_t bytes) const;
  Moved receive(const BlockStage& stage, std::uint32_t transfer);
  Moved receive_direct(const BlockTransfer& transfer, Work& w, std::size_t limit);
  bool take_lent(const BlockTransfer& transfer, Work& w, const os::Lender& lender, const std::byte* from, std::size_t elements);
  static std::uint64_t length_in(std::uint64_t tag, std::uint64_t of_call);
  bool takes_length_of(Work& w, std::uint64_t tag) const;
  std::size_t kept(const Work& w, std::size_t elements);
  void take(const BlockTransfer& transfer, Work& w, const std::byte* theirs, std::size_t elements);
  void spend(std::size_t bytes) { left_ -= bytes < left_ ? bytes : left_; }

  const BlockProgram* program_ = nullptr;
  BlockCall call_;
  Channel* channel_ = nullptr;
  Work* work_ = nullptr;
  std::byte* space_ = nullptr;
  std::size_t space_elements_ = 0;
  std::uint32_t stage_ = 0;
  Status status_ = Status::kOk;
  std::uint32_t foreigner_ = 0;
  std::uint64_t their_bytes_ = 0;
  std::size_t left_ = 0;  // bytes that this advance() may still move
  bool moved_ = false;
  bool truncated_ = false;
};

template <class Bell>
bool BlockOperation::advance(Bell&& bell, std::size_t most) {
  left_ = most;
  moved_ = false;
  while (!over()) {
    const BlockStage& stage = program_->stages[stage_];
    bool moved = false;
    bool all = true;
    for (std::uint32_t t = stage.first; t < stage.first + stage.count && status_ == Status::kOk; ++t) {
      for (Moved m; !is_done(t) && left_ != 0 && (m = move(stage, t)) != Moved::kNothing; moved = true)
        if (m == Moved::kTold) bell(program_->transfers[t].peer);
      all = all && is_done(t);
    }
    moved_ = moved_ || moved;
    if (all) ++stage_;
    else if (!moved || left_ == 0) return status_ != Status::kOk;
  }
  return true;
}

}  // namespace fermata::exec
#endif
