#include "command_line/reports/formatted.h"

#include <cstdarg>
#include <cstdio>

namespace tensorpress::cli {

std::string formatted(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string line(size > 0 ? static_cast<std::size_t>(size) : 0, '\0');
  std::vsnprintf(line.data(), line.size() + 1, format, again);
  va_end(again);
  return line;
}

}  // namespace tensorpress::cli
