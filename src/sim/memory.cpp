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
  if (l.owner == core) return l.owned;
  for (const Sharer& sharer : l.sharers)
    if (sharer.core == core) return sharer.ready;
  return -1;
}

Time Memory::read(std::int32_t core, std::uint32_t line, Time asked) {
  ++misses;
  const auto c = static_cast<std::size_t>(core);
  Line& l = lines_[line];
  if (l.owner < 0) l.owner = core;  // nobody has written it: it comes from nowhere in particular
  const Time start = std::max({asked, l.free, read_port_[c]});
  const Time end = start + machine_.miss(l.owner, core);
  l.free = end;
  read_port_[c] = start + machine_.further_of(l.owner, core);
  if (l.owner != core) l.sharers.push_back({core, end});
  for (int k = 1; k <= machine_.costs.prefetch; ++k) {
    const std::uint32_t next = line + static_cast<std::uint32_t>(k * machine_.hosts);
    const auto found = lines_.find(next);
    if (found == lines_.end() || found->second.owner < 0 || ready(core, next) >= 0) continue;
    Line& beside = found->second;
    beside.free = std::max(beside.free, start) + machine_.miss(beside.owner, core);
    beside.sharers.push_back({core, beside.free});
  }
  return end;
}

Time Memory::farthest(const Line& line, std::int32_t core) const {
  Time most = 0;
  if (line.owner >= 0 && line.owner != core) most = machine_.invalidation(core, line.owner);
  for (const Sharer& sharer : line.sharers)
    if (sharer.core != core) most = std::max(most, machine_.invalidation(core, sharer.core));
  return most;
}

void Memory::take(Line& line, std::int32_t core, Time at) {
  line.owner = core;
  line.owned = at;
  line.sharers.clear();
}

Time Memory::store(std::int32_t core, std::uint32_t line, Time now) {
  ++stores;
  const auto c = static_cast<std::size_t>(core);
  Line& l = lines_[line];
  const Time takes = farthest(l, core);
  const Time start = std::max({now, l.free, store_port_[c]});
  if (takes > 0) {
    const std::int32_t other = l.owner >= 0 && l.owner != core ? l.owner : l.sharers.front().core;
    store_port_[c] = start + machine_.further_of(core, other);
  }
  const Time seen = std::max(start + takes, last_seen_[c]);
  last_seen_[c] = seen;
  l.free = seen;
  take(l, core, seen);
  return seen;
}

Time Memory::add(std::int32_t core, std::uint32_t line, Time now) {
  ++adds;
  Line& l = lines_[line];
  const Time start = std::max(now, l.free);
  const bool moves = l.owner >= 0 && l.owner != core;
  const Time end = start + (moves ? machine_.signal_of(l.owner, core) : farthest(l, core));
  l.free = end;
  take(l, core, end);
  return end;
}

void Memory::landed(std::int32_t core, std::uint32_t line, Time now) {
  Line& l = lines_[line];
  l.changed = now;
  if (l.free > now) return;
  take(l, core, now);
}

}  // namespace fermata::sim
