#include "tensorpress/result.h"

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
  }
  return "unknown";
}

}  // namespace tensorpress
