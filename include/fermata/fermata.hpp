// C++20 over the C ABI: RAII handles, typed collectives, errors as exceptions. Header only.
#ifndef FERMATA_FERMATA_HPP
#define FERMATA_FERMATA_HPP

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fermata/fermata.h"

// The version is part of every name's linkage: two versions can meet in one process.
namespace fermata::inline v0 {

// What every function throws: the status of the C ABI and the sentence that came with it.
class Error : public std::runtime_error {
 public:
  explicit Error(int status)
      : std::runtime_error(std::string(fermata_status_string(status)) + ": " + fermata_error_detail()), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

// Elements that C++20 has no type for, by their bits.
struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

namespace detail {

inline void check(int status) {
  if (status < 0) [[unlikely]] throw Error(status);
}

template <class T, void (*Destroy)(T*)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T* raw) noexcept : raw_(raw) {}
  Handle(Handle&& other) noexcept : raw_(std::exchange(other.raw_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      Destroy(raw_);
      raw_ = std::exchange(other.raw_, nullptr);
    }
    return *this;
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { Destroy(raw_); }
  T* get() const noexcept { return raw_; }
  explicit operator bool() const noexcept { return raw_ != nullptr; }

 private:
  T* raw_ = nullptr;
};

template <class T>
struct Element;  // none: elements are integers, float, double, Half, Bfloat16 and the pairs of fermata.h
template <>
struct Element<float> { static constexpr int kType = FERMATA_FLOAT; };
template <>
struct Element<double> { static constexpr int kType = FERMATA_DOUBLE; };
template <>
struct Element<Half> { static constexpr int kType = FERMATA_HALF; };
template <>
struct Element<Bfloat16> { static constexpr int kType = FERMATA_BFLOAT16; };
template <>
struct Element<fermata_float_int> { static constexpr int kType = FERMATA_FLOAT_INT; };
template <>
struct Element<fermata_double_int> { static constexpr int kType = FERMATA_DOUBLE_INT; };
template <>
struct Element<fermata_int32_int> { static constexpr int kType = FERMATA_INT32_INT; };
template <>
struct Element<fermata_int64_int> { static constexpr int kType = FERMATA_INT64_INT; };
template <>
struct Element<fermata_int16_int> { static constexpr int kType = FERMATA_INT16_INT; };

template <class T>
constexpr int type_of() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    constexpr int kSigned[4] = {FERMATA_INT8, FERMATA_INT16, FERMATA_INT32, FERMATA_INT64};
    constexpr int kUnsigned[4] = {FERMATA_UINT8, FERMATA_UINT16, FERMATA_UINT32, FERMATA_UINT64};
    static_assert(sizeof(T) <= 8, "integers have at most 64 bits");
    return (std::is_signed_v<T> ? kSigned : kUnsigned)[sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
  } else {
    return Element<T>::kType;
  }
}

}  // namespace detail

enum class Op {
  kSum = FERMATA_SUM,
  kProd = FERMATA_PROD,
  kMin = FERMATA_MIN,
  kMax = FERMATA_MAX,
  kAnd = FERMATA_AND,
  kOr = FERMATA_OR,
  kXor = FERMATA_XOR,
  kLand = FERMATA_LAND,
  kLor = FERMATA_LOR,
  kMinloc = FERMATA_MINLOC,
  kMaxloc = FERMATA_MAXLOC
};
enum class Engine { kThreads = FERMATA_THREADS, kProcesses = FERMATA_PROCESSES };
enum class Wait {
  kAuto = FERMATA_WAIT_AUTO,
  kSpin = FERMATA_WAIT_SPIN,
  kYield = FERMATA_WAIT_YIELD,
  kPark = FERMATA_WAIT_PARK
};

class Topology {
 public:
  static Topology discover() {
    fermata_topology* raw = nullptr;
    detail::check(fermata_topology_discover(&raw));
    return Topology(raw);
  }
  static Topology load(const std::string& path) {
    fermata_topology* raw = nullptr;
    detail::check(fermata_topology_load(path.c_str(), &raw));
    return Topology(raw);
  }
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
  // path empty: this machine's from the cache.
  static Profile load(const std::string& path = {}) {
    fermata_profile* raw = nullptr;
    detail::check(fermata_profile_load(path.empty() ? nullptr : path.c_str(), &raw));
    return Profile(raw);
  }
  const fermata_profile* get() const noexcept { return handle_.get(); }

