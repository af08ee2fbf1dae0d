// The parent's side of a worker: starts it, gives it turns, stops it in between, and kills it if it hangs.
#ifndef FERMATA_BENCH_REMOTE_HPP
#define FERMATA_BENCH_REMOTE_HPP

#include <sys/types.h>

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "bench/load.hpp"
#include "bench/worker.hpp"

namespace fermata::bench {

struct Launch {
  std::string name;
  std::function<std::unique_ptr<Subject>()> make;  // the subject of a worker forked from this process
  std::string executable;                          // or else the program to execute
  // The program's settings. Variables of OpenMP run-times and MPIs that are set here are removed before
  // (remote.cpp has the prefixes of their names).
  std::vector<std::string> environment;
  std::string procs;  // of the control group that the worker joins; "": none
};

class Remote {
 public:
  Remote() = default;
  ~Remote() { end(); }
  Remote(Remote&& other) noexcept { *this = std::move(other); }
  Remote& operator=(Remote&& other) noexcept;

  // Precondition: this process has one thread. Returns "" or the reason; on "" sets `version` and
  // `description`.
  std::string start(const Launch& launch, const Case& c);
  // One turn: the worker's process group runs, answers, and is stopped again. It is killed if it has not
  // answered after `limit_s` seconds, and after an error. The pulses act on the group meanwhile.
  struct Outcome {
    Reply reply;
    std::string error;  // not "": no number; the worker is gone
  };
  Outcome turn(const Order& order, double limit_s, std::span<const Pulse> pulses = {});
  // The same without an end: the worker runs until stop(), and begins `order` again whenever it has answered.
  // Returns "" or the error of an earlier answer; then the worker is gone.
  std::string keep_busy(const Order& order);
  void stop() { suspend(); }
  bool alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  void end();

  std::string version, description;

 private:
  void suspend();
  bool await_reply(double limit_s, std::span<const Pulse> pulses);
  std::string receive(Reply& reply, std::string& text, double limit_s, std::span<const Pulse> pulses);
  void remove_scratch();
  // TMPDIR of an executable, in /dev/shm if possible. Removing it removes what a killed run-time has
  // left there.
  std::string scratch_;
  pid_t pid_ = -1;  // also its process group, with the members that it forks
  int socket_ = -1;
  bool busy_ = false;  // an order of keep_busy() has no answer yet
};

}  // namespace fermata::bench
#endif
