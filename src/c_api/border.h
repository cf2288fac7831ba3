// The border between C and C++: a call's errors become a status and a message, and nothing that is
// thrown gets past it.
#pragma once

#include <new>
#include <utility>

#include "base/errors.h"
#include "tensorpress/tensorpress.h"

namespace tensorpress::c_api {

/// Thrown by us only: an allocator of the caller returned NULL.
struct AllocatorFailed {
  std::size_t bytes;
};
/// Thrown by us only: a runner of the caller gave up or left work undone.
struct RunnerFailed {
  int status;
  std::size_t done, count;
};

/// Fills `error` unless it is NULL, and returns the status. Does not allocate.
tensorpress_status report(tensorpress_error* error, tensorpress_status status,
                          std::string_view message);
tensorpress_status report(tensorpress_error* error, const AllocatorFailed& failure);
tensorpress_status report(tensorpress_error* error, const RunnerFailed& failure);

/// Runs `call`, which returns a Result<void>, and tells its outcome in C's way.
template <class Call>
tensorpress_status at_border(tensorpress_error* error, const Call& call) noexcept {
  try {
    const Result<void> done = call();
    if (done.ok()) return report(error, TENSORPRESS_OK, "");
    return report(error, static_cast<tensorpress_status>(done.error().code), done.error().message);
  } catch (const AllocatorFailed& failure) {
    return report(error, failure);
  } catch (const RunnerFailed& failure) {
    return report(error, failure);
  } catch (const std::bad_alloc&) {
    return report(error, TENSORPRESS_OUT_OF_MEMORY,
                  "memory ran out; smaller chunks or fewer threads need less");
  } catch (...) {
    return report(error, TENSORPRESS_INTERNAL, "an unexpected exception");
  }
}

/// An error when a required pointer is NULL.
inline Result<void> require(const void* pointer, std::string_view name) {
  if (pointer == nullptr) return bad_argument(name, " is NULL");
  return {};
}

}  // namespace tensorpress::c_api
