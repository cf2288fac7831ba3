#include "tensorpress/result.h"

#include <cstdio>
#include <cstdlib>

namespace tensorpress {

std::string_view error_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::bad_argument:
      return "bad_argument";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::truncated:
      return "truncated";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::too_large:
      return "too_large";
    case ErrorCode::io:
      return "io";
    case ErrorCode::internal:
      return "internal";
    case ErrorCode::likely_fill:
      return "likely_fill";
  }
  return "unknown";
}

void end_without_value(const Error& error) {
  const std::string_view name = error_name(error.code);
  std::fprintf(stderr,
               "tensorpress: the value of a result was taken without asking ok() first, and it "
               "holds an error (%.*s): %s\n",
               static_cast<int>(name.size()), name.data(), error.message.c_str());
  std::abort();
}

void end_without_error() {
  std::fputs("tensorpress: the error of a result was taken, and it holds none\n", stderr);
  std::abort();
}

}  // namespace tensorpress
