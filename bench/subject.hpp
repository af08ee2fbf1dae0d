// The interface of a benchmark subject. docs/benchmarking.md says how to add a rival.
#ifndef FERMATA_BENCH_SUBJECT_HPP
#define FERMATA_BENCH_SUBJECT_HPP

#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/arena.hpp"
#include "bench/case.hpp"
#include "bench/turn.hpp"

namespace fermata::bench {

struct Muster;  // bench/workers.hpp

// A subject lives in a process of its own, which is stopped outside its turns. Order of calls: prepare (once,
// before any member exists; members share data in the arena, or in what the subject itself makes), enter
// (once by each member), work (once by each member in each turn). A subject that launches its members gets no
// enter. Each recruited member has a subject of its own, which gets no prepare.
class Subject {
 public:
  virtual ~Subject() = default;
  // Returns "" or why the subject cannot run here.
  virtual std::string prepare(const Case& c, Arena& arena) = 0;
  virtual std::string enter(int rank) { return (void)rank, std::string(); }
  // Calls turn.run(rank, episode) once.
  virtual void work(int rank, Turn& turn) = 0;
  // True for run-time systems with threads of their own: the host calls launch, and launch makes all members
  // call work.
  virtual bool launches() const { return false; }
  virtual void launch(Turn& turn) { (void)turn; }
  // True if another program starts the members (mpirun). The host calls recruit, which makes each member
  // adopt the invitation's arena and call live_as_member with the muster.
  virtual bool recruits() const { return false; }
  virtual std::string recruit(const std::string& invitation, Muster& muster) {
    return (void)invitation, (void)muster, std::string();
  }
  // The host calls it now and then while it waits for members. Returns a text if recruited members are lost.
  virtual std::string trouble() { return {}; }
  virtual std::string version() const { return {}; }
  // Of Fermata's subjects: the text of the plan, for the record.
  virtual std::string description() const { return {}; }
};

// Floors bound what is possible. Probes are measured only for the bounds. Rivals are what users have besides
// Fermata's teams (kOwn).
enum class Role : std::uint8_t { kFloor, kProbe, kRival, kOwn };

struct Sizes {
  int least = 0, most = 0;
};
inline constexpr Sizes kOnALine = {0, static_cast<int>(kLinePayload)};
inline constexpr Sizes kAnySize = {0, kMaxBytes};
inline constexpr Sizes kLarge = {1 << 10, kMaxBytes};

struct Entry {
  const char* name;     // of a data floor without the payload's size, which reports append: floor_exchange8
  const char* variant;  // of a floor or probe: "pause"; the fastest variant counts. Otherwise "".
  Role role;
  unsigned collectives;  // bits of 1 << Collective
  unsigned engines;      // bits of 1 << Engine
  int members;           // the only number of members that it is defined for, or 0
  Sizes bytes;           // payloads that it is defined for
  std::unique_ptr<Subject> (*make)();
  const char* worker;       // the executable that it lives in, or nullptr: the tool's own code
  const char* environment;  // of that executable: "A=1 B=2"
  const char* needs;        // what to install if it is not available
  // has all roots, and an allreduce that overlaps with computing
  bool library = false;
  // the preload of Fermata's that the executable runs with: "openmp", "mpi-openmpi"
  const char* preload = "";
};

constexpr unsigned bit(Collective c) { return 1u << static_cast<unsigned>(c); }
constexpr unsigned bit(Engine e) { return 1u << static_cast<unsigned>(e); }
inline constexpr unsigned kBothEngines = 3u;
inline constexpr unsigned kReductions = (1u << 2) | (1u << 3);

std::span<const Entry> table();

// Runs a turn of one call for each episode: call(), call(in, out), or call(in, out, root). Each returns a
// status, which is tested once, as a program would. One that is not 0 makes the turn void.
template <class Call>
void run_calls(int rank, Turn& turn, Call call) {
  int bad = 0;
  const auto note = [&bad](int status) {
    if (status != 0) [[unlikely]]
      bad = status;
  };
  if constexpr (std::is_invocable_v<Call&>) {
    turn.run(rank, [&] { note(call()); });
  } else if constexpr (std::is_invocable_v<Call&, const double*, double*>) {
    turn.run(rank, [&](const double* in, double* out) { note(call(in, out)); });
  } else {
    Roots roots(turn.members, turn.rotating);
    turn.run(rank, [&](const double* in, double* out) { note(call(in, out, roots.next())); });
  }
  turn.lines[rank].status = bad;
}

}  // namespace fermata::bench
#endif
