// Operations on blocks of any size: one member's walk through a block program (exec/block_program.hpp).
//
// Blocks travel in pieces through ring buffers, one ring per directed edge. Each piece has a line in the
// ring, which carries a tag of the call. How the piece itself travels:
//   up to 48 bytes  on the line
//   more            in a circular buffer after the lines, in pieces of at most a quarter of the buffer and
//                   at most kMostPiece bytes: so writing and reading overlap, and memory is bounded
//   large           by single copy (BlockCall::direct_from): the line carries the address and its owner, and
//                   the reader copies or folds from there. From another process the kernel copies
//                   (process_vm_readv)
//
// A ring has several lines, so that short calls can follow each other without an answer. If a single copy
// from another process fails, or the reader uses none, the reader refuses the piece. From then on that ring
// carries no addresses.
//
// Between two hosts each host has a copy of the ring, at the same offset. The sender's port writes lines and
// buffer into the receiver's copy; the receiver's port writes credits into the sender's. A line is a message
// there, so transfers of an edge in one stage share a line if they fit on it. The sender chooses where a
// longer piece lies in the buffer, and the line says it. The end of a long transfer may go from memory to
// memory (blocks_long.cpp).
#ifndef FERMATA_EXEC_BLOCKS_HPP
#define FERMATA_EXEC_BLOCKS_HPP

#include <cstddef>
#include <cstdint>

#include "base/line.hpp"
#include "base/sizes.hpp"
#include "base/status.hpp"
#include "exec/block_program.hpp"
#include "exec/channel.hpp"
#include "exec/team.hpp"
#include "sync/ring.hpp"

namespace fermata::exec {

// A bit of the tag: the line carries no data, but an address, or between hosts it announces a long message.
inline constexpr std::uint64_t kByAddress = std::uint64_t{1} << 63;
inline constexpr std::size_t kLeastLong = std::size_t{128} << 10;  // bytes of a long message between hosts
inline constexpr std::size_t kBounce = 65536;  // bytes that a fold reads from another process at a time
// bytes read from another process between two checks whether the team is broken
inline constexpr std::size_t kMostSingleCopy = 1024 * 1024;

// out[i] = left[i] op right[i]; out may be left or right.
using BlockFold = void (*)(void* context, void* out, const void* left, const void* right, std::size_t count);

// The blocks of one side. counts and displacements are in elements, one per block. Null: all blocks have
// `count` elements and lie one after the other.
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
  std::uint64_t tag = 0;  // of this call, 63 bits
  // Single copy: for transfers of at least so many bytes, within a host, whose data the stage does not
  // overwrite. Between processes their size must also be in single_copy; [1] is for a send that is alone
  // (Work::alone).
  std::size_t direct_from = 0;
  Sizes single_copy[2];
  const Team* team = nullptr;  // null: a test drives the members by hand, in one process
  os::ProcessMemory home;      // this process; {} in a team of threads
  // a block may be longer or shorter at its sender; the receiver drops what does not fit
  bool bounded = false;
  // Between hosts: the bytes at the begin of a transfer that go through the ring, if the rest goes by a long
  // message. SIZE_MAX: none does.
  std::size_t before_long = SIZE_MAX;
  std::uint64_t bytes = 0;  // of each block, if all have the same length; else 0
  // kBounce bytes; null: this member refuses single copy from another process
  std::byte* bounce = nullptr;
};

