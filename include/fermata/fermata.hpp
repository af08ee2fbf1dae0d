// C++20 over the C ABI (fermata.h): RAII handles, typed collectives, errors as exceptions (Error in
// error.hpp). It is header only. A function without a comment does what the C function that it calls does.
#ifndef FERMATA_FERMATA_HPP
#define FERMATA_FERMATA_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "fermata/error.hpp"
#include "fermata/operation.hpp"
#include "fermata/request.hpp"

namespace fermata::inline v0 {

enum class Engine { kThreads = FERMATA_THREADS, kProcesses = FERMATA_PROCESSES };
enum class Wait {
  kAuto = FERMATA_WAIT_AUTO,
  kSpin = FERMATA_WAIT_SPIN,
  kYield = FERMATA_WAIT_YIELD,
  kPark = FERMATA_WAIT_PARK
};

class Topology {
 public:
  static Topology discover() { return Topology(detail::made<fermata_topology>(fermata_topology_discover)); }
  static Topology load(const std::string& path) {
    return Topology(detail::made<fermata_topology>(fermata_topology_load, path.c_str()));
  }
  // How many members can run at once: a cgroup quota can make it less than the number of CPUs.
  int cpus() const {
    int n = 0;
    detail::check(fermata_topology_cpus(handle_.get(), &n));
    return n;
  }
  const fermata_topology* get() const noexcept { return handle_.get(); }

 private:
  explicit Topology(fermata_topology* raw) : handle_(raw) {}
  detail::Handle<fermata_topology, fermata_topology_destroy> handle_;
};

class Profile {
 public:
  // An empty path stands for this machine's profile for threads, from the cache.
  static Profile load(const std::string& path = {}) {
    return Profile(
        detail::made<fermata_profile>(fermata_profile_load, path.empty() ? nullptr : path.c_str()));
  }
  const fermata_profile* get() const noexcept { return handle_.get(); }

 private:
  explicit Profile(fermata_profile* raw) : handle_(raw) {}
  detail::Handle<fermata_profile, fermata_profile_destroy> handle_;
};

class Plan {
 public:
  static Plan make(const fermata_plan_request& request) {
    return Plan(detail::made<fermata_plan>(fermata_plan_make, &request));
  }
  static Plan load(const std::string& path) {
    return Plan(detail::made<fermata_plan>(fermata_plan_load, path.c_str()));
  }
  std::string text() const {
    std::size_t length = 0;
    detail::check(fermata_plan_text(handle_.get(), nullptr, &length));
    std::string out(length, '\0');
    detail::check(fermata_plan_text(handle_.get(), out.data(), &length));
    out.resize(length - 1);
    return out;
  }
  const fermata_plan* get() const noexcept { return handle_.get(); }

 private:
  explicit Plan(fermata_plan* raw) : handle_(raw) {}
  detail::Handle<fermata_plan, fermata_plan_destroy> handle_;
};

// One rank's handle. One thread at a time uses it. The destructor leaves the team.
class Member {
 public:
  explicit Member(fermata_member* raw) noexcept : handle_(raw) {}

  int rank() const { return fermata_member_rank(handle_.get()); }
  int size() const { return fermata_member_count(handle_.get()); }

  void barrier() { detail::check(fermata_barrier(handle_.get())); }
  void barrier(std::uint32_t tag) { detail::check(fermata_barrier_tagged(handle_.get(), tag)); }
  void arrive() { detail::check(fermata_arrive(handle_.get())); }
  void depart() { detail::check(fermata_depart(handle_.get())); }
  // True: depart() would not wait, or nothing is outstanding. After an arrive() the member must still depart.
  bool test() {
    const int status = fermata_test(handle_.get());
    detail::check(status);
    return status == FERMATA_OK;
  }
  void resume() { detail::check(fermata_resume(handle_.get())); }

