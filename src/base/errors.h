// Making errors and passing them on:
//   TRY(auto header, read_header(reader));      // returns the error, or declares `header`
//   RETURN_IF_ERROR(sink.append(bytes));
//   return corrupt("chunk ", number, " has ", bytes, " bytes");
#pragma once

#include <string>
#include <utility>

#include "base/text.h"
#include "tensorpress/result.h"

namespace tensorpress {

template <class... Parts>
Error bad_argument(const Parts&... parts) {
  return {ErrorCode::bad_argument, text(parts...)};
}
template <class... Parts>
Error unsupported(const Parts&... parts) {
  return {ErrorCode::unsupported, text(parts...)};
}
template <class... Parts>
Error truncated(const Parts&... parts) {
  return {ErrorCode::truncated, text(parts...)};
}
template <class... Parts>
Error corrupt(const Parts&... parts) {
  return {ErrorCode::corrupt, text(parts...)};
}
template <class... Parts>
Error too_large(const Parts&... parts) {
  return {ErrorCode::too_large, text(parts...)};
}
template <class... Parts>
Error io_error(const Parts&... parts) {
  return {ErrorCode::io, text(parts...)};
}
template <class... Parts>
Error internal_error(const Parts&... parts) {
  return {ErrorCode::internal, text(parts...)};
}

template <class... Parts>
Error likely_fill(const Parts&... parts) {
  return {ErrorCode::likely_fill, text(parts...)};
}

}  // namespace tensorpress

#define TENSORPRESS_JOIN2(a, b) a##b
#define TENSORPRESS_JOIN(a, b) TENSORPRESS_JOIN2(a, b)

#define TENSORPRESS_TRY(result, declaration, ...)     \
  auto result = (__VA_ARGS__);                        \
  if (!result.ok()) return std::move(result).error(); \
  declaration = std::move(result).value()
#define TRY(declaration, ...) \
  TENSORPRESS_TRY(TENSORPRESS_JOIN(try_result_, __LINE__), declaration, __VA_ARGS__)

#define RETURN_IF_ERROR(...)                                                                     \
  do {                                                                                           \
    if (auto try_result = (__VA_ARGS__); !try_result.ok()) return std::move(try_result).error(); \
  } while (false)

// For conditions that only a bug in Tensorpress can break: stops a debug build, is an `internal`
// error in a release.
#ifdef NDEBUG
#  define ENSURE(condition)                                                             \
    do {                                                                                \
      if (!(condition))                                                                 \
        return ::tensorpress::internal_error(__FILE__, ":", __LINE__, ": " #condition); \
    } while (false)
#else
#  include <cassert>
#  define ENSURE(condition) assert(condition)
#endif
