// A process's port for a team over MPI. It meets the contract of src/net/net.hpp, in the form of
// include/fermata/hosts.h.
#ifndef FERMATA_NET_MPI_PORT_HPP
#define FERMATA_NET_MPI_PORT_HPP

#include <mpi.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "fermata/hosts.h"
#include "wire.hpp"

namespace fermata::net {

// Each line is one message, with its block after it. The port has a communicator of its own, so no tag or
// source of the application matches. MPI matches the messages from one process to another in the order in
// which they were sent. But a long message may be complete after later ones. So each message says how many
// messages were sent before the last flush, and does not land before these. A last message says how many
// there were.
class MpiPort {
 public:
  // Takes over the communicator: close() frees it, unless a message may still be on its way. process_of: the
  // process of each rank of the team. host_of: the host of each process. members: how many members this
  // process has.
  MpiPort(MPI_Comm comm, std::vector<int> process_of, std::vector<int> host_of, int members);
  ~MpiPort();
  MpiPort(const MpiPort&) = delete;
  MpiPort& operator=(const MpiPort&) = delete;

  // The holder of the table owns the port: close() deletes the port, unless MPI may still read its messages.
  // Precondition of close(): may_call(), unless MPI is finalized or the port was never opened.
  fermata_port table();

 private:
  struct Message {
    unsigned char bytes[Wire::kMost];
  };
  struct Receives {  // one element per standing receive
    std::vector<int> sources;
    std::unique_ptr<Message[]> messages;
    std::vector<MPI_Request> requests;
    std::vector<int> over;  // which ones have ended
    std::vector<MPI_Status> statuses;
  };
  struct Bytes {  // one message
    std::unique_ptr<unsigned char[]> at;
    std::size_t count = 0;
  };

  struct Send {
    Bytes message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Peer {
    std::deque<Bytes> queue;     // not sent yet, for example because the writing thread may not call MPI
    std::deque<Send> sends;      // being sent, the oldest first
    std::deque<Bytes> early;     // received before other messages that must land first
    std::uint64_t sent = 0;      // written messages, also those in the queue
    std::uint64_t flushed = 0;   // `sent` at the last flush()
    std::uint64_t received = 0;  // messages that have landed; `early` has the others
    std::uint64_t expected = 0;  // how many messages there are in all, once the peer has announced it
    std::uint64_t longs = 0;     // the number of the next long message to it
    bool has_closed = false;     // the peer has begun close(); some of its messages may not have landed yet
    bool is_lost = false;
  };

  // A long message is an MPI message of its own, from memory to memory. An entry stays until end_long() has
  // returned 1: MPI may use its memory until then.
  struct Long {
    enum State : std::uint8_t { kWaits, kMoves, kOver, kFailed };
    int process = 0, tag = 0, bytes = 0;
    void* at = nullptr;
    bool receives = false;
    bool given_up = false, cancels = false;
    State state = kWaits;  // until a thread that may call MPI begins it
    MPI_Request request = MPI_REQUEST_NULL;
  };

  static MpiPort& of(void* self) { return *static_cast<MpiPort*>(self); }
  static int open(void* self, const fermata_window* window);
  static void write(void* self, const fermata_line* line, const fermata_block* block);
  static void progress(void* self);
  // Not 0: the rank's process is lost, or it has closed its port and all its messages have landed.
  static int is_gone(void* self, std::uint32_t rank);
  static void flush(void* self, std::int64_t most_ns);
  static void close(void* self, std::int64_t most_ns);
  static std::uint64_t send_long(void* self, std::uint32_t to, const void* from, std::uint64_t bytes,
                                 std::uint64_t* number);
  static std::uint64_t receive_long(void* self, std::uint32_t from, std::uint64_t number, void* to,
                                    std::uint64_t bytes);
  static int is_over(void* self, std::uint64_t id);
  static int end_long(void* self, std::uint64_t id, std::int64_t most_ns);

  // May this thread call MPI? Any may with MPI_THREAD_MULTIPLE, or with MPI_THREAD_SERIALIZED if this process
  // has one member. Otherwise only the thread that made the port may.
  bool may_call() const { return any_thread_ || std::this_thread::get_id() == driver_; }
  void move();  // takes what has come, and sends what is in the queues
  // That process is on another host.
  bool is_away(std::size_t process) const {
    return host_of_[process] != host_of_[static_cast<std::size_t>(me_)];
  }
  void prepare_receives();
  unsigned char* scratch();        // scratch_'s bytes
  void queue_scratch(Peer& peer);  // a copy of it
  // If MPI still reads the message at the end, `message` is empty then.
  void send(Peer& peer, int process, Bytes& message);
  void send_to(Peer& peer, int process);
  void end_sends(Peer& peer);
  void receive();
  void take(const unsigned char* message, std::size_t bytes, int from);
  void land(Peer& peer, const Letter& letter);
  std::uint64_t add_long(const Long& message);
  void move_longs();
  bool moves_long() const;  // MPI may still use the memory of one
  void move_long(Long& message);
  bool all_sent();
  bool all_closed() const;
  void wait_for(std::int64_t most_ns, bool closing);
  void end_requests(bool in_order);

  MPI_Comm comm_;
  const std::vector<int> process_of_, host_of_;
  int me_ = 0;
  bool any_thread_ = false;
  const std::thread::id driver_ = std::this_thread::get_id();
  std::mutex guard_;  // guards all members below, and calls of MPI between open() and close()
  fermata_window window_{};
  std::vector<Peer> peers_;  // by process
  Bytes scratch_;            // for the next message; has room for the longest
  Receives receives_;
  std::map<std::uint64_t, Long> longs_;  // by id
  std::uint64_t last_id_ = 0;
  bool opened_ = false;
};

}  // namespace fermata::net
#endif
