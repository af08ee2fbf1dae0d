// fermata.hpp and its parts share this: errors as exceptions, and handles that free their objects.
#ifndef FERMATA_ERROR_HPP
#define FERMATA_ERROR_HPP

#include <stdexcept>
#include <string>
#include <utility>

#include "fermata/fermata.h"

// The major version is part of each name in this namespace. So libraries that were compiled with different
// major versions can be in one process.
namespace fermata::inline v0 {

// The exception that functions of fermata.hpp and its parts throw on an error of the C ABI. It holds the
// status. Its text is the status's text and fermata_error_detail().
class Error : public std::runtime_error {
 public:
  explicit Error(int status)
      : std::runtime_error(std::string(fermata_status_string(status)) + ": " + fermata_error_detail()),
        status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

namespace detail {

inline void check(int status) {
  if (status < 0) [[unlikely]]
    throw Error(status);
}

// Returns what `make`, a function of the C ABI, stores at the last of its arguments.
template <class T, class Make, class... Given>
T* made(Make make, Given... given) {
  T* raw = nullptr;
  check(make(given..., &raw));
  return raw;
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

}  // namespace detail
}  // namespace fermata::inline v0
#endif
