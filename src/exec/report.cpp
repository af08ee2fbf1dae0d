// Reports: who is in which call. Read from the status lines, by those who have waited long.
#include <stdio.h>

#include "exec/member.hpp"

namespace fermata::exec {

void describe(const Call& call, char* text, std::size_t capacity) {
  if (static_cast<int>(call.kind) >= kKindCount) {
    snprintf(text, capacity, "an unknown call");
    return;
  }
  const char* kind = name_of(call.kind);
  const char* type = call.type < kTypeCount ? name_of(static_cast<Type>(call.type)) : "?";
  const char* op = call.op < kOpCount ? name_of(static_cast<Op>(call.op)) : "?";
  switch (call.kind) {
    case Kind::kBarrier: snprintf(text, capacity, "%s", kind); break;
    case Kind::kBroadcast: snprintf(text, capacity, "%s(%u bytes, root %u)", kind, call.bytes, call.root); break;
    case Kind::kGather:
    case Kind::kScatter: snprintf(text, capacity, "%s(%u bytes, root %u)", kind, call.bytes, call.root); break;
    case Kind::kAllgather:
    case Kind::kAlltoall: snprintf(text, capacity, "%s(%u bytes)", kind, call.bytes); break;
    case Kind::kReduce:
      snprintf(text, capacity, "%s(%s, %s, %u bytes, root %u)", kind, type, op, call.bytes, call.root);
      break;
    default: snprintf(text, capacity, "%s(%s, %s, %u bytes)", kind, type, op, call.bytes); break;
  }
}

std::size_t report(const Team& team, char* text, std::size_t capacity) {
  std::size_t at = 0;
  const auto room = [&](std::size_t used) { return used < capacity ? capacity - used : 0; };
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    const StatusLine& s = team.status(r);
    const CallSeen seen = read_call<RealAtomics>(s);
    const std::uint64_t sequence = seen.sequence;
    char call[96];
    describe(Call::unpack(seen.call), call, sizeof call);
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
