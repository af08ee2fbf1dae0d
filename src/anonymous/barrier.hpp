// The anonymous barrier: chooses counter.hpp or tree.hpp for a barrier, and provides its memory and its
// waiting.
//
// Reused memory: after a thread's arrival, another thread may destroy the barrier and make a new one in its
// place. So a piece of memory only ever holds barriers with the same number of leaves (0: a counter). Other
// data that a thread reads after its arrival is an atomic hint, or a word that never starts anew.
//
// fork: a child has a copy of each barrier. It can use the copy if no other thread of the parent was inside
// the barrier.
#ifndef FERMATA_ANONYMOUS_BARRIER_HPP
#define FERMATA_ANONYMOUS_BARRIER_HPP

#include "anonymous/pool.hpp"
#include "anonymous/tree.hpp"
#include "os/os.hpp"
#include "sync/wait.hpp"

namespace fermata::anonymous {

// The operating system's functions that phases and trees need.
class OsCalls {
 public:
  // signs: of the barrier whose waiters it wakes; null: it has none.
  explicit OsCalls(Signs* signs, bool between_processes = false)
      : signs_(signs), shared_(between_processes) {}
  void wake_all(std::atomic<std::uint32_t>& bell) const {
    if (signs_ != nullptr) sign(*signs_, os::thread_id(), os::current_cpu());
    os::futex_wake_all(bell, shared_);
  }
  void sleep(std::atomic<std::uint32_t>& bell, std::uint32_t seen, std::int64_t ns) const {
    os::futex_sleep(bell, seen, ns, shared_);
  }
  void relax();  // pauses, and sometimes yields, since the other thread may have lost its CPU

 private:
  Signs* signs_;
  bool shared_;
  std::uint32_t times_ = 0;
};

// How many leaves a barrier of `count` has if the CPUs are in `domains` localities. 1: a barrier without a
// completion is a counter.
std::uint32_t leaves_for(std::uint32_t count, std::uint32_t domains);

// Properties of a new barrier besides its count. Tests use this to force shapes that would not be chosen on a
// test machine.
struct Shape {
  bool completion = false;
  std::uint32_t leaves = 0;  // 0: chosen by the machine and the count
  // Returns the current domain, taken modulo leaves; null: the current CPU's.
  std::uint32_t (*entry)() = nullptr;
};

// This thread's spin count: how many times it checks a phase before wait_long(). It holds for the barrier
// where the thread last waited long with the automatic policy, and for a new barrier at the same address,
// until the thread waits long there. One count per barrier would be wrong: a thread that shares its CPU with
// the awaited thread would lower it. Then all other threads would wait long, and lower it further. Access to
// static TLS needs no call.
struct Spins {
  const void* barrier = nullptr;
  std::uint32_t looks = 0;
};
extern constinit thread_local Spins t_spins __attribute__((tls_model("initial-exec")));

// The initial spin count of a thread in a barrier of `count` members, which have `cpus` CPUs.
std::uint32_t choose_spins(std::uint32_t count, Cpus cpus);

// Checks a phase up to `looks` times, each time after a pause. The caller has just checked it once. Returns
// whether it is over.
[[gnu::always_inline]] inline bool look_often(const Phase<RealAtomics>& phase, std::uint64_t token,
                                              std::uint32_t looks) {
  do {
    if (looks-- == 0) return false;
    RealAtomics::pause();
  } while (!is_over(phase, token));
  return true;
}

// The state of a phase, for people to read. The numbers are read one after the other. If the phase ends
// meanwhile, `missing` may be too large: up to `count`.
struct Standing {
  const void* name = nullptr;  // the address by which the report calls the barrier
  std::uint32_t count = 0;     // arrivals in a phase, as the barrier was made: drops are not taken off
  // Arrivals that are missing. 0: all have arrived, but a completion may still run.
  std::uint32_t missing = 0;
};

// A wait that goes on after look_often() has failed.
struct LongWait {
  Phase<RealAtomics>& phase;
  std::atomic<std::uint32_t>& bell;  // on which the barrier's waiters park
  std::uint64_t token;
  const void* barrier;  // what this thread learns holds for this barrier and generation (but see t_spins)
  std::uint32_t generation;
  std::uint32_t count;
  std::uint64_t call;  // the phase's number
  Pace* pace;          // null, and the next, too: the barrier is shared between processes, and has no room
  Signs* signs;
  Standing (*standing)(const void* barrier, std::uint64_t token);
};
void wait_long(const LongWait& wait);

// What meet() returns. The values are statuses of the C ABI. kUnsupported: the barrier has a completion, and
// the thread has not arrived.
enum class Met : std::int32_t {
  kOther = 0,
  kLast = 2,
  kUnsupported = static_cast<std::int32_t>(Status::kUnsupported)
};

class alignas(kMaxLine) Barrier {
 public:
  static Status create(std::uint32_t count, const Shape& shape, Barrier** out);  // kOk or kMemory
  // The caller has waited for the last phase. Other waiters of that phase may still read the memory.
  void destroy();

