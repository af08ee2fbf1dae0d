// What a block operation does before it begins: it locates its blocks and finds which transfers of a stage
// wait for others. It also decides how many pieces ahead it prefetches places in the ring.
#include "exec/blocks.hpp"

namespace fermata::exec {
namespace {

bool overlap(const std::byte* a, std::size_t a_bytes, const std::byte* b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

BlockOperation::Range BlockOperation::locate(const BlockTransfer& transfer, const BlockAt& at) const {
  std::size_t count;
  std::byte* base;
  if (at.place == BlockPlace::kSpace) {
    const std::size_t* counts = call_.input.counts != nullptr ? call_.input.counts : call_.output.counts;
    count = counts != nullptr ? counts[transfer.block] : space_elements_;
    base = space_ + at.index * space_elements_ * call_.element;
  } else {
    const BlockBuffer& buffer = at.place == BlockPlace::kInput ? call_.input : call_.output;
    count = buffer.counts != nullptr ? buffer.counts[at.index] : buffer.count;
    const std::size_t first =
        buffer.displacements != nullptr ? buffer.displacements[at.index] : at.index * buffer.count;
    base = buffer.base + first * call_.element;
  }
  // count x piece / pieces, without the product, which may overflow.
  const auto bound = [&](std::size_t piece) {
    return count / transfer.pieces * piece + count % transfer.pieces * piece / transfer.pieces;
  };
  const std::size_t begin = bound(transfer.piece);
  return {base + begin * call_.element, bound(transfer.piece + 1) - begin};
}

void BlockOperation::prepare(const BlockProgram& program, const BlockCall& call, Channel* channel, Work* work,
                             std::byte* space, std::size_t space_elements) {
  program_ = &program;
  call_ = call;
  channel_ = channel;
  work_ = work;
  space_ = space;
  space_elements_ = space_elements;
  has_left_ = false;
  for (std::uint32_t t = 0; t < program.transfer_count; ++t) {
    const BlockTransfer& x = program.transfers[t];
    const Range from = x.code == BlockCode::kReceive ? Range{nullptr, 0} : locate(x, x.from);
    const Range to = x.code == BlockCode::kSend ? Range{nullptr, 0} : locate(x, x.to);
    work_[t] = {};
    work_[t].from = from.at;
    work_[t].to = to.at;
    if (!is_local(x.code)) {
      work_[t].ring = channel->ring(program.edges[x.edge], x.edge);
      work_[t].end = channel->end(program.edges[x.edge], x.edge, is_receive(x.code));
      work_[t].away = call.team != nullptr && call.team->hosts().is_away(x.peer);
    }
    work_[t].elements = work_[t].room = x.code == BlockCode::kSend ? from.elements : to.elements;
  }
  for (std::uint32_t s = 0; s < program.stage_count; ++s) {
    relate(program.stages[s]);
    join_lines(program.stages[s]);
  }
  restart();
}

// Finds which transfers of a stage must wait for other transfers. It compares addresses, because input and
// output can share memory.
void BlockOperation::relate(const BlockStage& stage) {
  const std::uint32_t end = stage.first + stage.count;
  std::uint32_t moves = 0, receives = 0;
  for (std::uint32_t t = stage.first; t < end; ++t) {
    const BlockCode code = program_->transfers[t].code;
    moves += !is_local(code) && work_[t].elements != 0;
    receives += is_receive(code) && work_[t].elements != 0;
  }
  for (std::uint32_t t = stage.first; t < end; ++t) {
    const BlockTransfer& x = program_->transfers[t];
    Work& w = work_[t];
    if (is_local(x.code)) continue;
    w.alone = moves == 1;
    if (!is_receive(x.code)) look_ahead(w, receives != 0);
    for (std::uint32_t u = stage.first; u < t; ++u) {
      const BlockTransfer& y = program_->transfers[u];
      // An empty block has the address of the next block and is done at once. Nothing waits for it, and it
      // makes nothing wait.
      if (is_local(y.code) || work_[u].elements == 0) continue;
      // a member can send to itself
      if (y.edge == x.edge && is_receive(y.code) == is_receive(x.code)) w.after = u + 1;
      if (is_receive(x.code) && is_receive(y.code) && work_[u].to == w.to) w.after_fold = u + 1;
    }
    if (!is_receive(x.code)) continue;
    const std::size_t bytes = w.elements * call_.element;
    for (std::uint32_t u = stage.first; u < end; ++u) {
      Work& sent = work_[u];
      if (program_->transfers[u].code != BlockCode::kSend ||
          !overlap(sent.from, sent.elements * call_.element, w.to, bytes))
        continue;
      sent.overwritten = true;
      const bool alike = sent.from == w.to && sent.elements == w.elements;
      (alike ? w.follows : w.shifted) = true;
    }
  }
}

// Lets transfers to another host share lines. The two ends of an edge have the same transfers in the same
// order, of the same sizes, so both find the same. A bounded call knows the sizes only when data have come.
void BlockOperation::join_lines(const BlockStage& stage) {
  for (std::uint32_t t = stage.first; t < stage.first + stage.count && !call_.bounded; ++t) {
    Work& w = work_[t];
    if (!w.away || w.after == 0 || w.elements == 0) continue;
    Work& before = work_[w.after - 1];
    const std::size_t at = before.at_byte + before.elements * call_.element;
    if (at > kOnLine || w.elements * call_.element > kOnLine - at) continue;
    before.joined = true;
    w.at_byte = static_cast<std::uint8_t>(at);
  }
}

// Prefetches the place of a short piece, its line and its part of the buffer, a few pieces before it is
// written. Otherwise every call in a row of sends waits for cache lines that the reader still holds from the
// previous lap. The CPU cannot hide that wait, because it buffers only a few stores (CPUs 250 ns apart, 64
// bytes: 170 ns a call instead of 60).
//
// Not many pieces ahead: the reader's CPU prefetches the lines after the piece that it reads. So it takes
// back lines that were prefetched too early (8 pieces, 64 bytes: 170 ns again). If the other side also sends,
// each side waits for the other, not for lines. Then prefetching a place in the buffer only costs time (256
// bytes both ways: 480 ns instead of 450).
void BlockOperation::look_ahead(Work& w, bool both_ways) const {
  constexpr std::size_t kLinesAhead = 6, kPiecesAhead = 3;
  const std::size_t bytes = piece_elements(w) * call_.element;
  const std::size_t in_buffer = bytes <= kOnLine ? 0 : round_up(bytes, kRingLine);
  const std::size_t pieces = kLinesAhead / (1 + in_buffer / kRingLine);
  if (w.away || pieces == 0 || (both_ways && in_buffer != 0)) return;
  w.ahead = static_cast<std::uint8_t>(pieces < kPiecesAhead ? pieces : kPiecesAhead);
  w.in_buffer = static_cast<std::uint16_t>(in_buffer);
}

bool BlockOperation::needs_copy() const {
  for (std::uint32_t t = 0; t < program_->transfer_count; ++t)
    if (work_[t].shifted) return true;
  return false;
}

void BlockOperation::restart() {
  for (std::uint32_t t = 0; t < program_->transfer_count; ++t) {
    work_[t].done = 0;
    work_[t].announced = 0;
    work_[t].in_long = 0;
    work_[t].missed_ns = 0;
    work_[t].elements = work_[t].room;
  }
  stage_ = 0;
  truncated_ = false;
  their_bytes_ = 0;
  status_ = Status::kOk;
}

}  // namespace fermata::exec
