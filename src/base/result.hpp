// Result<T>: a value, or a status with a message. The parts of libfermata-rt do not use Result, but plain
// status codes (src/base/status.hpp).
#ifndef FERMATA_BASE_RESULT_HPP
#define FERMATA_BASE_RESULT_HPP

#include <string>
#include <utility>
#include <variant>

#include "base/status.hpp"

namespace fermata {

struct Error {
  Status status = Status::kSystem;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace fermata
#endif