  bool has_completion() const { return completion_; }

  // The address that reports show; by default the barrier's own.
  // order: relaxed: only for reports
  void set_name(const void* name) { name_.store(name, std::memory_order_relaxed); }
  Standing standing(std::uint64_t token) const;

  Arrival arrive(std::uint32_t arrivals) {
    return leaves_ == 0 ? counter().arrive(arrivals, OsCalls(&signs_)) : arrive_tree(arrivals, false);
  }
  Arrival drop() { return leaves_ == 0 ? counter().drop(OsCalls(&signs_)) : arrive_tree(1, true); }
  void release(std::uint64_t token);
  void wait(std::uint64_t token) { wait_at(leaves_ <= 1 ? first_.phase : domain(entry()).phase, token); }

  // Arrives once and waits; kUnsupported if the barrier has a completion. Where it calls a function, that is
  // the last thing that it does. Otherwise the compiler would save registers on the stack before the arrival,
  // and delay it.
  [[gnu::always_inline]] Met meet() {
    if (measure_.mask == 0) [[unlikely]]
      return meet_any();
    const auto ticket = counter().take_of_mask();
    if (ticket.arrival.last) {
      if (ticket.rest) [[unlikely]]
        return after_meeting(ticket.number, ticket.parked);
      return Met::kLast;
    }
    return wait_at(first_.phase, ticket.arrival.token);
  }

  // The memory of a tree, as tree.hpp needs it.
  Domain<RealAtomics>& domain(std::uint32_t d) { return d == 0 ? first_ : more()[d - 1]; }
  Node<RealAtomics>& inner(std::uint32_t i) {
    return reinterpret_cast<Node<RealAtomics>*>(more() + leaves_ - 1)[i];
  }
  Members<RealAtomics>& members() { return members_; }
  std::uint32_t leaves() const { return leaves_; }

 private:
  using TheTree = Tree<RealAtomics, Barrier, OsCalls>;
  using TheCounter = Counter<RealAtomics>;

  Domain<RealAtomics>* more() { return reinterpret_cast<Domain<RealAtomics>*>(this + 1); }
  TheCounter counter() { return {first_.phase, measure_, drops_, any_drops_}; }
  std::uint32_t entry() const;
  Arrival arrive_tree(std::uint32_t arrivals, bool drops);
  Met meet_any();
  Met after_meeting(std::uint32_t number, bool parked);
  [[gnu::always_inline]] Met wait_at(Phase<RealAtomics>& phase, std::uint64_t token) {
    if (is_over(phase, token)) return Met::kOther;
    // order: relaxed: a hint
    const std::uint32_t looks =
        t_spins.barrier == this ? t_spins.looks : spins_.load(std::memory_order_relaxed);
    return look_often(phase, token, looks) ? Met::kOther : wait_longer(phase, token);
  }
  Met wait_longer(Phase<RealAtomics>& phase, std::uint64_t token);

  Domain<RealAtomics> first_;  // a line for the phase or the counter, a line for the leaf

  // All arriving threads read this line. Only create() and threads that drop write it, so it mostly stays in
  // every cache.
  alignas(kMaxLine) Measure measure_;
  std::uint32_t leaves_;  // 0: a counter; never changes
  bool completion_;
  std::atomic<std::uint32_t> count_;       // this field and the next three are hints, or for waiting
  std::atomic<std::uint32_t> spins_;       // the initial spin count
  std::atomic<std::uint32_t> generation_;  // how many barriers this memory has held
  std::atomic<std::uint32_t (*)()> entry_;
  TheCounter::Any any_drops_;  // 1: a thread has dropped

  // Fields that are seldom written. In a tree, each release writes members_.
  alignas(kMaxLine) Members<RealAtomics> members_;
  Drops<RealAtomics> drops_;
  Pace pace_;
  std::atomic<const void*> name_;
  PoolLink link_;
  Signs signs_;

  friend struct Pools;
};
static_assert(sizeof(Barrier) == 1792);  // docs/usage.md and docs/preload.md tell it

}  // namespace fermata::anonymous
#endif