 private:
  explicit Profile(fermata_profile* raw) : handle_(raw) {}
  detail::Handle<fermata_profile, fermata_profile_destroy> handle_;
};

class Plan {
 public:
  static Plan make(const fermata_plan_request& request) {
    fermata_plan* raw = nullptr;
    detail::check(fermata_plan_make(&request, &raw));
    return Plan(raw);
  }
  static Plan load(const std::string& path) {
    fermata_plan* raw = nullptr;
    detail::check(fermata_plan_load(path.c_str(), &raw));
    return Plan(raw);
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

// One rank's handle; used by one thread at a time. Leaves the team when it goes.
class Member {
 public:
  explicit Member(fermata_member* raw) noexcept : handle_(raw) {}

  int rank() const { return fermata_member_rank(handle_.get()); }
  int size() const { return fermata_member_count(handle_.get()); }

  void barrier() { detail::check(fermata_barrier(handle_.get())); }
  void barrier(std::uint32_t tag) { detail::check(fermata_barrier_tagged(handle_.get(), tag)); }
  void arrive() { detail::check(fermata_arrive(handle_.get())); }
  void depart() { detail::check(fermata_depart(handle_.get())); }
  bool test() {
    const int status = fermata_test(handle_.get());
    detail::check(status);
    return status == FERMATA_OK;
  }
  void resume() { detail::check(fermata_resume(handle_.get())); }

  template <class T>
  T allreduce(T value, Op how) {
    detail::check(fermata_allreduce(handle_.get(), &value, &value, 1, detail::type_of<T>(), static_cast<int>(how)));
    return value;
  }
  // In place; at most 56 bytes.
  template <class T>
  void allreduce(std::span<T> values, Op how) {
    detail::check(fermata_allreduce(handle_.get(), values.data(), values.data(), values.size(), detail::type_of<T>(),
                                    static_cast<int>(how)));
  }
  // The result at root; nothing elsewhere.
  template <class T>
  std::optional<T> reduce(T value, Op how, int root) {
    detail::check(fermata_reduce(handle_.get(), &value, &value, 1, detail::type_of<T>(), static_cast<int>(how), root));
    return rank() == root ? std::optional<T>(value) : std::nullopt;
  }
  template <class T>
  void broadcast(T& value, int root) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= FERMATA_MAX_PAYLOAD, "at most 56 plain bytes");
    detail::check(fermata_broadcast(handle_.get(), &value, sizeof value, root));
  }

  // Members of equal colour form a new team, ordered by key; colour < 0: none.
  std::optional<Member> split(int colour, int key) {
    fermata_member* raw = nullptr;
    detail::check(fermata_team_split(handle_.get(), colour, key, &raw));
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
  detail::Handle<fermata_member, fermata_member_leave> handle_;
};

struct TeamOptions {
  Engine engine = Engine::kThreads;
  Wait wait = Wait::kAuto;
  bool tagged = false;
  std::vector<int> cpus;                   // where each rank will run; empty: unpinned
  std::vector<const fermata_plan*> plans;  // instead of the cache's
  double stall_seconds = 0;
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
    fermata_team* raw = nullptr;
    detail::check(fermata_team_create(&config, &raw));
    handle_ = detail::Handle<fermata_team, fermata_team_destroy>(raw);
  }
  static Team attach(const std::string& name, double seconds) {
    fermata_team* raw = nullptr;
    detail::check(fermata_team_attach(name.c_str(), seconds, &raw));
    return Team(raw);
  }
  void serve(const std::string& name, int count, double seconds) {
    detail::check(fermata_team_serve(handle_.get(), name.c_str(), count, seconds));
  }
  int size() const { return fermata_team_size(handle_.get()); }
  // From the thread or process that will call the collectives.
  Member join(int rank = FERMATA_ANY_RANK) {
    fermata_member* raw = nullptr;
    detail::check(fermata_team_join(handle_.get(), rank, &raw));
    return Member(raw);
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
