// Errors of the library as Python exceptions. Only this layer throws.
//
//   bad_argument        ValueError
//   unsupported         tensorpress.UnsupportedError (a ValueError)
//   truncated, corrupt  tensorpress.CorruptError (a ValueError)
//   too_large           tensorpress.TooLargeError (a ValueError)
//   io                  OSError
//   likely_fill         tensorpress.LikelyFillError (a ValueError)
//   internal            RuntimeError
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "tensorpress/result.h"

namespace tensorpress::python {

/// Adds the exception classes to the module.
void define_errors(nanobind::module_& module);

/// Call these with the GIL held.
nanobind::object exception_of(const Error& error);
[[noreturn]] void raise(const Error& error);
[[noreturn]] void raise_type_error(const std::string& message);

/// The value, or the exception that says why there is none.
template <class T>
T value_or_raise(Result<T> result) {
  if (!result.ok()) raise(result.error());
  return std::move(result).value();
}
inline void check(const Result<void>& result) {
  if (!result.ok()) raise(result.error());
}

}  // namespace tensorpress::python