class BlockOperation {
 public:
  // What advance() needs for each transfer. The caller provides program.transfer_count of them.
  struct Work {
    std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::byte* ring = nullptr;
    Channel::End* end = nullptr;
    std::size_t elements = 0;  // elements to move
    std::size_t room = 0;      // elements that this member's arguments allow: a receive writes no more
    std::size_t done = 0;      // elements moved so far
    // a send by single copy: the piece that carries the address; 0: not sent yet, or refused
    std::uint64_t announced = 0;
    std::uint32_t after = 0;  // 1 + the transfer before it on its edge in this stage; 0: none
    std::uint32_t after_fold =
        0;  // a receive: 1 + the one before it in this stage with the same `to`; 0: none
    // A receive: sends of this stage read exactly the memory that it writes. It writes each part only after
    // they have sent that part.
    bool follows = false;
    // A receive: a send of this stage reads memory that overlaps the memory that it writes, but is not the
    // same. The input must be a copy.
    bool shifted = false;
    bool overwritten = false;  // a send: receives of this stage write memory that it reads
    bool alone = false;        // a send: this member sends and receives nothing else in this stage
    bool away = false;         // the peer is on another host
    bool joined = false;       // the next transfer on its edge shares its line; only between hosts
    std::uint8_t at_byte = 0;  // where its data begin on a shared line
    // A send: how many pieces ahead it prefetches the place of a piece; 0: it does not.
    std::uint8_t ahead = 0;
    std::uint16_t in_buffer = 0;  // bytes of that place in the buffer
    std::size_t in_long = 0;      // elements at the end that go by a long message, once it is announced
    std::uint64_t long_id = 0;    // its id at the port; 0: not begun, or over
    std::byte* apart = nullptr;   // a receive: the memory to which the message goes; null: to its place
    std::int64_t missed_ns = 0;   // when lacks() first missed the message; 0: not yet
    bool waits_for_long() const { return in_long != 0 && done + in_long >= elements; }
  };

  // space: program.space_blocks blocks of space_elements elements each.
  void prepare(const BlockProgram& program, const BlockCall& call, Channel* channel, Work* work,
               std::byte* space, std::size_t space_elements);
  void restart();  // back to the beginning, for the next use
  // True if a stage would overwrite data that it has not sent yet. That can happen if output and input share
  // memory. Then the input must be a copy.
  bool needs_copy() const;

  // Moves what can be moved now, but stops after about `most` bytes. A local transfer is moved whole. True:
  // over, or status() is an error. Calls bell(rank) to ring doorbells.
  template <class Bell>
  bool advance(Bell&& bell, std::size_t most = SIZE_MAX);
  bool has_moved() const { return moved_; }  // in the last advance()
  // True if the operation is over, or if advance() could move something now. For parking.
  bool ready() const;
  // The peer of the present stage's first unfinished send or receive; this member's own rank if there is
  // none.
  std::uint32_t awaited() const;
  // Bytes that this stage still has to move.
  std::size_t open_bytes() const;
  bool is_prepared() const { return program_ != nullptr; }
  // Also true if status() is an error.
  bool over() const { return stage_ == program_->stage_count || status_ != Status::kOk; }
  Status status() const { return status_; }
  const BlockCall& call() const { return call_; }
  void set_tag(std::uint64_t tag) { call_.tag = tag; }
  bool truncated() const { return truncated_; }  // some elements were dropped
  // Ends the operation: its result came in another way.
  void end(bool truncated) {
    stage_ = program_->stage_count;
    truncated_ = truncated;
  }
  // Long messages have begun that are not over.
  bool has_messages() const { return messages_ != 0; }
  // The operation has failed: gives up its long messages. end_messages() waits until that time (os::now_ns())
  // for those that the port still uses. Call give_up_messages() for all operations that fail before.
  void give_up_messages() { end_messages(0); }
  void end_messages(std::int64_t until);
  // The port may still use the operation's buffers, and its space.
  bool has_left_messages() const { return has_left_; }
  void forget_mismatch() { status_ = Status::kOk; }  // the piece belonged to another call
  // Ends the operation with kMismatch: member `foreigner` made another call.
  void fail(std::uint32_t foreigner) {
    foreigner_ = foreigner;
    their_bytes_ = 0;
    status_ = Status::kMismatch;
  }
  bool untouched() const;  // nothing was sent or received yet
  // True if this stage still has to send to `rank` or to receive from it.
  bool works_with(std::uint32_t rank) const;
  // True if a transfer of this stage needs something from `rank` that has not come. Data that a member sent
  // before it left count as come, even if they cannot be taken yet. Call it only once that member is gone.
  bool lacks(std::uint32_t rank) const;
  // True if other members may be reading a block of this member.
  bool uses_single_copy() const;
  // The length of a block in another member's call, from the tag of a piece that has arrived. Used if that
  // member's status line cannot be read, since it is on another host, or no longer has the call. 0: no piece
  // has arrived, or it is of another call. `tag`: this member's tag for the call.
  static std::uint64_t length_come(const Channel& channel, const BlockEdge& edge, std::uint64_t tag);
  std::uint32_t foreigner() const { return foreigner_; }  // after kMismatch: the member whose tag differed
  // After kMismatch: the other member's block size in bytes. 0: it is not known, its call also differs in
  // something else, or the blocks of this call differ in size.
  std::uint64_t their_bytes() const { return their_bytes_; }

