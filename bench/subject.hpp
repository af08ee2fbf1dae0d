// What can be benchmarked. One rival = one file in bench/rivals/ + one line in bench/table.cpp.
#ifndef FERMATA_BENCH_SUBJECT_HPP
#define FERMATA_BENCH_SUBJECT_HPP

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/arena.hpp"
#include "bench/case.hpp"
#include "bench/turn.hpp"

namespace fermata::bench {

struct Muster;  // bench/crew.hpp

// Lives in a process of its own, which is stopped outside its turns. Order of calls: prepare (once, before
// any other member exists; everything shared goes into the arena), enter (once per member, in it), work (per
// turn, in each member).
class Subject {
 public:
  virtual ~Subject() = default;
  // "" or why it cannot run here.
  virtual std::string prepare(const Case& c, Arena& arena) = 0;
  virtual std::string enter(int rank) { return (void)rank, std::string(); }
  // Calls turn.run(rank, episode) once.
  virtual void work(int rank, Turn& turn) = 0;
  // True for run-time systems with threads of their own: the host then calls launch, which has all members
  // call work.
  virtual bool launches() const { return false; }
  virtual void launch(Turn& turn) { (void)turn; }
  // True where another program starts the members (mpirun). The host then calls recruit, which has each of
  // them adopt the invitation's arena and call live_as_member with the muster, and, while it waits for them,
  // trouble: not "" once they are lost.
  virtual bool recruits() const { return false; }
  virtual std::string recruit(const std::string& invitation, Muster& muster) {
    return (void)invitation, (void)muster, std::string();
  }
  virtual std::string trouble() { return {}; }
  virtual std::string version() const { return {}; }
  // What is being run, for the record: a plan's text.
  virtual std::string description() const { return {}; }
};

// Floors bound what is possible, probes are measured for the bounds only, rivals are what users have today.
enum class Role : std::uint8_t { kFloor, kProbe, kRival, kOwn };

struct Sizes {
  int least = 0, most = 0;
};
inline constexpr Sizes kOnALine = {0, static_cast<int>(kLinePayload)};
inline constexpr Sizes kAnySize = {0, kMaxBytes};
inline constexpr Sizes kLarge = {1 << 10, kMaxBytes};

struct Entry {
  const char* name;     // of a data floor without the payload's size, which reports append: floor_exchange8
  const char* variant;  // of a floor: "pause"; the fastest variant counts. Else "".
  Role role;
  unsigned collectives;  // bits of 1 << Kind
  unsigned engines;      // bits of 1 << Engine
  int members;           // the only count it is defined for, or 0
  Sizes bytes;           // payloads that it is defined for
  std::unique_ptr<Subject> (*make)();
  const char* worker;       // executable that it lives in, or nullptr: the tool's own code
  const char* environment;  // of that executable: "A=1 B=2"
  const char* needs;        // what to install when it is not available
  // of collectives: any root, and an allreduce that goes on while its caller computes
  bool library = false;
};

constexpr unsigned bit(Kind k) { return 1u << static_cast<unsigned>(k); }
constexpr unsigned bit(Engine e) { return 1u << static_cast<unsigned>(e); }
inline constexpr unsigned kBothEngines = 3u;
inline constexpr unsigned kReductions = (1u << 2) | (1u << 3);

std::span<const Entry> table();

template <class T>
std::unique_ptr<Subject> make_subject() {
  return std::make_unique<T>();
}

}  // namespace fermata::bench
#endif
