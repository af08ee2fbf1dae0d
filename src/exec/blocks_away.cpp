// Pieces and credits for members on other hosts: they go through the port. Not inlined into the paths of one
// host.
#include "base/word.hpp"
#include "exec/blocks.hpp"

namespace fermata::exec {

// Like send(), but writes the piece through the port.
[[gnu::noinline, gnu::cold]] BlockOperation::Moved BlockOperation::send_away(std::uint32_t t) {
  const BlockTransfer& x = program_->transfers[t];
  Work& w = work_[t];
  const Team& team = *call_.team;
  const std::size_t elements = piece_elements(w);
  const std::size_t bytes = elements * call_.element;
  const std::byte* from = w.from + w.done * call_.element;
  const auto offset_of = [&](const std::byte* at) { return static_cast<std::uint64_t>(at - team.base()); };
  net::Line out{.offset = offset_of(line(w)), .header = w.end->next, .to = x.peer, .words = 1};
  out.payload[0] = tag_of(w);
  net::Block block;
  if (bytes <= kOnLine) {
    copy_bytes(&out.payload[1], from, static_cast<std::uint32_t>(bytes));
    const std::size_t filled = bytes + copy_joined(t, reinterpret_cast<std::byte*>(&out.payload[1]));
    out.words = static_cast<std::uint16_t>(1 + (filled + 7) / 8);
  } else {
    block = {offset_of(room_for(w, bytes)), bytes, from};
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
