// Reports: who is in which call. Read from the status lines, by those who have waited long.
#include <stdio.h>

#include "exec/member.hpp"

namespace fermata::exec {

void describe(const Call& call, char* text, std::size_t capacity) {
  if (static_cast<int>(call.kind) >= kKindCount) {
    snprintf(text, capacity, "an unknown call");
    return;
  }
  char details[80];
  std::size_t at = 0;
  const auto add = [&](const char* format, auto... values) {
    const int n = snprintf(details + at, sizeof details - at, format, values...);
    if (n > 0 && at + static_cast<std::size_t>(n) < sizeof details) at += static_cast<std::size_t>(n);
  };
  constexpr const char* kOrders[] = {"", " in rank order", " left to right", ""};  // as enum Order, of 2 bits
  if (folds(call.kind))
    add("%s, %s%s, ", call.type < kTypeCount ? name_of(static_cast<Type>(call.type)) : "own type",
        call.op < kOpCount ? name_of(static_cast<Op>(call.op)) : "own operator", kOrders[call.order]);
  if (call.irregular) add("%s", "blocks of different sizes");
  else if (call.bytes == Call::kMostBytes) add("%s", "16 GiB or more");
  else add("%llu bytes", static_cast<unsigned long long>(call.bytes));
  if (has_root(call.kind)) add(", root %u", call.root);
  const char* form = call.kind == Kind::kBarrier ? "%s%s" : "%s%s(%s)";
  snprintf(text, capacity, form, call.prepares ? "prepare " : "", name_of(call.kind), details);
}

std::size_t report(const Team& team, char* text, std::size_t capacity) {
  std::size_t at = 0;
  const auto room = [&](std::size_t used) { return used < capacity ? capacity - used : 0; };
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    const StatusLine& s = team.status(r);
    const std::uint64_t sequence = newest_call<RealAtomics>(s);
    char call[96] = "no longer known";
    std::uint64_t packed;
    if (recall<RealAtomics>(s, sequence / 2, packed)) describe(Call::unpack(packed), call, sizeof call);
    // order: relaxed: text
    const auto state = static_cast<MemberState>(s.state.load(std::memory_order_relaxed));
    const bool inside = (sequence & 1) == 0;
    const bool dead = state == MemberState::kJoined && team.is_gone(r);
    const char* where = state == MemberState::kAbsent || state == MemberState::kJoining ? "has not joined"
                        : state == MemberState::kLeft ? "has left"
                        : dead && sequence == 0       ? "has died"
                        : sequence == 0               ? "has called nothing yet"
                        : dead                        ? (inside ? "has died in" : "has died outside, after")
                        : inside                      ? "is in"
                                                      : "is outside, after";
    const bool named = state == MemberState::kJoined && sequence != 0;
    char* to = room(at) > 0 ? text + at : nullptr;
    // order: relaxed: text
    const unsigned process = s.process.load(std::memory_order_relaxed);
    const unsigned thread = s.thread.load(std::memory_order_relaxed);  // order: text
    const int n = named ? snprintf(to, room(at), "rank %u (process %u, thread %u) %s call %llu, %s\n", r, process, thread,
                                   where, static_cast<unsigned long long>(sequence / 2), call)
                        : snprintf(to, room(at), "rank %u (process %u, thread %u) %s\n", r, process, thread, where);
    if (n > 0) at += static_cast<std::size_t>(n);
  }
  return at + 1;
}

void Member::report_stall(std::int64_t waited_ns) {
  char text[4096];
  int at = snprintf(text, sizeof text, "fermata: rank %u has waited %.1f s in call %llu for:\n", rank_,
                    static_cast<double>(waited_ns) * 1e-9, static_cast<unsigned long long>(sequence_));
  int missing = 0;
  for (std::uint32_t r = 0; r < team_->members() && at < static_cast<int>(sizeof text) - 200; ++r) {
    const StatusLine& s = team_->status(r);
    const std::uint64_t sequence = s.sequence.load(std::memory_order_relaxed);  // order: text
    if (sequence >= sequence_ * 2) continue;
    ++missing;
    // order: relaxed: text
    const auto state = static_cast<MemberState>(s.state.load(std::memory_order_relaxed));
    at += snprintf(text + at, sizeof text - static_cast<std::size_t>(at), "  rank %u (process %u, thread %u): %s, %llu calls made\n", r,
                   s.process.load(std::memory_order_relaxed), s.thread.load(std::memory_order_relaxed),  // order: text
                   state == MemberState::kLeft ? "has left" : state == MemberState::kJoined ? "elsewhere" : "has not joined",
                   static_cast<unsigned long long>((sequence + 1) / 2));
  }
  if (missing == 0) {
    at += snprintf(text + at, sizeof text - static_cast<std::size_t>(at), "  nobody: all members are in this call\n");
  }
  os::write_stderr(text, static_cast<std::size_t>(at));
}

}  // namespace fermata::exec
