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

// A line is a message of fixed size on a communicator that nobody else has: no tag or source of the application's can match it. Messages of
// one process to another arrive in order, so a last one that says how many there were tells when all have.
class MpiPort {
 public:
  // Takes the communicator over. process_of: of each rank of the team; host_of: of each process.
  MpiPort(MPI_Comm comm, std::vector<int> process_of, std::vector<int> host_of);
  ~MpiPort();
  MpiPort(const MpiPort&) = delete;
  MpiPort& operator=(const MpiPort&) = delete;

  // Owned by whoever closes it.
  fermata_port table();

 private:
  static constexpr int kReceives = 16;
  static constexpr int kSends = 4;  // persistent ones to each process; what is beyond them waits here

  struct Send {
    fermata_line line{};
    MPI_Request request = MPI_REQUEST_NULL;
    bool active = false;
  };
  struct Peer {
    std::unique_ptr<Send[]> sends;  // made when the first line goes there
    int next = 0;                   // of them: they are used in turn
    std::deque<fermata_line> queue;
    std::uint64_t sent = 0, received = 0;
    std::uint64_t expected = 0;     // in all, once it has said so
    bool has_closed = false;
    bool is_lost = false;
  };

  static MpiPort& of(void* self) { return *static_cast<MpiPort*>(self); }
  static int open(void* self, const fermata_window* window);
  static void write(void* self, const fermata_line* line);
  static void progress(void* self);
  static int is_gone(void* self, std::uint32_t rank);
  static void flush(void* self, std::int64_t most_ns);
  static void close(void* self, std::int64_t most_ns);

  bool may_call() const { return any_thread_ || std::this_thread::get_id() == driver_; }
  void move();
  void send_to(Peer& peer, int process);
  bool is_idle(Peer& peer);
  void receive();
  void take(const fermata_line& line, int from);
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
  fermata_line incoming_[kReceives];
  MPI_Request receives_[kReceives];
  bool opened_ = false;
};

}  // namespace fermata::net
#endif
