#include "sim/links.hpp"

#include <algorithm>

namespace fermata::sim {

Links::Links(const Machine& machine)
    : machine_(machine), out_(static_cast<std::size_t>(machine.hosts), 0), in_(out_) {
  if (!machine.network) return;
  free_.assign(static_cast<std::size_t>(links_of(machine.network)), 0);
  for (std::size_t link = 0; link < free_.size(); ++link)
    hop_.push_back(from_ns(link_ns(machine.network, static_cast<std::int32_t>(link))));
}

Links::Step Links::leave(Message& m, Time now) {
  const std::size_t at = machine_.pair(m.from, m.to);
  const Time signal = machine_.message[at];
  Time& out = out_[host_of(m.from)];
  const Time start = std::max(now, out);
  m.gap = machine_.gap[at];
  if (!machine_.network) {
    out = start + m.gap;
    Time& in = in_[host_of(m.to)];
    const Time arrives = std::max(start + signal, in);
    in = arrives + m.gap;
    return {arrives, true};
  }
  m.gap = std::max(m.gap, passing(m.bytes));
  out = start + m.gap;
  const auto place = [&](std::int32_t member) { return machine_.place[host_of(member)]; };
  find_route(machine_.network, place(m.from), place(m.to), m.route);
  Time way = 0;
  for (const std::int32_t link : m.route) way += hop_[static_cast<std::size_t>(link)];
  const Time ends = std::max<Time>(0, signal - way);
  m.passed = 0;
  m.second_end = ends - ends / 2 + passing(m.bytes - 8);
  return {start + ends / 2, false};
}

Links::Step Links::advance(Message& m, Time now) {
  if (m.passed < m.route.size()) {
    const auto link = static_cast<std::size_t>(m.route[m.passed++]);
    const Time start = std::max(now, free_[link]);
    free_[link] = start + std::max(from_ns(machine_.network.gap_ns), passing(m.bytes));
    return {start + hop_[link], false};
  }
  Time& in = in_[host_of(m.to)];
  const Time arrives = std::max(now + m.second_end, in);
  in = arrives + m.gap;
  return {arrives, true};
}

}  // namespace fermata::sim
