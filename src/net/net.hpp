// The contract of a transport between hosts: the functions with which a process writes a slot of a member on
// another host. src/exec decides what to write, the transport decides how it gets there. The receiving member
// spins on its own memory, as for a signal on its own host.
//
// - A line is the new contents of a slot. Slots have the same offset in the segments of all hosts, so an
//   address is a rank and an offset.
// - A line may have a block: bytes for another place in the window. They become visible before the line's
//   header, and only if the line lands: the place of a repeated or late block may hold newer bytes. (A
//   transport that writes blocks there itself, and repeats lost packets, must know which of its writes have
//   arrived.)
// - A write never waits. The transport copies line and block, and stores what it cannot send at once. The
//   plan bounds how much that is: a sender of data writes a slot again only after its receiver has read it
//   (schedule/verify.hpp). So each edge has at most as many lines on their way as it has slots. In a barrier
//   without data, a sender may be one episode ahead, so an edge has one line more. An edge of a collective on
//   blocks has at most as many bytes on their way as its ring buffer holds.
// - A write is reliable: its line lands, or the receiver's process is_gone(). A transport over a link that
//   loses packets repeats them itself. No layer above can do this: the sender of a lost signal has often
//   returned to its program, and only the transport still has the line.
// - Landing is a max-write: header and payload replace the slot's contents if the line's header is greater,
//   by signed difference. So a line that comes twice, or after a later line of its slot, does no harm. A
//   transport need not keep the order, except at a flush(), or look for repeats.
// - Payload before header: a thread that sees the header sees the payload. In some transports a line becomes
//   visible in smaller pieces, for example by remote stores. Such a transport makes its network order the
//   header after the payload. A transport that calls land() need not.
// - A thread that sees the header also sees everything that the writing thread knew before write(), including
//   what that thread learned from others. A collective is the point of coherency. Queues between threads pass
//   this on by their locks. A system call, or a network card's doorbell, is at least a full fence.
// - A transport need not move data outside of progress(), flush() and close(). Waiting members call
//   progress() again and again.
// - Long messages are for transports that can move bytes from the sender's memory to the receiver's without
//   copies, once the receiver has said where they go. They are not ordered with lines, and do not touch the
//   window. A line announces each of them. All ports of a team have them, or none.
//
// Any thread of the process may call any of these functions at any time before close(). A port calls its
// window's land() from one thread at a time; several ports of a process may call theirs at once. The port is
// a table of functions, because libfermata-rt has no C++ run-time library and because transports come in
// libraries of their own. include/fermata/hosts.h has the same types in C; src/api compares the two.
#ifndef FERMATA_NET_NET_HPP
#define FERMATA_NET_NET_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace fermata::net {

inline constexpr std::uint32_t kLineWords = 7;  // words of payload

struct Line {
  std::uint64_t offset = 0;  // the slot's place in the window
  std::uint64_t header = 0;
  std::uint32_t to = 0;     // the receiver's rank
  std::uint16_t words = 0;  // how many words of payload are valid, 0..7
  std::uint16_t from = 0;   // the sender's host in the port's team; valid if sent_ns is not 0
  // A sub-team that was split from the port's team uses the same port. `subteam` names the team of the line
  // (0: the port's own team), and `rank` is the receiver's rank there. A sub-team has a window of its own, so
  // only land() can land its lines.
  std::uint32_t subteam = 0;
  std::uint32_t rank = 0;
  // The sender's clock, if the team observes its links (exec/link_delays.hpp); else 0. Not 0: only land() may
  // land the line, because it notes the delay.
  std::int64_t sent_ns = 0;
  std::uint64_t payload[kLineWords] = {};
};
static_assert(sizeof(Line) == 96 && std::is_trivially_copyable_v<Line>);

// Bytes of one block. With its line and the headers of the MPI library it is a message of at most 64 KiB.
// Over TCP, Open MPI sends such a message at once, and asks the receiver first if it is longer. A long
// message costs less per byte: the network and its receiver take turns on a CPU less often
// (bench/results/README.md).
inline constexpr std::size_t kMostBlock = 65280;

struct Block {
  std::uint64_t offset = 0;  // its place in the window
  std::uint64_t bytes = 0;
  const void* from = nullptr;  // where they are now; valid during the call
};

// The memory in which lines for a process's members land.
struct Window {
  std::byte* base = nullptr;  // for transports that write to the window themselves
  std::size_t bytes = 0;
  // For other transports: does the max-write, and wakes the members that sleep until the line lands. block:
  // the line's block, or null.
  void (*land)(void* team, const Line* line, const Block* block) = nullptr;
  void* team = nullptr;
};

// A process's end of a transport, for one team.
struct Port {
  std::size_t size = sizeof(Port);
  void* self = nullptr;
  // From this call on, lines may come. Returns 0 or a negative status.
  std::int32_t (*open)(void* self, const Window* window) = nullptr;
  void (*write)(void* self, const Line* line, const Block* block) = nullptr;  // block: null if there is none
  void (*progress)(void* self) = nullptr;
  // Not 0: no more lines come from that rank's process. It has closed its port, has died, or has not answered
  // for too long. All its earlier lines have landed, unless the connection was lost.
  std::int32_t (*is_gone)(void* self, std::uint32_t rank) = nullptr;
  // Waits until the lines written so far need no further call in this process, for at most most_ns ns. These
  // lines land before the lines that are written later, also if the time runs out.
  void (*flush)(void* self, std::int64_t most_ns) = nullptr;
  // Does the same, and may also wait for the other processes' close(), within most_ns. From then on the
  // transport does not touch the window.
  void (*close)(void* self, std::int64_t most_ns) = nullptr;

  // Long messages: all four functions, or none.
  // Begins to send. The bytes stay as they are until end_long() returns 1. *number names the message
  // among those from this process to that rank's process. Returns an id for the functions below; 0: the
  // message can't be sent in this way.
  std::uint64_t (*send_long)(void* self, std::uint32_t to, const void* from, std::uint64_t bytes,
                             std::uint64_t* number) = nullptr;
  // Begins to receive the message with that number and length from that rank's process. Returns an id;
  // 0: there is no memory.
  std::uint64_t (*receive_long)(void* self, std::uint32_t from, std::uint64_t number, void* to,
                                std::uint64_t bytes) = nullptr;
  // Not 0: this process's part of the message is over: a receiver has all bytes, and a sender's may change.
  // If the other process is gone, or a transfer fails, it never is.
  std::int32_t (*is_over)(void* self, std::uint64_t id) = nullptr;
  // Gives the message up if it is not over, and waits for at most most_ns ns until the transport does not use
  // its memory. Returns 0 if it still may, else 1: the id has ended.
  std::int32_t (*end_long)(void* self, std::uint64_t id, std::int64_t most_ns) = nullptr;
};
inline constexpr std::size_t kPortWithoutLong = offsetof(Port, send_long);  // bytes

}  // namespace fermata::net
#endif
