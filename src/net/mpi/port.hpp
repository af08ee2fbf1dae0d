// A process's end of a team over MPI: the contract of src/net/net.hpp, as include/fermata/hosts.h has it.
#ifndef FERMATA_NET_MPI_PORT_HPP
#define FERMATA_NET_MPI_PORT_HPP

#include <mpi.h>

#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fermata/hosts.h"

namespace fermata::net {

// A line is a message on a communicator that nobody else has, its block behind it: no tag or source of the application's can match it.
// Messages of one process to another are matched in the order in which they were sent, but a long one may be complete after those behind
// it. So each says how many were sent before the last flush, and doesn't land before they have; and a last one says how many there were.
class MpiPort {
 public:
  // Takes the communicator over. process_of: of each rank of the team; host_of: of each process. members: this process's.
  MpiPort(MPI_Comm comm, std::vector<int> process_of, std::vector<int> host_of, int members);
  ~MpiPort();
  MpiPort(const MpiPort&) = delete;
  MpiPort& operator=(const MpiPort&) = delete;

  // Owned by whoever closes it.
  fermata_port table();

 private:
  static constexpr int kReceives = 16;

  struct Head {
    fermata_line line{};
    std::uint64_t after = 0;   // messages that land before it
    std::uint64_t offset = 0;  // of the block that it brings, which lies behind
  };
  struct Message {
    Head head;
    unsigned char block[FERMATA_MOST_BLOCK];
  };
  using Bytes = std::vector<unsigned char>;  // of a message: as many as it has

  struct Send {
    Bytes message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Peer {
    std::deque<Bytes> queue;  // written by threads that may not call MPI
    std::deque<Send> sends;   // under way, the oldest first
    std::deque<Bytes> early;  // came before those that they are to land behind
    std::uint64_t sent = 0, flushed = 0, received = 0;
    std::uint64_t expected = 0;  // in all, once it has said so
    bool has_closed = false;
    bool is_lost = false;
  };

  static MpiPort& of(void* self) { return *static_cast<MpiPort*>(self); }
  static int open(void* self, const fermata_window* window);
  static void write(void* self, const fermata_line* line, const fermata_block* block);
  static void progress(void* self);
  static int is_gone(void* self, std::uint32_t rank);
  static void flush(void* self, std::int64_t most_ns);
  static void close(void* self, std::int64_t most_ns);

  bool may_call() const { return any_thread_ || std::this_thread::get_id() == driver_; }
  void move();
  static Bytes message_of(const Head& head, const void* block, std::size_t bytes);
  void send_to(Peer& peer, int process);
  void end_sends(Peer& peer);
  void receive();
  void take(const unsigned char* message, std::size_t bytes, int from);
  void land(Peer& peer, const unsigned char* message, std::size_t bytes);
  bool all_sent();
  bool all_closed() const;
  void wait_for(std::int64_t most_ns, bool closing);
  void end_requests(bool in_order);

  MPI_Comm comm_;
  const std::vector<int> process_of_, host_of_;
  int me_ = 0;
  bool any_thread_ = false;
  const std::thread::id driver_ = std::this_thread::get_id();
  std::mutex guard_;  // of all below, and of MPI
  fermata_window window_{};
  std::vector<Peer> peers_;  // by process
  Message incoming_[kReceives];
  MPI_Request receives_[kReceives];
  bool opened_ = false;
};

}  // namespace fermata::net
#endif
