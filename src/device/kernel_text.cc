#include "device/kernel_text.h"

#include <array>
#include <span>

#include "base/embedded.h"

namespace tensorpress::device {

extern const std::span<const EmbeddedFile> kKernelFiles;

std::string kernel_text(std::string_view source) {
  const std::array<std::string_view, 6> parts = {"language", "chunks",  "sums",
                                                 "halves",   "doubles", source};
  std::string text;
  for (const std::string_view part : parts) {
    for (const EmbeddedFile& file : kKernelFiles) {
      if (file.name == part) text += file.text;
    }
  }
  return text;
}

}  // namespace tensorpress::device
