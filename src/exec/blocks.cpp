#include "exec/blocks.hpp"

#include <string.h>

#include "base/word.hpp"
#include "os/os.hpp"
#include "sync/single_copy.hpp"
#include "sync/stream.hpp"

namespace fermata::exec {
namespace {

using Pieces = Ring<RealAtomics>;
using Counter = std::atomic<std::uint64_t>;

// A line: header | tag | up to 48 bytes, or an address, or nothing if the piece is in the buffer.
constexpr std::size_t kTagAt = 8;
constexpr std::size_t kDataAt = 16;

// What the line of a single-copy piece carries.
struct Offer {
  std::byte* at = nullptr;
  os::ProcessMemory owner;  // owner of the address; {} in a team of threads
};
static_assert(sizeof(Offer) <= kOnLine);

// A refusal lies after the credit. The reader writes it once per ring, before it gives the credit for
// `piece`, so it needs no atomics.
constexpr std::size_t kRefusalAt = 8;
struct Refusal {
  std::uint64_t piece = 0;
  std::uint64_t done = 0;  // elements of its transfer that were read nevertheless
};

Counter& credit_of(std::byte* ring) { return *reinterpret_cast<Counter*>(ring); }
Counter& header_of(std::byte* line) { return *reinterpret_cast<Counter*>(line); }
const Counter& header_of(const std::byte* line) { return *reinterpret_cast<const Counter*>(line); }

// While a Reading exists, the owner of the block waits before it frees the block. A destructor ends the
// reading, because the caller's operator may throw.
class Reading {
 public:
  Reading(const Team& team, std::uint32_t rank)
      : flag_(team.status(rank).reading), allowed_(begin_reading<RealAtomics>(flag_, team.header())) {}
  ~Reading() {
    if (allowed_) end_reading<RealAtomics>(flag_);
  }
  Reading(const Reading&) = delete;
  bool allowed() const { return allowed_; }

