// Errors as values. A function that can fail returns Result<T>, which the compiler insists on
// looking at; nothing in the library prints or exits, and nothing throws but std::bad_alloc where
// memory for small things runs out. A message names the thing, the value and the way out.
//
// Taking the value of a Result that holds an error is a bug in the caller. It ends the program, in
// every build, with that error's message on stderr.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "tensorpress/api.h"

namespace tensorpress {

enum class ErrorCode : std::uint8_t {
  bad_argument = 1,  // the caller asked for something that makes no sense
  unsupported = 2,   // it makes sense, but this version cannot do it
  truncated = 3,     // the input ends too early
  corrupt = 4,       // the input contradicts itself or a checksum
  too_large = 5,     // a size beyond a limit or beyond 64 bits
  io = 6,            // the operating system refused a read or a write
  internal = 7,      // a bug in Tensorpress
  // 8 and 9 are statuses of the C API: out of memory, and a runner that failed.
  likely_fill = 10,  // one repeated extreme makes up most of the range: an unnamed fill value?
};

TENSORPRESS_API std::string_view error_name(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

/// Says on stderr which error stands where a value was taken, and aborts.
[[noreturn]] TENSORPRESS_API void end_without_value(const Error& error);
/// The same where an error was taken of a result that has none.
[[noreturn]] TENSORPRESS_API void end_without_error();

template <class T>
class [[nodiscard]] Result {
 public:
  // NOLINTBEGIN(google-explicit-constructor): `return value;` and `return error;` both read well.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  // NOLINTEND(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    if (!ok()) end_without_value(*std::get_if<1>(&state_));
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    if (!ok()) end_without_value(*std::get_if<1>(&state_));
    return *std::get_if<0>(&state_);
  }
  T&& value() && { return std::move(value()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& {
    if (ok()) end_without_error();
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    if (ok()) end_without_error();
    return std::move(*std::get_if<1>(&state_));
  }

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
  /// As of other results: ends the program with the error's message if there is one.
  void value() const {
    if (error_) end_without_value(*error_);
  }
  const Error& error() const& {
    if (!error_) end_without_error();
    return *error_;
  }
  Error&& error() && {
    if (!error_) end_without_error();
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace tensorpress
