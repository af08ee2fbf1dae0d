// Requests in C++: operations that go on while the program computes, with continuations and coroutines.
//
// All members begin their operations in the same order. Coroutines that run side by side may overtake each
// other, so they must start persistent operations instead.
//
// An operation goes on in every call of its thread that waits, tests or asks for progress. With the progress
// thread on (fermata::progress_thread), data also move between these calls. Continuations run in such a call,
// in Request::start(), or when the Member is destroyed. They may start requests and reset them, and must
// neither wait nor call Member::progress or run(). These two functions resume coroutines outside of any
// continuation, so coroutines may wait.
#ifndef FERMATA_REQUEST_HPP
#define FERMATA_REQUEST_HPP

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fermata/operation.hpp"

namespace fermata::inline v0 {

namespace detail {

// Coroutines of this thread whose requests are over, and that wait to be resumed.
inline std::vector<std::coroutine_handle<>>& resumable() {
  static thread_local std::vector<std::coroutine_handle<>> handles;
  return handles;
}

inline void resume_all() {
  while (!resumable().empty()) {
    const std::coroutine_handle<> handle = resumable().front();
    resumable().erase(resumable().begin());  // one at a time: the coroutine may destroy others in the list
    handle.resume();
  }
}

inline int drive(fermata_member* member, double most_us = 50) {
  const int status = fermata_progress(member, most_us);
  resume_all();
  return status;
}

}  // namespace detail

// A request can be moved, but not copied. The destructor waits for an active request, without a time limit.
// In a continuation of its member it cannot wait, so it returns at once. The operation goes on, and is freed
// when it is over: its buffers must stay valid until then, and its continuations still run. No call may wait
// for a request that is destroyed in a continuation.
class Request {
 public:
  Request() = default;
  Request(Request&&) noexcept = default;
  Request& operator=(Request&& other) noexcept {
    if (this != &other) {
      let_go();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~Request() { let_go(); }
  explicit operator bool() const noexcept { return state_ != nullptr; }

  // A persistent request (Member::prepare) may be started any number of times. start() throws if the
  // request cannot start, for example because it is still active.
  Request& start() {
    const bool was_over = std::exchange(state_->over, false);
    const int status = fermata_request_start(state_->raw);
    if (status < 0) state_->over = was_over;
    detail::check(status);
    return *this;
  }
  // Returns whether the request is over. If it is, test() throws its error, or what a continuation threw. A
  // persistent request that is not active counts as over.
  bool test() {
    const int status = fermata_request_test(state_->raw);
    if (status == FERMATA_PENDING) return false;
    finished(status);
    return true;
  }
  // Waits until the request is over. Throws its error, or what a continuation threw. Throws
  // Error(FERMATA_ERR_TIMEOUT) after Member::set_timeout's time, and Error(FERMATA_ERR_INTERRUPTED) if the
  // idle hook ends the wait; the request is then still active.
  void wait() { finished(fermata_request_wait(state_->raw)); }

  // Sets other buffers of the same sizes for all later starts. The request must not be active.
  template <detail::Input In, detail::Input Out>
  Request& reset(In&& in, Out&& out) {
    const Operation o = detail::operation(0, in, out);
    const fermata_operation& was = state_->operation.raw;
    detail::require(o.raw.type == was.type && o.raw.element == was.element, "buffers of other elements");
    detail::require(o.in == state_->operation.in && o.out == state_->operation.out, "buffers of other sizes");
    detail::check(fermata_request_reset(state_->raw, o.raw.in, o.raw.out));
    return *this;
  }

  // Calls f(status) each time that the request is over, in the call that makes the progress. If a request
  // from begin is already over, calls f at once, and not again. status is FERMATA_OK or an error. If f
  // throws in a call that makes progress, the next wait() or test() of this request throws that exception. If
  // f throws when it is called at once, then() throws.
  template <class F>
    requires std::invocable<F&, int>
  Request& then(F f) & {
    const int status = state_->persistent ? FERMATA_PENDING : fermata_request_test(state_->raw);
    if (status == FERMATA_PENDING)
      state_->continuations.emplace_back(std::make_unique<Continuation<F>>(std::move(f)));
    else f(status);
    return *this;
  }
  template <class F>
    requires std::invocable<F&, int>
  Request then(F f) && {
    then(std::move(f));
    return std::move(*this);
  }

  // `co_await request` or `co_await request.start()` waits until the request is over. It throws as
  // test(), and has no time limit. Only one coroutine at a time may wait for a request.
  auto operator co_await() & noexcept { return Awaiter(*state_); }
  auto operator co_await() && noexcept { return Awaiter(*state_); }

  fermata_request* get() const noexcept { return state_ != nullptr ? state_->raw : nullptr; }

  // Makes a Request of a C request, which it frees. For Member::begin and prepare, and for chain().
  static Request adopt(fermata_request* raw, const Operation& operation, bool persistent) {
    Request request;
    request.state_ = std::make_unique<State>();
    request.state_->raw = raw;
    request.state_->operation = operation;
    request.state_->persistent = persistent;
    detail::check(fermata_request_set_callback(raw, completed, request.state_.get()));
    return request;
  }

  // Makes one request of one or more persistent requests that run one after the other (fermata_chain). Throws
  // Error(FERMATA_ERR_ARGUMENT) if there is none. Continuations that were added to them before still run,
  // each before the next request starts. An exception of such a continuation is lost.
  static Request chain(std::vector<Request> links) {
    std::vector<fermata_request*> raw;
    for (const Request& link : links) raw.push_back(link.get());
    fermata_request* whole = nullptr;
    detail::check(fermata_chain(raw.data(), raw.size(), &whole));
    Operation ends = links.front().state_->operation;
    ends.raw.out = links.back().state_->operation.raw.out;
    ends.out = links.back().state_->operation.out;
    Request request = adopt(whole, ends, true);
    for (Request& link : links) request.state_->links.push_back(std::move(link.state_));
    return request;
  }

 private:
  struct AnyContinuation {
    virtual ~AnyContinuation() = default;
    virtual void run(int status) = 0;
  };
  template <class F>
  struct Continuation : AnyContinuation {
    explicit Continuation(F given) : f(std::move(given)) {}
    void run(int status) override { f(status); }
    F f;
  };
  // A State has a fixed address, even if the Request is moved.
  struct State {
    fermata_request* raw = nullptr;
    Operation operation;
    bool persistent = false;
    bool over = false;     // since its last start
    bool runs = false;     // its continuations run
    bool dropped = false;  // its Request is gone: completed() frees it
    std::vector<std::unique_ptr<AnyContinuation>> continuations;
    std::coroutine_handle<> waiter;
    std::exception_ptr thrown;
    std::vector<std::unique_ptr<State>> links;  // only in a chain, which frees their C requests
  };
  class Awaiter {
   public:
    explicit Awaiter(State& state) noexcept : state_(state) {}
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    // A coroutine that is destroyed while it waits must not be resumed.
    ~Awaiter() {
      if (!waiter_) return;
      if (state_.waiter == waiter_) state_.waiter = nullptr;
      else std::erase(detail::resumable(), waiter_);
    }
    bool await_ready() const { return fermata_request_test(state_.raw) != FERMATA_PENDING; }
    void await_suspend(std::coroutine_handle<> waiter) { state_.waiter = waiter_ = waiter; }
    void await_resume() {
      waiter_ = nullptr;
      finish(state_, fermata_request_test(state_.raw));
    }

   private:
    State& state_;
    std::coroutine_handle<> waiter_;
  };

  // C code calls it, so no exception may leave it.
  static void completed(fermata_request*, int status, void* user) noexcept {
    State& state = *static_cast<State*>(user);
    state.over = state.runs = true;
    // Continuations may add others. Those of a persistent request run the next time.
    const std::size_t now = state.continuations.size();
    for (std::size_t i = 0; i < now; ++i) {
      try {
        state.continuations[i]->run(status);
      } catch (...) {
        if (!state.thrown) state.thrown = std::current_exception();
      }
    }
    state.runs = false;
    if (state.waiter && state.over) detail::resumable().push_back(std::exchange(state.waiter, nullptr));
    // A continuation may have started it again.
    if (state.dropped && fermata_request_free(state.raw) != FERMATA_ERR_BUSY) delete &state;
  }
  static void finish(State& state, int status) {
    if (state.thrown) std::rethrow_exception(std::exchange(state.thrown, nullptr));
    detail::check(status);
  }
  void finished(int status) { finish(*state_, status); }
  void let_go() noexcept {
    if (state_ == nullptr) return;
    int waited = state_->runs ? FERMATA_ERR_BUSY : FERMATA_OK;
    while (state_->runs || fermata_request_free(state_->raw) == FERMATA_ERR_BUSY) {
      if (waited == FERMATA_ERR_BUSY || waited == FERMATA_ERR_FORKED) {  // this thread cannot wait for it
        state_.release()->dropped = true;
        return;
      }
      waited = fermata_request_wait(state_->raw);
    }
    state_.reset();
  }

  std::unique_ptr<State> state_;
  friend void wait_all(std::span<Request> requests);
};

namespace detail {

inline std::vector<fermata_request*> raw_of(std::span<const Request> requests) {
  std::vector<fermata_request*> raw;
  for (const Request& r : requests) raw.push_back(r.get());
  return raw;
}

template <class Ask>
std::optional<std::size_t> any_of(std::span<Request> requests, Ask&& ask) {
  const std::vector<fermata_request*> raw = raw_of(requests);
  std::size_t index = raw.size();
  const int status = ask(raw.data(), raw.size(), &index);
  if (status == FERMATA_PENDING) return std::nullopt;
  if (index == raw.size()) check(status);
  requests[index].wait();  // is over: throws its error
  return index;
}

}  // namespace detail

// Waits for all requests, and skips empty entries. For each request, the time limit of its member holds, and
// counts from the start of the call. If continuations threw, throws the exception of the first request in the
// list that has one, else the first error of a request. Error(FERMATA_ERR_TIMEOUT) and
// Error(FERMATA_ERR_INTERRUPTED) end the wait at once.
inline void wait_all(std::span<Request> requests) {
  const std::vector<fermata_request*> raw = detail::raw_of(requests);
  const int status = fermata_request_wait_all(raw.data(), raw.size());
  for (Request& r : requests)
    if (r) r.finished(FERMATA_OK);
  detail::check(status);
}

// wait_any returns the index of a request that is over; test_any returns nothing if there is none. Both throw
// that request's error, and skip empty entries. Both throw Error(FERMATA_ERR_ARGUMENT) if all are empty. The
// requests may belong to any members that this thread uses.
inline std::size_t wait_any(std::span<Request> requests) {
  return detail::any_of(requests, fermata_request_wait_any).value();
}
inline std::optional<std::size_t> test_any(std::span<Request> requests) {
  return detail::any_of(requests, fermata_request_test_any);
}

// A coroutine that may co_await requests and other tasks. It starts when it is awaited, by start(), or when
// it is passed to run() (fermata.hpp).
template <class T = void>
class Task;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> waiter;
  std::exception_ptr thrown;

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      const std::coroutine_handle<> next = self.promise().waiter;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept { thrown = std::current_exception(); }
};
template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& u) {
    value.emplace(std::forward<U>(u));
  }
  T take() {
    if (thrown) std::rethrow_exception(thrown);
    return std::move(*value);
  }
};
template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() const {
    if (thrown) std::rethrow_exception(thrown);
  }
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  explicit Task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  void start() { handle_.resume(); }
  bool is_over() const { return handle_.done(); }
  T take() { return handle_.promise().take(); }  // Returns the task's value or throws its exception.

  auto operator co_await() && noexcept {
    struct Awaiter {
      std::coroutine_handle<promise_type> handle;
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) const noexcept {
        handle.promise().waiter = waiter;
        return handle;
      }
      T await_resume() const { return handle.promise().take(); }
    };
    return Awaiter{handle_};
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

template <class T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace detail
}  // namespace fermata::inline v0
#endif
