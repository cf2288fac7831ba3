// The device files of data/, which the build puts into the program (src/CMakeLists.txt).
#pragma once

#include <span>
#include <string_view>

namespace tensorpress::devices {

struct BuiltinText {
  std::string_view name;
  std::string_view text;
};
extern const std::span<const BuiltinText> kBuiltinTexts;

}  // namespace tensorpress::devices