  template <class T>
  T allreduce(T value, Op how) {
    detail::check(
        fermata_allreduce(handle_.get(), &value, &value, 1, detail::type_of<T>(), static_cast<int>(how)));
    return value;
  }
  // In place: the result replaces the values.
  template <class T>
  void allreduce(std::span<T> values, Op how) {
    detail::check(fermata_allreduce(handle_.get(), values.data(), values.data(), values.size(),
                                    detail::type_of<T>(), static_cast<int>(how)));
  }
  // Returns the result at the root, and nothing elsewhere.
  template <class T>
  std::optional<T> reduce(T value, Op how, int root) {
    detail::check(
        fermata_reduce(handle_.get(), &value, &value, 1, detail::type_of<T>(), static_cast<int>(how), root));
    return rank() == root ? std::optional<T>(value) : std::nullopt;
  }
  template <class T>
    requires(!detail::Range<T>)
  void broadcast(T& value, int root) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= FERMATA_MAX_PAYLOAD,
                  "at most 56 plain bytes");
    detail::check(fermata_broadcast(handle_.get(), &value, sizeof value, root));
  }

  // Blocks of any size. Each function waits; operation.hpp describes it under the same name.
  template <detail::Range Data>
  void broadcast(Data&& data, int root) {
    execute(fermata::broadcast(data, root));
  }
  template <detail::Input In, detail::Range Out, class How>
  void reduce(In&& in, Out&& out, How how, int root) {
    execute(fermata::reduce(in, out, how, root));
  }
  template <detail::Input In, detail::Range Out, class How>
  void allreduce(In&& in, Out&& out, How how) {
    execute(fermata::allreduce(in, out, how));
  }
  template <detail::Input In, detail::Range Out>
  void gather(In&& in, Out&& out, int root) {
    execute(fermata::gather(in, out, root));
  }
  template <detail::Range In, detail::Input Out>
  void scatter(In&& in, Out&& out, int root) {
    execute(fermata::scatter(in, out, root));
  }
  template <detail::Input In, detail::Range Out>
  void allgather(In&& in, Out&& out) {
    execute(fermata::allgather(in, out));
  }
  template <detail::Input In, detail::Range Out, class How>
  void reduce_scatter(In&& in, Out&& out, How how) {
    execute(fermata::reduce_scatter(in, out, how));
  }
  template <detail::Input In, detail::Range Out>
  void alltoall(In&& in, Out&& out) {
    execute(fermata::alltoall(in, out));
  }
  template <detail::Input In, detail::Range Out, class How>
  void scan(In&& in, Out&& out, How how) {
    execute(fermata::scan(in, out, how));
  }
  template <detail::Input In, detail::Range Out, class How>
  void exscan(In&& in, Out&& out, How how) {
    execute(fermata::exscan(in, out, how));
  }

  // These take any operation of operation.hpp. execute does it and waits. begin starts it and returns.
  // prepare makes a persistent request, which may be started any number of times.
  void execute(const Operation& operation) {
    const fermata_operation o = detail::finish(operation, size(), rank());
    detail::check(fermata_execute(handle_.get(), &o));
  }
  [[nodiscard]] Request begin(const Operation& operation) { return request(operation, fermata_begin, false); }
  [[nodiscard]] Request prepare(const Operation& operation) {
    return request(operation, fermata_prepare, true);
  }
  // Advances the requests of this thread's members, and resumes coroutines whose requests are over. `most` is
  // the argument max_us of fermata_progress. Returns false if this member had no active request before the
  // coroutines were resumed. They may have started some.
  bool progress(std::chrono::duration<double, std::micro> most = {}) {
    const int status = detail::drive(handle_.get(), most.count());
    detail::check(status);
    return status == FERMATA_PENDING;
  }

  // Members with equal colour form a new team, ordered by key. colour < 0: the member joins none.
  std::optional<Member> split(int colour, int key) {
    auto* const raw = detail::made<fermata_member>(fermata_team_split, handle_.get(), colour, key);
    return raw != nullptr ? std::optional<Member>(Member(raw)) : std::nullopt;
  }

  void set_timeout(std::chrono::duration<double> seconds) {
    detail::check(fermata_member_set_timeout(handle_.get(), seconds.count()));
  }
  void set_idle_hook(fermata_idle_hook hook, void* user) {
    detail::check(fermata_member_set_idle_hook(handle_.get(), hook, user));
  }
  fermata_member* get() const noexcept { return handle_.get(); }

 private:
  template <class Make>
  Request request(const Operation& operation, Make make, bool persistent) {
    const fermata_operation o = detail::finish(operation, size(), rank());
    return Request::adopt(detail::made<fermata_request>(make, handle_.get(), &o), operation, persistent);
  }

  detail::Handle<fermata_member, fermata_member_leave> handle_;
};

