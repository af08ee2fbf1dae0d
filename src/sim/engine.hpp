// Runs the members of a team as fibers in virtual time. Each access to shared memory is a call of the engine,
// which lets all others go first that come earlier. A member that waits for a line sleeps until the line
// changes, so simulated spins cost nothing. One thread runs it; the same input gives the same result, to the
// bit.
#ifndef FERMATA_SIM_ENGINE_HPP
#define FERMATA_SIM_ENGINE_HPP

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "sim/links.hpp"
#include "sim/machine.hpp"
#include "sim/memory.hpp"

namespace fermata::sim {

// What a member did, for timelines.
enum class What : std::uint8_t { kWait, kMiss, kStore, kAdd, kMessage };
struct Deed {
  std::int32_t member = 0;
  What what = What::kWait;
  std::uint32_t line = 0;
  Time begin = 0, end = 0;
  std::int32_t by = -1;  // kWait: whose store, add or message ended it; kMessage: to whom
  Time since = 0;        // kWait: when that was issued
};

class Engine {
 public:
  // words: the shared memory, whose lines the model sees.
  Engine(const Machine& machine, std::vector<std::uint64_t>& words);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Runs body(member) of each member until all have returned, or until stop(). Returns false if some members
  // wait for ever.
  bool run(const std::function<void(std::int32_t member)>& body);

  // ---- Called by a member's body
  static Engine& now_running() { return *running_; }
  std::uint64_t load(const std::uint64_t& at);
  void store(std::uint64_t& at, std::uint64_t value);
  std::uint64_t add(std::uint64_t& at, std::uint64_t by);
  // The last load has not shown what its caller waits for.
  void pause();
  // A message to a member on another host: `words` arrive at `at`, the last of them as the header.
  struct Word {
    std::uint64_t* at;
    std::uint64_t value;
  };
  void send(std::int32_t to, std::vector<Word> words);
  // The member's own time, with its work so far.
  Time time();
  // Until that time, unless it is over.
  void wait_until(Time time);
  // Until wake_all(time), which another member calls.
  void wait_for_all();
  void wake_all(Time at);
  // The member begins a call: its loads look ahead from here on.
  void begin_call();
  void set_deeds(std::vector<Deed>* deeds) { deeds_ = deeds; }  // where each deed is noted from now on
  // All members end where they are.
  void stop() { stopped_ = true; }

  std::uint64_t events() const { return events_; }
  std::uint64_t messages() const { return messages_; }
  const Memory& memory() const { return memory_; }

 private:
  static constexpr std::int32_t kChange = -1;   // it is seen
  static constexpr std::int32_t kMessage = -2;  // the head of its message is at the next link
  struct Event {
    Time at;
    std::uint64_t number;  // in the order in which they were made
    std::int32_t member;   // who continues; kChange, kMessage: what happens to a change of memory
    std::size_t change;
    bool operator>(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  struct Change {
    std::vector<Word> words;
    std::uint32_t line;
    std::int32_t to;  // of a message: the member to whom it goes; else -1
    std::int32_t by;  // the member that did it
    Time since;
    Message message = {};
  };
  struct Member {
    ucontext_t context;
    std::unique_ptr<std::byte[]> stack;
    Time now = 0;
    Time owed = 0;            // its work since the last load, which a pause remits
    std::uint32_t line = 0;   // of the last load
    bool own_store = false;   // it got what this member's store had not written yet
    bool looked_now = false;  // no pause has come after the last load
    bool looked = false;      // no store has come after it: it is of this stage
    Time ahead = -1;          // from when on the stage's next line counts as asked for; -1: from now on
    std::vector<const std::uint64_t*> own;  // its stores that others do not see yet
    std::vector<std::uint64_t> own_values;
    bool over = false;
  };

  static void enter(unsigned low, unsigned high);
  Member& self() { return members_[static_cast<std::size_t>(me_)]; }
  // Of this member's host: hosts have lines of their own.
  std::uint32_t line_of(const std::uint64_t& at, std::int32_t member) const;
  void push(Time at, std::int32_t member, std::size_t change = 0);
  void pay(Member& m) { m.now += m.owed, m.owed = 0; }
  void work(Member& m) {
    pay(m);
    m.now += machine_.work[static_cast<std::size_t>(me_)];
    m.looked = false;
    m.ahead = -1;
  }
  void settle();
  void leave();
  void change(const Change& change, Time at);
  void travel(std::size_t change, Links::Step step);
  std::size_t new_change();
  void note(Deed deed);

  static thread_local Engine* running_;
  const Machine& machine_;
  std::vector<std::uint64_t>& words_;
  std::vector<Deed>* deeds_ = nullptr;
  Memory memory_;
  std::vector<Member> members_;
  std::function<void(std::int32_t)> body_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::vector<Change> changes_;
  std::vector<std::size_t> free_changes_;
  struct Sleeper {
    std::int32_t member;
    Time since;
  };
  std::unordered_map<std::uint32_t, std::vector<Sleeper>> sleepers_;  // by line
  std::vector<std::int32_t> gathered_;
  Links links_;
  ucontext_t caller_;
  std::int32_t me_ = -1;
  std::uint64_t numbers_ = 0, events_ = 0, messages_ = 0;
  bool stopped_ = false;
};

// The atomics policy (sync/atomics.hpp) over the engine that runs in this thread.
struct Counter {
  std::uint64_t value = 0;
};
struct Atomics {
  template <class>
  using Atomic = Counter;
  using Plain = std::uint64_t;

  template <auto, class T>
  static std::uint64_t load_acquire(const T& a) {
    return Engine::now_running().load(a.value);
  }
  template <class T>
  static std::uint64_t load_relaxed(const T& a) {
    return Engine::now_running().load(a.value);
  }
  template <auto, class T>
  static void store_release(T& a, std::uint64_t v) {
    Engine::now_running().store(a.value, v);
  }
  template <auto, class T>
  static std::uint64_t add_acq_rel(T& a, std::uint64_t v) {
    return Engine::now_running().add(a.value, v);
  }
  // A payload lies on the line of its header, whose access has the cost.
  static std::uint64_t plain_load(const Plain& p) { return p; }
  static void plain_store(Plain& p, std::uint64_t v) { p = v; }
  static const std::uint64_t* plain_words(const Plain* p, std::uint32_t, std::uint64_t*) { return p; }
  static void pause() { Engine::now_running().pause(); }
};

}  // namespace fermata::sim
#endif
