// Reports which member is in which call, as the status lines say.
#include <stdio.h>

#include "exec/report.hpp"
#include "sync/status_line.hpp"

namespace fermata::exec {

void describe(const Call& call, char* text, std::size_t capacity) {
  if (static_cast<int>(call.collective) >= kCollectiveCount) {
    snprintf(text, capacity, "an unknown call");
    return;
  }
  char details[80];
  std::size_t at = 0;
  const auto add = [&](const char* format, auto... values) {
    const int n = snprintf(details + at, sizeof details - at, format, values...);
    if (n > 0 && at + static_cast<std::size_t>(n) < sizeof details) at += static_cast<std::size_t>(n);
  };
  // indexed by enum Order, which has 2 bits
  constexpr const char* kOrders[] = {"", " in rank order", " left to right", ""};
  // A broadcast that publishes no type (0 or int8) is described in bytes.
  const auto type = static_cast<Type>(call.type);
  const bool of_bytes =
      call.collective == Collective::kBarrier ||
      (call.collective == Collective::kBroadcast && (type == Type{} || type == Type::kInt8));
  if (!of_bytes) add("%s, ", call.type < kTypeCount ? name_of(type) : "own type");
  if (folds(call.collective))
    add("%s%s, ", call.op < kOpCount ? name_of(static_cast<Op>(call.op)) : "own operator",
        kOrders[call.order]);
  if (call.irregular) add("%s", "blocks of different sizes");
  else if (call.bytes == Call::kMostBytes) add("%s", "16 GiB or more");
  else add("%llu bytes", static_cast<unsigned long long>(call.bytes));
  if (has_root(call.collective)) add(", root %u", call.root);
  const char* form = call.collective == Collective::kBarrier ? "%s%s" : "%s%s(%s)";
  snprintf(text, capacity, form, call.prepares ? "prepare " : "", name_of(call.collective), details);
}

namespace {

// Writes one line: which member it is, and in which call. Without capacity it only returns the length. All
// loads here are for text.
std::size_t describe_member(const Team& team, std::uint32_t rank, char* text, std::size_t capacity) {
  const StatusLine& s = team.status(rank);
  const std::uint64_t sequence = newest_call<RealAtomics>(s);
  char call[96] = "no longer known";
  std::uint64_t packed;
  if (recall<RealAtomics>(s, sequence / 2, packed) == Recalled::kKnown)
    describe(Call::unpack(packed), call, sizeof call);
  // order: relaxed: text
  const auto state = static_cast<MemberState>(s.state.load(std::memory_order_relaxed));
  const bool inside = (sequence & 1) == 0;
  const bool dead = state == MemberState::kJoined && team.is_gone(rank, rank);
  const char* where = state == MemberState::kAbsent || state == MemberState::kJoining ? "has not joined"
                      : state == MemberState::kLeft                                   ? "has left"
                      : dead && sequence == 0                                         ? "has died"
                      : sequence == 0 ? "has called nothing yet"
                      : dead          ? (inside ? "has died in" : "has died outside, after")
                      : inside        ? "is in"
                                      : "is outside, after";
  const bool named = state == MemberState::kJoined && sequence != 0;
  // order: relaxed: text
  const unsigned process = s.process.load(std::memory_order_relaxed);
  const unsigned thread = s.thread.load(std::memory_order_relaxed);  // order: relaxed: text
  const int n =
      named ? snprintf(text, capacity, "rank %u (process %u, thread %u) %s call %llu, %s\n", rank, process,
                       thread, where, static_cast<unsigned long long>(sequence / 2), call)
            : snprintf(text, capacity, "rank %u (process %u, thread %u) %s\n", rank, process, thread, where);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

// What this host has been told of a member on another host.
struct Told {
  bool left = false;
  bool waits = false;  // long, in call `number`
  std::uint64_t number = 0;
  std::uint64_t call = 0;  // packed
};
Told told_of(const Team& team, std::uint32_t rank) {
  Told told;
  for (std::uint32_t viewer = 0; viewer < team.members(); ++viewer) {
    if (team.hosts().is_away(viewer)) continue;
    told.left = told.left || team.notices().has_left(rank, viewer);
    told.waits = told.waits || team.notices().told_call(rank, viewer, &told.number, &told.call);
  }
  return told;
}

std::size_t describe_away(const Team& team, std::uint32_t rank, char* text, std::size_t capacity) {
  const Told told = told_of(team, rank);
  char call[96] = "";
  if (told.waits) describe(Call::unpack(told.call), call, sizeof call);
  const unsigned host = team.hosts().of(rank);
  const int n = told.left ? snprintf(text, capacity, "rank %u on host %u has left\n", rank, host)
                : told.waits
                    ? snprintf(text, capacity, "rank %u on host %u has waited long in call %llu, %s\n", rank,
                               host, static_cast<unsigned long long>(told.number), call)
                    : snprintf(text, capacity, "rank %u on host %u has told nothing\n", rank, host);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

}  // namespace

std::size_t report(const Team& team, char* text, std::size_t capacity) {
  std::size_t at = 0;
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    const auto describe_it = team.hosts().is_away(r) ? describe_away : describe_member;
    at += at < capacity ? describe_it(team, r, text + at, capacity - at) : describe_it(team, r, nullptr, 0);
  }
  return at + 1;
}

bool report_stall(const Team& team, std::uint32_t rank, std::uint64_t number, std::int64_t waited_ns) {
  constexpr std::size_t kLine = 256;
  char text[4096];
  const auto tenths = static_cast<unsigned long long>(waited_ns / 100'000'000);
  auto at = static_cast<std::size_t>(
      snprintf(text, sizeof text, "fermata: rank %u has waited %llu.%llu s in call %llu for:\n", rank,
               tenths / 10, tenths % 10, static_cast<unsigned long long>(number)));
  std::uint32_t missing = 0;
  std::uint32_t left_out = 0;
  std::uint32_t unknown = 0;  // on other hosts
  for (std::uint32_t r = 0; r < team.members(); ++r) {
    if (team.hosts().is_away(r)) {
      const Told told = told_of(team, r);
      unknown += !told.left && (!told.waits || told.number < number) ? 1 : 0;
      continue;
    }
    if (newest_call<RealAtomics>(team.status(r)) >= number * 2) continue;
    ++missing;
    if (at + 2 * kLine > sizeof text) {
      ++left_out;
      continue;
    }
    text[at++] = ' ';
    text[at++] = ' ';
    at += describe_member(team, r, text + at, kLine);
  }
  const std::size_t room = sizeof text - at;
  const char* const here = team.hosts().are_several() ? " of this host" : "";
  if (missing == 0)
    at += static_cast<std::size_t>(
        snprintf(text + at, room, "  nobody: all members%s are in this call\n", here));
  if (left_out != 0) at += static_cast<std::size_t>(snprintf(text + at, room, "  and %u more\n", left_out));
  if (unknown != 0)
    at += static_cast<std::size_t>(
        snprintf(text + at, sizeof text - at, "  maybe also for %u on other hosts\n", unknown));
  return os::write_stderr(text, at);
}

}  // namespace fermata::exec
