// Blocks for members on other hosts: pieces and credits that go through the port.
#include "base/word.hpp"
#include "exec/blocks.hpp"

namespace fermata::exec {

// Like send(), but writes the piece through the port.
BlockOperation::Moved BlockOperation::send_away(const BlockTransfer& x, Work& w) {
  const Team& team = *call_.team;
  const std::size_t elements = piece_elements(w);
  const std::size_t bytes = elements * call_.element;
  const std::byte* from = w.from + w.done * call_.element;
  const auto offset_of = [&](const std::byte* at) { return static_cast<std::uint64_t>(at - team.base()); };
  net::Line out{.offset = offset_of(line(w)), .header = w.end->next, .to = x.peer, .words = 1};
  out.payload[0] = tag_of(w);
  net::Block block;
  if (bytes <= kOnLine) {
    out.words = static_cast<std::uint16_t>(1 + (bytes + 7) / 8);
    copy_bytes(&out.payload[1], from, static_cast<std::uint32_t>(bytes));
  } else {
    block = {offset_of(room_for(w, bytes)), bytes, from};
  }
  team.port().write(out, block.bytes != 0 ? &block : nullptr);
  ++w.end->next;
  w.done += elements;
  spend(bytes);
  return Moved::kQuietly;
}

void BlockOperation::give_credit_away(const BlockTransfer& x, const Work& w, std::uint64_t piece) const {
  const Team& team = *call_.team;
  net::Line credit{.offset = static_cast<std::uint64_t>(w.ring - team.base()), .header = piece, .to = x.peer};
  team.port().write(credit);
}

}  // namespace fermata::exec