 private:
  std::byte* line(const Work& w) const { return channel_->line(w.ring, w.end->next); }
  // The two ends of an edge compute the same tag if the call and the size of the block are the same.
  std::uint64_t tag_of(const Work& w) const {
    return (call_.tag + (call_.bytes != 0 ? call_.bytes : w.elements)) << 1 >> 1;
  }
  bool has_room(const Work& w, bool direct, std::uint64_t& credit_seen) const;
  std::uint64_t* last_in_parts(const Work& w) const;
  std::size_t free_part(const Work& w, std::uint64_t& credit_seen) const;
  bool has_room_away(const Work& w, std::size_t bytes, std::uint64_t& credit_seen) const;
  std::uint64_t room_away_for(const Work& w, std::size_t bytes) const;
  const std::byte* come_from_away(const Work& w, std::size_t bytes, bool* enters_part) const;
  void look_ahead(Work& w, bool both_ways) const;
  void fetch_ahead(const Work& w) const;
  struct Range {
    std::byte* at;
    std::size_t elements;
  };
  Range locate(const BlockTransfer& transfer, const BlockAt& at) const;
  void relate(const BlockStage& stage);
  void join_lines(const BlockStage& stage);
  bool is_done(std::uint32_t t) const { return work_[t].done == work_[t].elements; }
  // True if it is the next transfer on its edge.
  bool is_next(std::uint32_t t) const { return work_[t].after == 0 || is_done(work_[t].after - 1); }
  template <class Predicate>
  bool any_open(Predicate&& holds) const;
  std::size_t piece_elements(const Work& w) const;
  std::size_t limit(const BlockStage& stage, std::uint32_t t) const;
  // True for a team of threads. Then an address means the same to all members, and no other process can write
  // one. In a team of processes the kernel reads even this process's own memory, because the address may come
  // from another process.
  bool one_process() const { return call_.home.word == 0; }
  bool goes_direct(const Work& w) const;
  bool was_refused(Work& w) const;
  // kTold: the peer can go on now, so ring its doorbell. kQuietly: it need not know, or is on another host.
  enum class Moved : std::uint8_t { kNothing, kQuietly, kTold };
  bool may_move(const BlockStage& stage, std::uint32_t t) const;
  bool could_move(const BlockStage& stage, std::uint32_t t) const;
  bool peer_has_acted(std::uint32_t t) const;
  Moved move(const BlockStage& stage, std::uint32_t t);
  Moved send(std::uint32_t transfer);
  Moved send_away(std::uint32_t transfer);
  std::size_t copy_joined(std::uint32_t transfer, std::byte* line);
  std::size_t elements_in_long(const Work& w) const;
  bool begin_to_send_long(const BlockTransfer& transfer, Work& w, net::Line& line);
  bool begin_to_receive_long(const BlockTransfer& transfer, Work& w, const std::uint64_t* words);
  bool long_is_over(const Work& w) const;
  bool lacks_long(std::uint32_t transfer) const;
  Moved finish_long(std::uint32_t transfer);
  void forget_long(Work& w);
  void give_credit_away(const BlockTransfer& transfer, const Work& w, std::uint64_t piece) const;
  void write(const Work& w, const std::byte* from, std::size_t bytes) const;
  std::byte* room_for(const Work& w, std::size_t bytes) const;
  Moved receive(const BlockStage& stage, std::uint32_t transfer);
  Moved end_piece(const BlockTransfer& transfer, Work& w, bool at_once) const;
  Moved receive_direct(const BlockTransfer& transfer, Work& w, std::size_t limit);
  bool take_single_copy(const BlockTransfer& transfer, Work& w, const os::ProcessMemory& owner,
                        const std::byte* from, std::size_t elements);
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
  bool has_left_ = false;
  std::uint32_t messages_ = 0;  // transfers with a long message that is not over
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