 private:
  std::atomic<std::uint32_t>& flag_;
  const bool allowed_;
};

}  // namespace

// Clears only the lines: the buffer is read only after a line's header.
void Channel::clear(std::byte* base, std::uint64_t lines, std::size_t in_quarter, std::size_t rings) {
  for (std::size_t r = 0; r < rings; ++r)
    memset(base + r * ring_bytes(lines, in_quarter), 0, kMaxLine + lines * kRingLine);
}

std::size_t BlockOperation::piece_elements(const Work& w) const {
  const std::size_t most = (w.away ? channel_->most_away() : channel_->most()) / call_.element;
  const std::size_t left = w.elements - w.in_long - w.done;
  return left < most ? left : most;
}

// How many elements a receive may write by now. It proceeds part by part, because members can process
// transfers in different orders, and rings are short.
std::size_t BlockOperation::limit(const BlockStage& stage, std::uint32_t t) const {
  const Work& w = work_[t];
  std::size_t limit = w.after_fold != 0 ? work_[w.after_fold - 1].done : w.elements;
  if (!w.follows) return limit;
  for (std::uint32_t u = stage.first; u < stage.first + stage.count; ++u) {
    const Work& sent = work_[u];
    if (program_->transfers[u].code != BlockCode::kSend || sent.from != w.to || sent.elements == 0) continue;
    if (sent.done < limit) limit = sent.done;
  }
  return limit;
}

bool BlockOperation::may_move(const BlockStage& stage, std::uint32_t t) const {
  if (is_done(t) || !is_next(t)) return false;
  return !is_receive(program_->transfers[t].code) || limit(stage, t) > work_[t].done;
}

BlockOperation::Moved BlockOperation::move(const BlockStage& stage, std::uint32_t t) {
  if (!may_move(stage, t)) return Moved::kNothing;
  const BlockTransfer& x = program_->transfers[t];
  Work& w = work_[t];
  if (w.waits_for_long()) [[unlikely]]
    return finish_long(t);
  if (is_local(x.code)) {
    if (x.code == BlockCode::kFold) call_.fold(call_.context, w.to, w.from, w.to, w.elements);
    else if (w.from != w.to) memmove(w.to, w.from, w.elements * call_.element);
    w.done = w.elements;
    spend(w.elements * call_.element);
    return Moved::kQuietly;
  }
  return x.code == BlockCode::kSend ? send(t) : receive(stage, t);
}

bool BlockOperation::goes_direct(const Work& w) const {
  const std::size_t bytes = w.elements * call_.element;
  if (bytes < call_.direct_from || w.overwritten || w.away) return false;
  return one_process() || (call_.single_copy[w.alone ? 1 : 0].has(bytes) && !w.end->refused);
}

BlockOperation::Moved BlockOperation::send(std::uint32_t t) {
  Work& w = work_[t];
  if (w.away) [[unlikely]]
    return send_away(t);
  Channel::End& end = *w.end;
  Counter& credit = credit_of(w.ring);
  if (w.announced != 0) {
    if (!Pieces::was_read(credit, end.credit_seen, w.announced)) return Moved::kNothing;
    if (!was_refused(w)) {
      w.done = w.elements;
      return Moved::kQuietly;
    }
  }
  const bool direct = goes_direct(w);
  if (!has_room(w, direct, end.credit_seen)) return Moved::kNothing;
  std::byte* line = this->line(w);
  const std::uint64_t tag = tag_of(w) | (direct ? kByAddress : 0);
  memcpy(line + kTagAt, &tag, sizeof tag);
  if (direct) {
    const Offer offer{w.from, call_.home};
    memcpy(line + kDataAt, &offer, sizeof offer);
    w.announced = end.next;
  } else {
    const std::size_t elements = piece_elements(w), bytes = elements * call_.element;
    const std::byte* const from = w.from + w.done * call_.element;
    if (bytes <= kOnLine) copy_bytes(line + kDataAt, from, static_cast<std::uint32_t>(bytes));
    else write(w, from, bytes);
    w.done += elements;
    spend(elements * call_.element);
  }
  Pieces::publish(header_of(line), end.next++);
  if (w.ahead != 0) fetch_ahead(w);
  return Moved::kTold;
}

// Writes a piece into the buffer.
void BlockOperation::write(const Work& w, const std::byte* from, std::size_t bytes) const {
  std::byte* const to = room_for(w, bytes);
  if (!kCanPassCaches || bytes < kPastCachesFrom) {
    memcpy(to, from, bytes);
    return;
  }
  CopyChoice& choice = w.end->copies;
  const std::int64_t begin = choice.is_timed() ? os::now_ns() : 0;
  if (choice.is_past_caches()) copy_past_caches(to, from, bytes);
  else memcpy(to, from, bytes);
  choice.count(bytes, begin != 0 ? os::now_ns() - begin : 0);
}

// After a piece was written: prefetches the place of a later piece, if the reader has read that place.
void BlockOperation::fetch_ahead(const Work& w) const {
  const Channel::End& end = *w.end;
  const std::uint64_t between = w.ahead - 1;
  if (end.next + between > end.credit_seen + channel_->lines) return;
  fetch_to_write(channel_->line(w.ring, end.next + between));
  if (w.in_buffer == 0) return;
  const std::byte* const at = channel_->at(w.ring, end.place + between * w.in_buffer);
  for (std::size_t i = 0; i < w.in_buffer; i += kRingLine) fetch_to_write(at + i);
}

// True if there is a line for the next piece, and room in the buffer. The sender enters a quarter again once
// all pieces in it were read.
bool BlockOperation::has_room(const Work& w, bool direct, std::uint64_t& credit_seen) const {
  const Channel::End& end = *w.end;
  const Counter& credit = credit_of(w.ring);
  if (!Pieces::may_write(credit, credit_seen, end.next, channel_->lines)) return false;
  const std::size_t bytes = piece_elements(w) * call_.element;
  if (direct || bytes <= kOnLine) return true;
  if (w.away) [[unlikely]]
    return has_room_away(w, bytes, credit_seen);
  const std::uint64_t quarter = channel_->quarter();
  const Channel::Extent extent = channel_->extent_of(end.place, bytes);
  for (std::uint64_t q = extent.start / quarter; q <= (extent.end - 1) / quarter; ++q)
    if (q * quarter >= end.place && !Pieces::was_read(credit, credit_seen, end.last_in[q % kRingQuarters]))
      return false;
  return true;
}

// Takes room in the buffer for the next piece.
std::byte* BlockOperation::room_for(const Work& w, std::size_t bytes) const {
  Channel::End& end = *w.end;
  const Channel::Extent extent = channel_->extent_of(end.place, bytes);
  end.place = extent.end;
  const std::uint64_t quarter = channel_->quarter();
  for (std::uint64_t q = extent.start / quarter; q <= (extent.end - 1) / quarter; ++q)
    end.last_in[q % kRingQuarters] = end.next;
  return channel_->at(w.ring, extent.start);
}

// True if the reader has refused the single copy. Then the rest goes through the ring.
bool BlockOperation::was_refused(Work& w) const {
  Refusal refusal;
  memcpy(&refusal, w.ring + kRefusalAt, sizeof refusal);
  asm volatile("" : "+m"(refusal));  // others may write to the ring: read it once
  if (refusal.piece != w.announced) return false;
  w.end->refused = true;
  w.announced = 0;
  // a reader that has read everything does not refuse
  w.done = refusal.done < w.elements ? refusal.done : w.elements;
  return true;
}

BlockOperation::Moved BlockOperation::receive(const BlockStage& stage, std::uint32_t t) {
  const BlockTransfer& x = program_->transfers[t];
  Work& w = work_[t];
  Channel::End& end = *w.end;
  const std::byte* line = this->line(w);
  if (!Pieces::has_come(header_of(line), end.next)) return Moved::kNothing;
  std::uint64_t tag;
  memcpy(&tag, line + kTagAt, sizeof tag);
  // The tag of a shared line is that of its first transfer.
  if ((tag & ~kByAddress) != tag_of(w) && w.at_byte == 0 && !takes_length_of(w, tag & ~kByAddress))
      [[unlikely]] {
    foreigner_ = x.peer;
    their_bytes_ = call_.bytes != 0 ? length_in(tag & ~kByAddress, call_.tag) : 0;
    status_ = Status::kMismatch;
    return Moved::kNothing;
  }
  const std::size_t limit = this->limit(stage, t);  // after the length in the tag was taken
  if ((tag & kByAddress) != 0) [[unlikely]] {
    if (!w.away) return receive_direct(x, w, limit);
    if (limit != w.elements) return Moved::kNothing;
    std::uint64_t words[2];
    memcpy(words, line + kDataAt, sizeof words);
    asm volatile("" : "+m"(words));  // others may write to the ring: read it once
    return begin_to_receive_long(x, w, words) ? end_piece(x, w, false) : Moved::kNothing;
  }
  const std::size_t elements = piece_elements(w);
  if (w.done + elements > limit) return Moved::kNothing;
  const std::size_t bytes = elements * call_.element;
  bool leaves_quarter = false;
  if (bytes <= kOnLine) {
    take(x, w, line + kDataAt + w.at_byte, elements);
    if (w.joined) [[unlikely]]
      return Moved::kQuietly;  // the last transfer that shares the line gives credit
  } else if (w.away) [[unlikely]] {
    const std::byte* const at = come_from_away(w, bytes, &leaves_quarter);
    if (at == nullptr) {
      fail(x.peer);
      return Moved::kNothing;
    }
    take(x, w, at, elements);
  } else {
    const Channel::Extent extent = channel_->extent_of(end.place, bytes);
    take(x, w, channel_->at(w.ring, extent.start), elements);
    // Give credit at once: the sender may wait for that quarter, even after few pieces.
    leaves_quarter = extent.end / channel_->quarter() != end.place / channel_->quarter();
    end.place = extent.end;
  }
  return end_piece(x, w, leaves_quarter);
}

// The piece was read. at_once: its sender may wait for that.
BlockOperation::Moved BlockOperation::end_piece(const BlockTransfer& x, Work& w, bool at_once) const {
  const std::uint64_t read = w.end->next++;
  if (!Pieces::give_credit(credit_of(w.ring), read, channel_->lines, at_once)) return Moved::kQuietly;
  if (!w.away) [[likely]]
    return Moved::kTold;
  give_credit_away(x, w, read);
  return Moved::kQuietly;
}

// Returns the length that is added to the tag of a call; 0: the tag is of another call.
std::uint64_t BlockOperation::length_in(std::uint64_t tag, std::uint64_t of_call) {
  constexpr std::uint64_t kMostPlausible = std::uint64_t{1} << 40;  // 2^-23 of other calls' tags pass
  const std::uint64_t theirs = (tag - of_call) << 1 >> 1;
  return theirs <= kMostPlausible ? theirs : 0;
}

std::uint64_t BlockOperation::length_come(const Channel& channel, const BlockEdge& edge,
                                          std::uint64_t of_call) {
  const Channel::End& end = *channel.end(edge, 0, true);
  const std::byte* const line = channel.line(channel.ring(edge, 0), end.next);
  if (!Pieces::has_come(header_of(line), end.next)) return 0;
  std::uint64_t tag;
  memcpy(&tag, line + kTagAt, sizeof tag);
  return length_in(tag & ~kByAddress, of_call);
}

// Takes the sender's length from the tag of a block's first piece.
bool BlockOperation::takes_length_of(Work& w, std::uint64_t tag) const {
  if (!call_.bounded || w.done != 0 || w.in_long != 0) return false;
  const std::uint64_t theirs = length_in(tag, call_.tag);
  if (theirs == 0) return false;
  w.elements = theirs;
  return true;
}

// How many of the next elements of a receive fit into its room.
std::size_t BlockOperation::kept(const Work& w, std::size_t elements) {
  if (w.done + elements <= w.room) [[likely]]
    return elements;
  truncated_ = true;
  return w.done < w.room ? w.room - w.done : 0;
}

// Reads as much of the block as may be written by now.
BlockOperation::Moved BlockOperation::receive_direct(const BlockTransfer& x, Work& w, std::size_t limit) {
  Offer offer;
  memcpy(&offer, line(w) + kDataAt, sizeof offer);
  const std::size_t turn = (left_ - 1) / call_.element + 1;
  std::size_t elements = limit - w.done < turn ? limit - w.done : turn;
  if (one_process()) {
    const Reading reading(*call_.team, program_->rank);
    if (!reading.allowed()) return Moved::kNothing;
    take(x, w, offer.at + w.done * call_.element, elements);
  } else {
    if (elements > kMostSingleCopy / call_.element) elements = kMostSingleCopy / call_.element;
    if (!take_single_copy(x, w, offer.owner, offer.at, elements)) {
      const Refusal refusal{w.end->next, w.done};
      memcpy(w.ring + kRefusalAt, &refusal, sizeof refusal);
      Pieces::give_credit(credit_of(w.ring), w.end->next++, channel_->lines, true);
      return Moved::kTold;
    }
    // The owner may have reused its block meanwhile, so the data read here may be wrong. Within a process the
    // owner waits for readers. Here it does not wait, because a reader may be killed.
    if (call_.team != nullptr && is_broken<RealAtomics>(call_.team->header())) {
      status_ = Status::kBroken;
      return Moved::kNothing;
    }
  }
  if (w.done != w.elements) return Moved::kQuietly;
  Pieces::give_credit(credit_of(w.ring), w.end->next++, channel_->lines, true);
  return Moved::kTold;
}

// False: the bytes after w.done could not be read.
bool BlockOperation::take_single_copy(const BlockTransfer& x, Work& w, const os::ProcessMemory& owner,
                                      const std::byte* from, std::size_t elements) {
  if (call_.bounce == nullptr) return false;
  if (x.code == BlockCode::kReceive) {
    const std::size_t at = w.done * call_.element;
    if (!os::read_memory(owner, from + at, w.to + at, kept(w, elements) * call_.element)) return false;
    w.done += elements;
    spend(elements * call_.element);
    return true;
  }
  const std::size_t end = w.done + elements;
  const std::size_t most = kBounce / call_.element;
  while (w.done < end) {
    const std::size_t part = end - w.done < most ? end - w.done : most;
    if (!os::read_memory(owner, from + w.done * call_.element, call_.bounce, part * call_.element))
      return false;
    take(x, w, call_.bounce, part);
  }
  return true;
}

void BlockOperation::take(const BlockTransfer& x, Work& w, const std::byte* theirs, std::size_t elements) {
  const std::size_t at = w.done * call_.element;
  switch (x.code) {
    case BlockCode::kReceiveLeft: call_.fold(call_.context, w.to + at, theirs, w.from + at, elements); break;
    case BlockCode::kReceiveRight: call_.fold(call_.context, w.to + at, w.from + at, theirs, elements); break;
    default:
      if (const std::size_t bytes = kept(w, elements) * call_.element; bytes <= kOnLine)
        copy_bytes(w.to + at, theirs, static_cast<std::uint32_t>(bytes));
      else memcpy(w.to + at, theirs, bytes);
      break;
  }
  w.done += elements;
  spend(elements * call_.element);
}

// True if move() would move anything. The loads could be relaxed, because advance() reads again.
bool BlockOperation::could_move(const BlockStage& stage, std::uint32_t t) const {
  if (!may_move(stage, t)) return false;
  return is_local(program_->transfers[t].code) || peer_has_acted(t);
}

bool BlockOperation::peer_has_acted(std::uint32_t t) const {
  const Work& w = work_[t];
  if (w.waits_for_long()) [[unlikely]]
    return long_is_over(w);
  std::uint64_t seen = w.end->credit_seen;
  if (program_->transfers[t].code == BlockCode::kSend) {
    if (w.announced != 0) return Pieces::was_read(credit_of(w.ring), seen, w.announced);
    return has_room(w, goes_direct(w), seen);
  }
  return Pieces::has_come(header_of(line(w)), w.end->next);
}

}  // namespace fermata::exec
