// Teams over several hosts: what leaves by a ring, lines that land here, and what hosts tell each other of a team's end.
#include <string.h>

#include "base/word.hpp"
#include "exec/blocks.hpp"
#include "exec/team.hpp"
#include "sync/landing.hpp"

namespace fermata::exec {
namespace {

// For lines on their way when a member leaves, and when a process has done with a team.
constexpr std::int64_t kFlushNs = 1'000'000'000;
constexpr std::int64_t kCloseNs = 1'000'000'000;

}  // namespace

Status Team::connect(const net::Port& port, const char** detail) {
  *detail = "a port needs all its functions, and fermata_port's size";
  const bool whole = port.open != nullptr && port.write != nullptr && port.progress != nullptr && port.is_gone != nullptr &&
                     port.flush != nullptr && port.close != nullptr;
  if (port.size != sizeof port || !whole) return Status::kArgument;
  *detail = "this team is on one host";
  if (!is_over_hosts()) return Status::kArgument;
  *detail = "this process has connected its port before";
  if (port_.write != nullptr) return Status::kBusy;
  const net::Window window{segment_.base, segment_.bytes, land_here, this};
  const auto opened = static_cast<Status>(port.open(port.self, &window));
  *detail = "the port could not be opened";
  if (opened != Status::kOk) return opened;
  port_ = port;
  return Status::kOk;
}

// A forked child has none: it is its parent's.
void Team::close_port() {
  if (port() != nullptr && generation_ == os::fork_generation()) port_.close(port_.self, kCloseNs);
}

// What lies outside the regions, or is for nobody here, is from another version of the library: nothing is touched.
void Team::land_here(void* self, const net::Line* line, const net::Block* block) {
  auto& team = *static_cast<Team*>(self);
  const std::uint64_t bytes = 8 + std::uint64_t{line->words} * 8;
  if (line->words > net::kLineWords || line->to >= team.members_ || line->offset % 8 != 0) return;
  const auto lies_there = [&](std::uint64_t at, std::uint64_t length) {
    return at >= team.header().window && length <= team.segment_.bytes && at <= team.segment_.bytes - length;
  };
  if (!lies_there(line->offset, bytes) || (block != nullptr && !lies_there(block->offset, block->bytes))) return;
  auto& slot = *reinterpret_cast<std::atomic<std::uint64_t>*>(team.segment_.base + line->offset);
  auto* words = reinterpret_cast<std::uint64_t*>(team.segment_.base + line->offset + 8);
  const auto payload = [words](std::uint32_t i) -> std::uint64_t& { return words[i]; };
  const auto bring = [&] {
    if (block != nullptr) memcpy(team.segment_.base + block->offset, block->from, block->bytes);
  };
  if (!land<RealAtomics>(slot, payload, line->header, line->words, line->payload, bring)) return;
  const OsCalls calls{.shared = team.shared_};
  const bool full = team.header().full_fence.load(std::memory_order_relaxed) != 0;  // order: see Member::join
  ring<RealAtomics>(team.door(line->to), full, calls);
}

void Team::attend_port() {
  port_.progress(port_.self);
  const std::uint64_t word = abroad().load(std::memory_order_relaxed);  // order: relaxed: all there is to see is the word
  if (word == 0 || is_broken<RealAtomics>(header())) return;
  break_once<RealAtomics>(header(), {static_cast<std::uint32_t>(word & 0xff), static_cast<std::uint32_t>(word >> 8)});
  wake_everybody();
}

void Team::leave_hosts(std::uint32_t rank) {
  if (port() == nullptr) return;
  if (is_broken<RealAtomics>(header())) return tell_abroad();
  port_.flush(port_.self, kFlushNs);
  tell_all(header().window + kMaxLine + rank * sizeof(std::uint64_t), 1);
}

// By every process that finds it broken, to all members elsewhere: whom one cannot reach another may.
void Team::tell_abroad() {
  if (port() == nullptr) return;
  // order: relaxed: who comes second has nothing to do
  if (!RealAtomics::compare_exchange_relaxed(told_, 0u, 1u)) return;
  const Breach what = breach();
  tell_all(header().window, std::uint64_t{what.culprit} << 8 | what.cause);
}

void Team::tell_all(std::uint64_t offset, std::uint64_t word) {
  net::Line line{.offset = offset, .header = word};
  for (line.to = 0; line.to < members_; ++line.to)
    if (is_away(line.to)) port_.write(port_.self, &line, nullptr);
}

// What send() would store here is written there.
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
    out.words += static_cast<std::uint32_t>((bytes + 7) / 8);
    copy_bytes(&out.payload[1], from, static_cast<std::uint32_t>(bytes));
  } else {
    block = {offset_of(room_for(w, bytes)), bytes, from};
  }
  team.port()->write(team.port()->self, &out, block.bytes != 0 ? &block : nullptr);
  ++w.end->next;
  w.done += elements;
  spend(bytes);
  return Moved::kQuietly;
}

void BlockOperation::give_credit_away(const BlockTransfer& x, const Work& w, std::uint64_t piece) const {
  const Team& team = *call_.team;
  const net::Line credit{.offset = static_cast<std::uint64_t>(w.ring - team.base()), .header = piece, .to = x.peer};
  team.port()->write(team.port()->self, &credit, nullptr);
}

}  // namespace fermata::exec
