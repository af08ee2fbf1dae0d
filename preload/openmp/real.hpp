// The run-time libraries' own functions behind the wrapped ones, and which library they are from.
#ifndef FERMATA_PRELOAD_OPENMP_REAL_HPP
#define FERMATA_PRELOAD_OPENMP_REAL_HPP

#define FERMATA_EXPORT extern "C" __attribute__((visibility("default")))

#include <atomic>

namespace fermata::preload {

// Looked up behind this library in the program's search order, else in the OpenMP run-time library that is loaded (one that came
// with a dlopen(RTLD_LOCAL) is in no search order). Null if there is none.
void* find_next(const char* name);
// In the library that `function` is from.
void* find_beside(const void* function, const char* name);
// For a call that has nowhere to go: says so and aborts.
[[noreturn]] void no_such_function(const char* name);

// One real function, looked up at its first use. Constant-initialized: it may be used before any constructor has run.
template <class Function>
class Real {
 public:
  explicit constexpr Real(const char* name) : name_(name) {}

  // Null if there is none.
  Function* find() {
    Function* known = function_.load(std::memory_order_relaxed);  // order: relaxed: a pointer to code, the same whoever stores it
    if (known != nullptr) [[likely]] return known;
    known = reinterpret_cast<Function*>(find_next(name_));
    function_.store(known, std::memory_order_relaxed);  // order: see above
    return known;
  }
  Function* get() {
    Function* known = find();
    if (known == nullptr) no_such_function(name_);
    return known;
  }

 private:
  const char* name_;
  std::atomic<Function*> function_{nullptr};
};

// FERMATA_DISABLE is set: every wrapper calls the real function at once.
bool disabled();

}  // namespace fermata::preload
#endif
