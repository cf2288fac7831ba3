// Which DCT coefficients of images are worth keeping: how often each of the 64 of a block is still
// non-zero after JPEG's quantization, by quality and channel. This is Figure 3 of the DCT+Chop
// paper, which draws it for 1000 images of CIFAR-10, and the reason why chopping works.
//
// As the paper does, red, green and blue are taken as they are, without JPEG's change of colour
// space, and all with one quantization table: the luminance table of ITU-T T.81, Annex K.1, scaled
// to a quality the way libjpeg (IJG) does. Blocks are levelled by 128 and start at the upper left;
// the last row and column are repeated where an image does not divide into blocks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::benchmark {

/// 64 divisors, 1 to 255, row by row, for a quality of 1 to 100.
std::array<int, 64> jpeg_quantization_table(int quality);

struct DctEnergyOptions {
  std::vector<int> qualities = {10, 25, 50, 75, 90};
  std::uint64_t most_images = 1000;  // the first ones; 0 is all
};

/// One channel at one quality: a heat map of the figure.
struct DctEnergyPanel {
  std::string channel;  // "red", "green", "blue" or "grey"
  int quality = 0;
  std::uint64_t blocks = 0;
  std::array<double, 64> nonzero_share{};  // of the blocks, row by row; index 0 is the mean (DC)

  /// The share of all non-zero coefficients that lie in the square of CF x CF (or in its triangle,
  /// u + v < CF) in the corner of low frequencies, and so survive the chop. 1 if there are none.
  double kept_by_square(int chop_factor) const;
  double kept_by_triangle(int chop_factor) const;
};

struct DctEnergy {
  std::uint64_t images = 0;
  std::vector<std::string> channels;
  std::vector<int> qualities;
  std::vector<DctEnergyPanel> panels;  // channel by channel, in each quality by quality
};

/// `paths` are images in the formats of files/image/image_files.h.
Result<DctEnergy> run_dct_energy_study(std::span<const std::string> paths,
                                       const DctEnergyOptions& options = {});

}  // namespace tensorpress::benchmark
