#include "c_api/border.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tensorpress::c_api {
namespace {

// How much of a text fits without cutting a UTF-8 character in two.
std::size_t fitting(std::string_view text, std::size_t room) {
  if (text.size() <= room) return text.size();
  std::size_t length = room;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  return length;
}

}  // namespace

tensorpress_status report(tensorpress_error* error, tensorpress_status status,
                          std::string_view message) {
  if (error == nullptr) return status;
  const std::size_t length = fitting(message, TENSORPRESS_MESSAGE_BYTES - 1);
  error->status = status;
  if (length > 0) std::memcpy(error->message, message.data(), length);
  error->message[length] = '\0';
  return status;
}

tensorpress_status report(tensorpress_error* error, const AllocatorFailed& failure) {
  char message[96];
  std::snprintf(message, sizeof message, "the allocator returned NULL for %zu bytes",
                failure.bytes);
  return report(error, TENSORPRESS_OUT_OF_MEMORY, message);
}

tensorpress_status report(tensorpress_error* error, const RunnerFailed& failure) {
  char message[160];
  std::snprintf(
      message, sizeof message,
      "the runner returned %d after %zu of %zu tasks; it must run each of them and return 0",
      failure.status, failure.done, failure.count);
  return report(error, TENSORPRESS_RUNNER_FAILED, message);
}

}  // namespace tensorpress::c_api
