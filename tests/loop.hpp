// A transport within one process, for tests. Its links delay, reorder and lose packets at random. The options
// say how often, and their seed fixes the random numbers.
#ifndef FERMATA_TESTS_LOOP_HPP
#define FERMATA_TESTS_LOOP_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "net/net.hpp"
#include "os/os.hpp"

namespace fermata::net {

struct LoopOptions {
  std::int64_t delay_ns = 0;   // the delay of each packet
  std::int64_t jitter_ns = 0;  // less than this is added at random
  double held = 0;             // share of the packets that take four times as long, so others overtake them
  double lost = 0;             // share of the packets that are lost, acknowledgements included
  std::uint64_t seed = 1;
  // An unacknowledged packet is sent again after this time plus twice the delay.
  std::int64_t repeat_ns = 1'000'000;
  // The sender gives up a receiver after this many repeats. A time limit would be wrong: a process that was
  // stopped for long has repeated only once.
  std::uint32_t patience = 10'000;
  std::int64_t (*now)() = os::now_ns;  // the clock of the delays
  bool moves_long = true;              // the ports have the functions for long messages
};

// Simulated processes 0, 1, ..., each with a port.
class Loop {
 public:
  Loop(std::vector<std::uint32_t> process_of_rank, const LoopOptions& options);

  const Port* port(std::uint32_t process) const { return &ends_[process]->port; }
  // From now on the process sends nothing, and nothing lands there. Packets that it has sent still arrive.
  void kill(std::uint32_t process);
  // From now on packets between the two processes have this delay instead of delay_ns.
  void set_delay(std::uint32_t a, std::uint32_t b, std::int64_t ns);
  // From now on all packets between the two processes are lost, also those on their way.
  void cut(std::uint32_t a, std::uint32_t b);
  // From now on each line with a block says that its block lies at this place in its ring (exec/blocks.hpp).
  void misplace_blocks(std::uint64_t place);

  struct Counts {
    std::uint64_t packets = 0;  // packets that were sent, with repeats and acknowledgements
    std::uint64_t lost = 0;     // packets of these that were lost
    std::uint64_t repeats = 0;
    std::uint64_t longs = 0;       // long messages that have arrived
    std::uint64_t long_bytes = 0;  // their bytes
    std::uint64_t given_up = 0;    // long messages that one side gave up
  };
  Counts counts() const;
  // How many packets with lines the two processes have sent each other, with repeats.
  std::uint64_t packets_between(std::uint32_t a, std::uint32_t b) const;

 private:
  struct Packet {
    std::uint32_t from = 0, to = 0;
    std::uint64_t number = 0;  // of the line that the packet carries or acknowledges
    bool acknowledges = false;
    Line line;
    Block block;  // bytes 0: the line has no block; `from` is not valid
    std::vector<std::byte> bytes;
  };
  struct Pending {  // a packet that is not acknowledged yet
    Packet packet;
    std::int64_t repeat_at_ns = 0;
    std::uint32_t repeats = 0;
  };
  struct End {
    Loop* loop = nullptr;
    std::uint32_t process = 0;
    Port port;
    Window window;                // land is null: the port is not open
    bool silent = false;          // closed or killed
    std::vector<Packet> arrived;  // not landed yet
    std::map<std::uint64_t, Pending> pending;
    std::set<std::uint32_t> given_up;
  };

  // One side of a long message.
  struct Long {
    std::uint32_t from = 0, to = 0;  // processes
    std::uint64_t number = 0;        // of those from `from` to `to`
    bool receives = false;
    std::byte* at = nullptr;
    std::uint64_t bytes = 0;
    bool is_over = false;
    std::int64_t due_ns = 0;  // a receive: when the bytes arrive; 0: the sender has not begun
  };

  static End& end_of(void* self) { return *static_cast<End*>(self); }
  static std::int32_t open(void* self, const Window* window);
  static void write(void* self, const Line* line, const Block* block);
  static void progress(void* self);
  static std::int32_t is_gone(void* self, std::uint32_t rank);
  static void flush(void* self, std::int64_t most_ns);
  static void close(void* self, std::int64_t most_ns);
  static std::uint64_t send_long(void* self, std::uint32_t to, const void* from, std::uint64_t bytes,
                                 std::uint64_t* number);
  static std::uint64_t receive_long(void* self, std::uint32_t from, std::uint64_t number, void* to,
                                    std::uint64_t bytes);
  static std::int32_t is_over(void* self, std::uint64_t id);
  static std::int32_t end_long(void* self, std::uint64_t id, std::int64_t most_ns);

  void advance(End& end, std::int64_t now);
  Long* other_side(const Long& message);
  std::uint64_t add_long(const Long& message);
  void move_longs(std::int64_t now);
  void send(const Packet& packet, std::int64_t now);
  void arrive(End& end, const Packet& packet, std::int64_t now);
  bool gone(const End& end, std::uint32_t process) const;
  std::uint64_t random();
  bool happens(double share) { return static_cast<double>(random() >> 11) * 0x1p-53 < share; }

  const std::vector<std::uint32_t> process_of_rank_;
  const LoopOptions options_;
  mutable std::mutex guard_;  // guards all members below
  std::vector<std::unique_ptr<End>> ends_;
  std::multimap<std::int64_t, Packet> under_way_;  // by arrival time
  // Delays that differ from options_.delay_ns.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> delays_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cuts_;
  std::optional<std::uint64_t> place_;                                        // misplace_blocks()
  std::map<std::uint64_t, Long> longs_;                                       // by id
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> numbers_;  // of long messages
  std::uint64_t last_id_ = 0;
  std::uint64_t state_;
  std::uint64_t next_number_ = 0;
  Counts counts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> carried_;
};

}  // namespace fermata::net
#endif
