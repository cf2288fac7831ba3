// Images from the files that people keep them in, one after another, as planes of 0 to 255:
//
//   .png   grey or red-green-blue, 8 bits
//   .npy   HxW, HxWxC, CxHxW, NxHxW, NxHxWxC or NxCxHxW with C = 1 or 3; u8, or any other type
//          with values 0 to 255, or floats of 0 to 1, which are multiplied by 255
//   .bin   CIFAR-10's binary batches: records of 1 label byte and 3 x 32 x 32 bytes
//
// Three axes are read as HxWx3 or 3xHxW when the last or first extent is 3 (or 1), otherwise as a
// stack of grey images.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::files {

struct ChannelImage {
  std::size_t height = 0;
  std::size_t width = 0;
  std::vector<std::vector<float>> channels;  // 1 grey or 3 red, green, blue; row by row
};

/// Calls `use` for each image of the file until it returns false.
Result<void> for_each_image(const std::string& path,
                            const std::function<bool(const ChannelImage&)>& use);

}  // namespace tensorpress::files
