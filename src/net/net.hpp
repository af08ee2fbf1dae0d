// The contract of a transport between hosts: what a process needs in order to write a slot of a member on another host. exec/ says what is
// written, a transport how it gets there; the member that awaits it spins on its own memory in either case.
//
//   - A line is a slot's new contents. Slots have the same offset in the segments of all hosts, so an address is a rank and an offset.
//   - A line may bring a block: bytes for another place in the window. They are there before the line's header is, and they are written
//     only if the line lands: what comes twice or late finds the place in use for something newer. (A transport that puts them there by
//     itself, and repeats, must know which of its puts came.)
//   - A write never waits. Line and block are copied, and what the transport cannot send at once it keeps. That is bounded by the plan: a
//     sender writes a slot again only when its receiver has read it (schedule/verify.hpp), so of an edge as many lines are on their way at
//     once as it has slots; of an operation on blocks as much as its ring holds.
//   - A write is reliable: its line lands, or the receiver's process is_gone(). A transport over a link that loses packets repeats them
//     itself. Nobody above could: a collective's sender is often back in its program when its signal is lost, and of what was sent only
//     the transport remembers anything.
//   - Landing is a max-write: header and payload replace the slot's if the header is the greater one, by difference. So a line that comes
//     twice, or behind a later one of its slot, does no harm, and no transport need keep order or look for repeats.
//   - Payload before header: who sees the header sees the payload. A transport whose writes become visible in smaller pieces than a line
//     (ordered_bytes of a remote store) sends the header behind the payload, with a flush between; land() does so by itself. That is
//     known where the transport is written, so nobody above asks for it.
//   - What the writer's thread knew before write(), it may have learned from others, is visible to who sees the header: a collective is
//     the point of coherency. Queues between threads hand it on by their locks; a system call or a doorbell of a network card is at least
//     a full fence.
//   - Only progress() moves anything, and what was written before goes on moving in it. Whoever waits calls it again and again.
//
// Any thread of the process may call any of these at any time; land() is called by one thread of a process at a time. A table of
// functions, since the run-time parts have no C++ run-time library, and since transports come in libraries of their own
// (include/fermata/hosts.h has the same in C; src/api compares the two).
#ifndef FERMATA_NET_NET_HPP
#define FERMATA_NET_NET_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fermata::net {

inline constexpr std::uint32_t kLineWords = 7;  // of payload

struct Line {
  std::uint64_t offset = 0;  // of the slot in the window
  std::uint64_t header = 0;
  std::uint32_t to = 0;     // the receiver's rank
  std::uint16_t words = 0;  // of payload that count, 0..7
  std::uint16_t from = 0;   // the sender's host, in the port's team; with sent_ns
  // Teams that were made out of the port's by a split use its port: which of them, 0 for the port's own, and the receiver's rank there.
  // Their slots are in a window of their own, so their lines land by land() alone.
  std::uint32_t branch = 0;
  std::uint32_t rank = 0;
  std::int64_t sent_ns = 0;  // by the sender's clock, where a team observes its links (exec/arrivals.hpp); else 0
  std::uint64_t payload[kLineWords] = {};
};
static_assert(sizeof(Line) == 96 && std::is_trivially_copyable_v<Line>);

inline constexpr std::size_t kMostBlock = 16384;  // bytes of one

struct Block {
  std::uint64_t offset = 0;  // of its place in the window
  std::uint64_t bytes = 0;
  const void* from = nullptr;
};

// Where lines of a process's members land.
struct Window {
  std::byte* base = nullptr;  // for transports that write there by themselves
  std::size_t bytes = 0;
  // For all others: the max-write, and who sleeps for it is woken. block: what the line brings, or null.
  void (*land)(void* team, const Line* line, const Block* block) = nullptr;
  void* team = nullptr;
};

// A process's end of a transport, for one team.
struct Port {
  std::size_t size = sizeof(Port);
  void* self = nullptr;
  // Lines may come from now on. 0, or a negative status.
  std::int32_t (*open)(void* self, const Window* window) = nullptr;
  void (*write)(void* self, const Line* line, const Block* block) = nullptr;  // block: null if it brings none
  void (*progress)(void* self) = nullptr;
  // Nothing of that rank's process will come any more: it has closed its port, died, or not answered for too long. What came before is in
  // the slots.
  std::int32_t (*is_gone)(void* self, std::uint32_t rank) = nullptr;
  // Waits until what was written needs nobody here any more, and will land before what is written from now on; for at most so many ns.
  void (*flush)(void* self, std::int64_t most_ns) = nullptr;
  // The same, and the window is not touched any more.
  void (*close)(void* self, std::int64_t most_ns) = nullptr;
};

}  // namespace fermata::net
#endif
