#include "sim/memory.hpp"

#include <algorithm>

namespace fermata::sim {

Memory::Memory(const Machine& machine)
    : machine_(machine),
      read_port_(static_cast<std::size_t>(machine.cores), 0),
      store_port_(read_port_),
      last_seen_(read_port_) {}

Time Memory::ready(std::int32_t core, std::uint32_t line) {
  const Line& l = lines_[line];
  if (l.owner.core == core) return l.readable;
  for (const Sharer& sharer : l.sharers)
    if (sharer.core == core) return sharer.ready;
  return -1;
}

Time Memory::read(std::int32_t core, std::uint32_t line, Time asked) {
  ++misses;
  const auto c = static_cast<std::size_t>(core);
  Line& l = lines_[line];
  if (l.owner.core < 0) l.owner.core = core;  // nobody has written it: it comes from nowhere in particular
  const std::int32_t owner = l.owner.core;
  const Time start = std::max({asked, l.free, read_port_[c]}), takes = machine_.miss(owner, core);
  l.free = start + machine_.served(owner, core);
  read_port_[c] = start + machine_.further_of(owner, core);
  if (owner != core) share(l, core, start, takes);
  for (int k = 1; k <= machine_.costs.prefetch; ++k) {
    const std::uint32_t next = line + static_cast<std::uint32_t>(k * machine_.hosts);
    const auto found = lines_.find(next);
    if (found == lines_.end() || found->second.owner.core < 0 || ready(core, next) >= 0) continue;
    Line& beside = found->second;
    const Time from = std::max(beside.free, start), to_it = machine_.miss(beside.owner.core, core);
    beside.free = from + machine_.served(beside.owner.core, core);
    share(beside, core, from, to_it);
  }
  return start + takes;
}

void Memory::share(Line& line, std::int32_t core, Time start, Time takes) {
  line.owner.until = std::min(line.owner.until, start + takes / 2);
  line.sharers.push_back({core, start + takes});
}

Time Memory::farthest(const Line& line, std::int32_t core) const {
  const std::int32_t owner = line.owner.core;
  Time most = owner >= 0 && owner != core ? machine_.invalidation(core, owner) : 0;
  for (const Sharer& sharer : line.sharers)
    if (sharer.core != core) most = std::max(most, machine_.invalidation(core, sharer.core));
  return most;
}

Time Memory::owned(Line& line, std::int32_t core, Time now) {
  std::erase_if(line.before, [&](const Tenure& t) { return t.until < now; });
  const auto done = [&](const Tenure& t) {
    return t.core == core && std::max(now, t.from) <= t.until ? std::max(now, t.from) : -1;
  };
  for (const Tenure& tenure : line.before)
    if (const Time at = done(tenure); at >= 0) return at;
  return done(line.owner);
}

void Memory::take(Line& line, std::int32_t core, Time asked, Time at, Time readable) {
  line.owner.until = std::min(line.owner.until, asked);
  if (line.owner.until >= line.owner.from) line.before.push_back(line.owner);
  line.owner = {core, at, kOpen};
  line.readable = readable;
  line.sharers.clear();
}

Time Memory::store(std::int32_t core, std::uint32_t line, Time now) {
  ++stores;
  const auto c = static_cast<std::size_t>(core);
  Line& l = lines_[line];
  // Stores of a core are done in their order.
  if (const Time done = owned(l, core, std::max(now, last_seen_[c])); done >= 0) return last_seen_[c] = done;
  const Time takes = farthest(l, core), start = std::max({now, l.free, store_port_[c]});
  if (takes > 0) {
    const std::int32_t other =
        l.owner.core >= 0 && l.owner.core != core ? l.owner.core : l.sharers.front().core;
    store_port_[c] = start + machine_.further_of(core, other);
  }
  const Time seen = std::max(start + takes, last_seen_[c]), had = ready(core, line);
  last_seen_[c] = seen;
  l.free = seen;
  take(l, core, start + takes / 2, seen, had >= 0 ? had : seen);
  return seen;
}

Time Memory::add(std::int32_t core, std::uint32_t line, Time now) {
  ++adds;
  Line& l = lines_[line];
  if (const Time done = owned(l, core, now); done >= 0) return done;
  const Time start = std::max(now, l.free);
  const bool moves = l.owner.core >= 0 && l.owner.core != core;
  const Time takes = moves ? machine_.signal_of(l.owner.core, core) : farthest(l, core);
  l.free = start + takes;
  take(l, core, start + takes / 2, l.free, l.free);
  return l.free;
}

void Memory::landed(std::int32_t core, std::uint32_t line, Time now) {
  Line& l = lines_[line];
  l.changed = now;
  if (l.free > now) return;
  take(l, core, now, now, now);
}

}  // namespace fermata::sim
