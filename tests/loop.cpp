#include "loop.hpp"

#include <time.h>

#include <algorithm>

#include "base/status.hpp"

namespace fermata::net {
namespace {

constexpr std::int64_t kHeldTimes = 4;
constexpr long kNapNs = 20'000;  // between the checks of a flush

}  // namespace

Loop::Loop(std::vector<std::uint32_t> process_of_rank, const LoopOptions& options)
    : process_of_rank_(std::move(process_of_rank)), options_(options), state_(options.seed) {
  const std::uint32_t processes = 1 + *std::max_element(process_of_rank_.begin(), process_of_rank_.end());
  for (std::uint32_t p = 0; p < processes; ++p) {
    ends_.push_back(std::make_unique<End>());
    End& end = *ends_.back();
    end.loop = this;
    end.process = p;
    end.port = {.self = &end,
                .open = open,
                .write = write,
                .progress = progress,
                .is_gone = is_gone,
                .flush = flush,
                .close = close};
    if (!options.moves_long) continue;
    end.port.send_long = send_long;
    end.port.receive_long = receive_long;
    end.port.is_over = is_over;
    end.port.end_long = end_long;
  }
}

// The generator splitmix64.
std::uint64_t Loop::random() {
  std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

void Loop::kill(std::uint32_t process) {
  const std::lock_guard lock(guard_);
  End& end = *ends_[process];
  end.silent = true;
  end.pending.clear();
  end.arrived.clear();
}

void Loop::set_delay(std::uint32_t a, std::uint32_t b, std::int64_t ns) {
  const std::lock_guard lock(guard_);
  delays_[std::minmax(a, b)] = ns;
}

void Loop::cut(std::uint32_t a, std::uint32_t b) {
  const std::lock_guard lock(guard_);
  cuts_.insert(std::minmax(a, b));
  std::erase_if(under_way_, [&](const auto& entry) {
    return std::minmax(entry.second.from, entry.second.to) == std::minmax(a, b);
  });
}

Loop::Counts Loop::counts() const {
  const std::lock_guard lock(guard_);
  return counts_;
}

std::uint64_t Loop::packets_between(std::uint32_t a, std::uint32_t b) const {
  const std::lock_guard lock(guard_);
  const auto found = carried_.find(std::minmax(a, b));
  return found != carried_.end() ? found->second : 0;
}

std::int32_t Loop::open(void* self, const Window* window) {
  End& end = end_of(self);
  const std::lock_guard lock(end.loop->guard_);
  if (end.window.land != nullptr || end.silent) return static_cast<std::int32_t>(Status::kBusy);
  end.window = *window;
  return 0;
}

void Loop::misplace_blocks(std::uint64_t place) {
  const std::lock_guard lock(guard_);
  place_ = place;
}

void Loop::write(void* self, const Line* line, const Block* block) {
  End& end = end_of(self);
  Loop& loop = *end.loop;
  const std::lock_guard lock(loop.guard_);
  if (end.silent) return;
  const std::int64_t now = loop.options_.now();
  Packet packet{end.process, loop.process_of_rank_[line->to], loop.next_number_++, false, *line, {}, {}};
  if (block != nullptr) {
    const auto* from = static_cast<const std::byte*>(block->from);
    packet.block = {block->offset, block->bytes, nullptr};
    packet.bytes.assign(from, from + block->bytes);
    if (loop.place_) packet.line.payload[1] = *loop.place_;
  }
  end.pending[packet.number] = {packet, now + loop.options_.repeat_ns + 2 * loop.options_.delay_ns};
  loop.send(packet, now);
}

void Loop::send(const Packet& packet, std::int64_t now) {
  ++counts_.packets;
  if (!packet.acknowledges) ++carried_[std::minmax(packet.from, packet.to)];
  if (happens(options_.lost) || cuts_.contains(std::minmax(packet.from, packet.to))) {
    ++counts_.lost;
    return;
  }
  const auto other = delays_.find(std::minmax(packet.from, packet.to));
  std::int64_t ns = other != delays_.end() ? other->second : options_.delay_ns;
  if (options_.jitter_ns > 0)
    ns += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(options_.jitter_ns));
  if (happens(options_.held)) ns *= kHeldTimes;
  under_way_.emplace(now + ns, packet);
}

void Loop::progress(void* self) {
  End& end = end_of(self);
  const std::lock_guard lock(end.loop->guard_);
  end.loop->advance(end, end.loop->options_.now());
}

// Steps: deliver the packets that are due, to any process; land the packets that have reached this process;
// repeat the packets that are not acknowledged; give up receivers that never acknowledge.
void Loop::advance(End& end, std::int64_t now) {
  move_longs(now);
  while (!under_way_.empty() && under_way_.begin()->first <= now) {
    const Packet packet = under_way_.begin()->second;
    under_way_.erase(under_way_.begin());
    arrive(*ends_[packet.to], packet, now);
  }
  for (Packet& packet : end.arrived) {
    packet.block.from = packet.bytes.data();
    end.window.land(end.window.team, &packet.line, packet.block.bytes != 0 ? &packet.block : nullptr);
  }
  end.arrived.clear();
  for (auto& [number, waiting] : end.pending) {
    if (now < waiting.repeat_at_ns) continue;
    waiting.repeat_at_ns = now + options_.repeat_ns + 2 * options_.delay_ns;
    if (waiting.repeats++ == options_.patience) end.given_up.insert(waiting.packet.to);
    ++counts_.repeats;
    send(waiting.packet, now);
  }
  std::erase_if(end.pending, [&](const auto& entry) {
    const std::uint32_t to = entry.second.packet.to;
    return end.given_up.contains(to) || ends_[to]->silent;
  });
}

std::uint64_t Loop::send_long(void* self, std::uint32_t to, const void* from, std::uint64_t bytes,
                              std::uint64_t* number) {
  const End& end = end_of(self);
  Loop& loop = *end.loop;
  const std::lock_guard lock(loop.guard_);
  const std::uint32_t process = loop.process_of_rank_[to];
  *number = loop.numbers_[{end.process, process}]++;
  return loop.add_long({.from = end.process,
                        .to = process,
                        .number = *number,
                        .at = static_cast<std::byte*>(const_cast<void*>(from)),
                        .bytes = bytes});
}

std::uint64_t Loop::receive_long(void* self, std::uint32_t from, std::uint64_t number, void* to,
                                 std::uint64_t bytes) {
  const End& end = end_of(self);
  Loop& loop = *end.loop;
  const std::lock_guard lock(loop.guard_);
  return loop.add_long({.from = loop.process_of_rank_[from],
                        .to = end.process,
                        .number = number,
                        .receives = true,
                        .at = static_cast<std::byte*>(to),
                        .bytes = bytes});
}

std::uint64_t Loop::add_long(const Long& message) {
  longs_[++last_id_] = message;
  return last_id_;
}

Loop::Long* Loop::other_side(const Long& message) {
  for (auto& [id, other] : longs_)
    if (other.receives != message.receives && other.number == message.number && other.from == message.from &&
        other.to == message.to)
      return &other;
  return nullptr;
}

// The bytes arrive a round trip after both sides have begun.
void Loop::move_longs(std::int64_t now) {
  for (auto& [id, message] : longs_) {
    if (!message.receives || message.is_over || ends_[message.from]->silent || ends_[message.to]->silent ||
        cuts_.contains(std::minmax(message.from, message.to)))
      continue;
    Long* const sent = other_side(message);
    if (sent == nullptr) continue;
    if (message.due_ns == 0) message.due_ns = now + 2 * options_.delay_ns;
    if (message.due_ns > now) continue;
    std::copy_n(sent->at, std::min(sent->bytes, message.bytes), message.at);
    sent->is_over = message.is_over = true;
    ++counts_.longs;
    counts_.long_bytes += message.bytes;
  }
}

std::int32_t Loop::is_over(void* self, std::uint64_t id) {
  Loop& loop = *end_of(self).loop;
  const std::lock_guard lock(loop.guard_);
  return loop.longs_.at(id).is_over ? 1 : 0;
}

std::int32_t Loop::end_long(void* self, std::uint64_t id, std::int64_t) {
  Loop& loop = *end_of(self).loop;
  const std::lock_guard lock(loop.guard_);
  if (!loop.longs_.at(id).is_over) ++loop.counts_.given_up;
  loop.longs_.erase(id);
  return 1;
}

// Acknowledges on arrival, as a kernel does, not when the receiving process calls progress().
void Loop::arrive(End& end, const Packet& packet, std::int64_t now) {
  if (packet.acknowledges) {
    end.pending.erase(packet.number);
    return;
  }
  if (end.window.land == nullptr || end.silent) return;
  end.arrived.push_back(packet);
  send({end.process, packet.from, packet.number, true, {}, {}, {}}, now);
}

bool Loop::gone(const End& end, std::uint32_t process) const {
  if (end.given_up.contains(process)) return true;
  if (!ends_[process]->silent || !end.arrived.empty()) return false;
  return std::none_of(under_way_.begin(), under_way_.end(), [&](const auto& entry) {
    return entry.second.from == process && entry.second.to == end.process && !entry.second.acknowledges;
  });
}

std::int32_t Loop::is_gone(void* self, std::uint32_t rank) {
  const End& end = end_of(self);
  const std::lock_guard lock(end.loop->guard_);
  return end.loop->gone(end, end.loop->process_of_rank_[rank]) ? 1 : 0;
}

void Loop::flush(void* self, std::int64_t most_ns) {
  End& end = end_of(self);
  const auto now_ns = end.loop->options_.now;
  const std::int64_t until = now_ns() + most_ns;
  for (bool over = false; !over;) {
    {
      const std::lock_guard lock(end.loop->guard_);
      const std::int64_t now = now_ns();
      end.loop->advance(end, now);
      over = end.pending.empty() || now >= until;
    }
    const timespec nap{0, kNapNs};
    if (!over) nanosleep(&nap, nullptr);
  }
}

void Loop::close(void* self, std::int64_t most_ns) {
  flush(self, most_ns);
  End& end = end_of(self);
  const std::lock_guard lock(end.loop->guard_);
  end.pending.clear();
  end.arrived.clear();
  end.silent = true;
  end.window = {};
}

}  // namespace fermata::net
