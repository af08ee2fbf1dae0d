// A transport within one process, for tests: its links are late, out of order and lossy as told, by a seed.
#ifndef FERMATA_NET_LOOP_HPP
#define FERMATA_NET_LOOP_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "net/net.hpp"

namespace fermata::net {

struct LoopOptions {
  std::int64_t delay_ns = 0;   // of each packet,
  std::int64_t jitter_ns = 0;  // and up to so much more
  double held = 0;             // share of the packets that take four times as long: later ones overtake them
  double lost = 0;             // share of the packets, acknowledgements too, that never come
  std::uint64_t seed = 1;
  std::int64_t repeat_ns = 1'000'000;  // what is not acknowledged is sent again after so long (and twice the delay),
  std::uint32_t patience = 10'000;     // and given up after so many times: a process that was stopped for long has repeated once
};

// Pretended processes 0, 1, ..., each with a port.
class Loop {
 public:
  Loop(std::vector<std::uint32_t> process_of_rank, const LoopOptions& options);

  const Port* port(std::uint32_t process) const { return &ends_[process]->port; }
  // It sends nothing more, and nothing lands there. What it has sent comes.
  void kill(std::uint32_t process);
  // Between the two each packet is so late from now on.
  void set_delay(std::uint32_t a, std::uint32_t b, std::int64_t ns);
  // Nothing gets through between the two any more.
  void cut(std::uint32_t a, std::uint32_t b);

  struct Counts {
    std::uint64_t packets = 0;  // sent,
    std::uint64_t lost = 0;     // of them,
    std::uint64_t repeats = 0;
  };
  Counts counts() const;
  // That carried lines between the two.
  std::uint64_t packets_between(std::uint32_t a, std::uint32_t b) const;

 private:
  struct Packet {
    std::uint32_t from = 0, to = 0;
    std::uint64_t number = 0;  // of the line that it carries, or acknowledges
    bool acknowledges = false;
    Line line;
    Block block;  // bytes 0: the line brings none; from: not valid
    std::vector<std::byte> bytes;
  };
  struct Pending {  // not acknowledged yet
    Packet packet;
    std::int64_t repeat_at_ns = 0;
    std::uint32_t repeats = 0;
  };
  struct End {
    Loop* loop = nullptr;
    std::uint32_t process = 0;
    Port port;
    Window window;                // land null: not open
    bool silent = false;          // closed or killed
    std::vector<Packet> arrived;  // not landed yet
    std::map<std::uint64_t, Pending> pending;
    std::set<std::uint32_t> given_up;
  };

  static End& end_of(void* self) { return *static_cast<End*>(self); }
  static std::int32_t open(void* self, const Window* window);
  static void write(void* self, const Line* line, const Block* block);
  static void progress(void* self);
  static std::int32_t is_gone(void* self, std::uint32_t rank);
  static void flush(void* self, std::int64_t most_ns);
  static void close(void* self, std::int64_t most_ns);

  void advance(End& end, std::int64_t now);
  void send(const Packet& packet, std::int64_t now);
  void arrive(End& end, const Packet& packet, std::int64_t now);
  bool gone(const End& end, std::uint32_t process) const;
  std::uint64_t random();
  bool happens(double share) { return static_cast<double>(random() >> 11) * 0x1p-53 < share; }

  const std::vector<std::uint32_t> process_of_rank_;
  const LoopOptions options_;
  mutable std::mutex guard_;  // of all below
  std::vector<std::unique_ptr<End>> ends_;
  std::multimap<std::int64_t, Packet> under_way_;                           // by when they arrive
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> delays_;  // where they are other ones
  std::set<std::pair<std::uint32_t, std::uint32_t>> cuts_;
  std::uint64_t state_;
  std::uint64_t next_number_ = 0;
  Counts counts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> carried_;
};

}  // namespace fermata::net
#endif
