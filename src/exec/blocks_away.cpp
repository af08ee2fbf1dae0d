// Pieces and credits for members on other hosts: they go through the port. Not inlined into the paths of one
// host.
#include "base/word.hpp"
#include "exec/blocks.hpp"

namespace fermata::exec {
namespace {

constexpr std::size_t kPlaceAt = 16;  // in a line: where the piece lies in the buffer

}  // namespace

// The last piece written into each part of the buffer.
std::uint64_t* BlockOperation::last_in_parts(const Work& w) const {
  if (channel_->last_in_parts == nullptr) return w.end->last_in;
  return channel_->last_in_parts + static_cast<std::size_t>(w.end - channel_->ends) * kMostParts;
}

// The first part whose pieces were all read; channel_->parts() if there is none.
std::size_t BlockOperation::free_part(const Work& w, std::uint64_t& credit_seen) const {
  const auto& credit = *reinterpret_cast<const std::atomic<std::uint64_t>*>(w.ring);
  const std::uint64_t* const last_in = last_in_parts(w);
  std::size_t part = 0;
  while (part < channel_->parts() && !Ring<RealAtomics>::was_read(credit, credit_seen, last_in[part])) ++part;
  return part;
}

// The next piece goes after the last one, if the rest of the part has room for it, else into another part. At
// a part's begin end.place may be the end of the part before it.
bool BlockOperation::has_room_away(const Work& w, std::size_t bytes, std::uint64_t& credit_seen) const {
  const std::size_t used = w.end->place % channel_->in_part();
  if (used != 0 && used + bytes <= channel_->in_part()) return true;
  return free_part(w, credit_seen) < channel_->parts();
}

// Takes room in the buffer for the next piece. Returns its place there. Precondition: has_room_away().
std::uint64_t BlockOperation::room_away_for(const Work& w, std::size_t bytes) const {
  Channel::End& end = *w.end;
  const std::size_t in_part = channel_->in_part(), used = end.place % in_part;
  if (used == 0 || used + bytes > in_part) end.place = free_part(w, end.credit_seen) * in_part;
  const std::uint64_t start = end.place;
  last_in_parts(w)[start / in_part] = end.next;
  end.place += round_up(bytes, kRingLine);
  return start;
}

// Returns where the piece lies that has come; null: no sender of this team wrote that place. *enters_part: it
// is the first piece in its part. Then the sender may wait for the part before it, so the receiver gives
// credit at once. The sender enters that part only if another one is free, so it can go on with what was
// read.
const std::byte* BlockOperation::come_from_away(const Work& w, std::size_t bytes, bool* enters_part) const {
  std::uint64_t start;
  memcpy(&start, line(w) + kPlaceAt, sizeof start);
  asm volatile("" : "+m"(start));  // others may write to the ring: read it once
  const std::size_t room = channel_->parts() * channel_->in_part();
  if (start % kRingLine != 0 || start > room || bytes > room - start) return nullptr;
  *enters_part = start % channel_->in_part() == 0;
  return channel_->buffer(w.ring) + start;
}

// Like send(), but writes the piece through the port.
[[gnu::noinline, gnu::cold]] BlockOperation::Moved BlockOperation::send_away(std::uint32_t t) {
  const BlockTransfer& x = program_->transfers[t];
  Work& w = work_[t];
  if (!has_room(w, false, w.end->credit_seen)) return Moved::kNothing;
  const Team& team = *call_.team;
  const auto offset_of = [&](const std::byte* at) { return static_cast<std::uint64_t>(at - team.base()); };
  net::Line out{.offset = offset_of(line(w)), .header = w.end->next, .to = x.peer, .words = 1};
  out.payload[0] = tag_of(w);
  if (w.done == 0 && w.in_long == 0 && begin_to_send_long(x, w, out)) {
    out.payload[0] |= kByAddress;
    team.port().write(out);
    ++w.end->next;
    return Moved::kQuietly;
  }
  const std::size_t elements = piece_elements(w);
  const std::size_t bytes = elements * call_.element;
  const std::byte* from = w.from + w.done * call_.element;
  net::Block block;
  if (bytes <= kOnLine) {
    copy_bytes(&out.payload[1], from, static_cast<std::uint32_t>(bytes));
    const std::size_t filled = bytes + copy_joined(t, reinterpret_cast<std::byte*>(&out.payload[1]));
    out.words = static_cast<std::uint16_t>(1 + (filled + 7) / 8);
  } else {
    out.payload[1] = room_away_for(w, bytes);
    out.words = 2;
    block = {offset_of(channel_->buffer(w.ring) + out.payload[1]), bytes, from};
  }
  team.port().write(out, block.bytes != 0 ? &block : nullptr);
  ++w.end->next;
  w.done += elements;
  spend(bytes);
  return Moved::kQuietly;
}

// Copies the data of the transfers that share transfer t's line, after t's. Returns how many bytes they are.
std::size_t BlockOperation::copy_joined(std::uint32_t t, std::byte* line) {
  std::size_t copied = 0;
  for (std::uint32_t before = t; work_[before].joined; before = t) {
    while (work_[t].after != before + 1 || work_[t].elements == 0) ++t;
    Work& w = work_[t];
    const std::size_t bytes = w.elements * call_.element;
    copy_bytes(line + w.at_byte, w.from, static_cast<std::uint32_t>(bytes));
    w.done = w.elements;
    spend(bytes);
    copied += bytes;
  }
  return copied;
}

[[gnu::noinline, gnu::cold]] void BlockOperation::give_credit_away(const BlockTransfer& x, const Work& w,
                                                                   std::uint64_t piece) const {
  const Team& team = *call_.team;
  net::Line credit{.offset = static_cast<std::uint64_t>(w.ring - team.base()), .header = piece, .to = x.peer};
  team.port().write(credit);
}

}  // namespace fermata::exec
