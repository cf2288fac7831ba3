// PNG pictures in and out (libpng), for studies and reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::files {

struct Image {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 1;        // 1 grey, 3 red-green-blue
  std::vector<std::uint8_t> pixels;  // row by row, channels interleaved
};

Result<Image> read_png(const std::string& path);
/// A complete PNG file in memory.
Result<std::vector<std::uint8_t>> encode_png(const Image& image);

}  // namespace tensorpress::files
