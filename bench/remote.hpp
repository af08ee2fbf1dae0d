// The parent's end of a worker: starts it, gives it turns, stops it in between, kills it when it hangs.
#ifndef FERMATA_BENCH_REMOTE_HPP
#define FERMATA_BENCH_REMOTE_HPP

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "bench/worker.hpp"

namespace fermata::bench {

struct Launch {
  std::string name;
  std::function<std::unique_ptr<Subject>()> make;  // forked from this process; or
  std::string executable;                          // executed, with
  // these settings and no other of an OpenMP run-time or an MPI
  std::vector<std::string> environment;
};

class Remote {
 public:
  Remote() = default;
  ~Remote() { end(); }
  Remote(Remote&& other) noexcept { *this = std::move(other); }
  Remote& operator=(Remote&& other) noexcept;

  // Precondition: this process has no threads. "" or the reason; `version` and `description` are then valid.
  std::string start(const Launch& launch, const Case& c);
  // One turn: the worker runs, answers, and is stopped again with all its threads and processes. A worker
  // that has not answered after `limit_s` seconds is killed.
  struct Outcome {
    Reply reply;
    std::string error;  // not "": no number; the worker is gone
  };
  Outcome turn(const Order& order, double limit_s);
  bool alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  void end();

  std::string version, description;

 private:
  void suspend();
  std::string receive(Reply& reply, std::string& text, double limit_s);
  void remove_scratch();
  // TMPDIR of an executable, in shared memory where there is one: what its run-time leaves behind when it is
  // killed goes with it.
  std::string scratch_;
  pid_t pid_ = -1;  // also its process group, which has all of its members
  int socket_ = -1;
};

}  // namespace fermata::bench
#endif