// Switches this process's progress thread (fermata_progress_thread).
inline void progress_thread(bool on) { detail::check(fermata_progress_thread(on ? 1 : 0)); }

// Runs coroutines side by side until all are over. It advances the member's requests, and the requests of
// this thread's other members. If coroutines threw, it throws the exception of the first one in the list. The
// others' take() throws theirs. A team that breaks ends the coroutines' requests.
inline void run(Member& member, std::span<Task<>> tasks) {
  for (Task<>& task : tasks) task.start();
  for (Task<>& task : tasks)
    while (!task.is_over()) detail::drive(member.get());
  for (Task<>& task : tasks) task.take();
}
template <class T>
T run(Member& member, Task<T> task) {
  task.start();
  while (!task.is_over()) detail::drive(member.get());
  return task.take();
}

struct TeamOptions {
  Engine engine = Engine::kThreads;
  Wait wait = Wait::kAuto;
  bool tagged = false;
  // The CPU to which the program pins each rank, for the planner; empty: unpinned. The team pins no thread.
  std::vector<int> cpus;
  std::vector<const fermata_plan*> plans;  // plans that replace the cached or estimated ones
  double stall_seconds = 0;                // <= 0: FERMATA_STALL_SECONDS decides (fermata_team_config)
};

class Team {
 public:
  explicit Team(int members, const TeamOptions& options = {}) {
    fermata_team_config config = FERMATA_TEAM_CONFIG_INIT;
    config.members = members;
    config.engine = static_cast<int>(options.engine);
    config.wait = static_cast<int>(options.wait);
    config.tagged = options.tagged ? 1 : 0;
    if (!options.cpus.empty() && options.cpus.size() != static_cast<std::size_t>(members))
      throw std::invalid_argument("TeamOptions.cpus needs one entry per member");
    config.cpus = options.cpus.empty() ? nullptr : options.cpus.data();
    config.plans = options.plans.empty() ? nullptr : options.plans.data();
    config.plan_count = options.plans.size();
    config.stall_seconds = options.stall_seconds;
    handle_ = detail::Handle<fermata_team, fermata_team_destroy>(
        detail::made<fermata_team>(fermata_team_create, &config));
  }
  static Team attach(const std::string& name, double seconds) {
    return Team(detail::made<fermata_team>(fermata_team_attach, name.c_str(), seconds));
  }
  // Waits until `count` calls of attach() were served.
  void serve(const std::string& name, int count, double seconds) {
    detail::check(fermata_team_serve(handle_.get(), name.c_str(), count, seconds));
  }
  int size() const { return fermata_team_size(handle_.get()); }
  // Call it in the thread or process that will call the collectives.
  Member join(int rank = FERMATA_ANY_RANK) {
    return Member(detail::made<fermata_member>(fermata_team_join, handle_.get(), rank));
  }
  void abort() noexcept { fermata_team_abort(handle_.get()); }
  std::string report() const {
    std::size_t length = 0;
    detail::check(fermata_team_report(handle_.get(), nullptr, &length));
    std::string out(length + 256, '\0');
    length = out.size();
    detail::check(fermata_team_report(handle_.get(), out.data(), &length));
    out.resize(out.find('\0'));
    return out;
  }
  fermata_team* get() const noexcept { return handle_.get(); }

 private:
  explicit Team(fermata_team* raw) : handle_(raw) {}
  detail::Handle<fermata_team, fermata_team_destroy> handle_;
};

}  // namespace fermata::inline v0
#endif
