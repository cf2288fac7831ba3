// Errors as values. A function that can fail returns Result<T>, which the compiler insists on
// looking at; nothing in the library prints or exits, and nothing throws but std::bad_alloc where
// memory for small things runs out. A message names the thing, the value and the way out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tensorpress {

enum class ErrorCode : std::uint8_t {
  bad_argument = 1,  // the caller asked for something that makes no sense
  unsupported = 2,   // it makes sense, but this version cannot do it
  truncated = 3,     // the input ends too early
  corrupt = 4,       // the input contradicts itself or a checksum
  too_large = 5,     // a size beyond a limit or beyond 64 bits
  io = 6,            // the operating system refused a read or a write
  internal = 7,      // a bug in Tensorpress
};

std::string_view error_name(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor): `return value;` and `return error;` both read well.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  // NOLINTBEGIN(bugprone-unchecked-optional-access): the caller has asked ok() first.
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }
  // NOLINTEND(bugprone-unchecked-optional-access)

 private:
  std::optional<Error> error_;
};

}  // namespace tensorpress
