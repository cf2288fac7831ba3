#include "benchmark/studies/dct_energy_study.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/errors.h"
#include "codecs/dct_chop/reference.h"
#include "files/image/image_files.h"

namespace tensorpress::benchmark {
namespace {

constexpr std::size_t kBlock = 8;

// ITU-T T.81 (1992), Table K.1: luminance.
constexpr std::array<int, 64> kLuminanceTable = {16, 11, 10, 16, 24,  40,  51,  61,   //
                                                 12, 12, 14, 19, 26,  58,  60,  55,   //
                                                 14, 13, 16, 24, 40,  57,  69,  56,   //
                                                 14, 17, 22, 29, 51,  87,  80,  62,   //
                                                 18, 22, 37, 56, 68,  109, 103, 77,   //
                                                 24, 35, 55, 64, 81,  104, 113, 92,   //
                                                 49, 64, 78, 87, 103, 121, 120, 101,  //
                                                 72, 92, 95, 98, 112, 100, 103, 99};

using Counts = std::array<std::uint64_t, 64>;

/// All channels with the same name, over all images.
struct ChannelCounts {
  std::uint64_t blocks = 0;
  std::vector<Counts> by_quality;
};

class Counter {
 public:
  explicit Counter(std::span<const int> qualities) : transform_(dct_chop::dct_forward_matrix()) {
    for (const int quality : qualities) tables_.push_back(jpeg_quantization_table(quality));
  }

  void count_plane(const std::vector<float>& plane, std::size_t height, std::size_t width,
                   ChannelCounts& counts) const {
    counts.by_quality.resize(tables_.size());
    std::array<double, 64> block;
    for (std::size_t top = 0; top < height; top += kBlock) {
      for (std::size_t left = 0; left < width; left += kBlock) {
        for (std::size_t i = 0; i < 64; ++i) {
          const std::size_t y = std::min(top + i / kBlock, height - 1);
          const std::size_t x = std::min(left + i % kBlock, width - 1);
          block[i] = plane[y * width + x] - 128.0;
        }
        count_block(block, counts);
      }
    }
  }

 private:
  void count_block(const std::array<double, 64>& block, ChannelCounts& counts) const {
    std::array<double, 64> coefficients;
    dct_chop::apply_to_block(transform_, block.data(), coefficients.data());
    ++counts.blocks;
    for (std::size_t q = 0; q < tables_.size(); ++q) {
      for (std::size_t i = 0; i < 64; ++i) {
        const bool nonzero = std::round(coefficients[i] / tables_[q][i]) != 0;
        counts.by_quality[q][i] += nonzero ? 1 : 0;
      }
    }
  }

  dct_chop::Matrix transform_;
  std::vector<std::array<int, 64>> tables_;
};

double kept(const std::array<double, 64>& shares, auto&& inside) {
  double all = 0;
  double in = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    all += shares[i];
    if (inside(static_cast<int>(i / kBlock), static_cast<int>(i % kBlock))) in += shares[i];
  }
  return all > 0 ? in / all : 1;
}

Result<void> check(const DctEnergyOptions& options) {
  if (options.qualities.empty()) return bad_argument("no JPEG quality is given; 50 is the usual");
  for (const int quality : options.qualities) {
    if (quality < 1 || quality > 100) {
      return bad_argument("JPEG quality ", quality, " is not in 1..100");
    }
  }
  return {};
}

}  // namespace

std::array<int, 64> jpeg_quantization_table(int quality) {
  // jpeg_quality_scaling and jpeg_add_quant_table of libjpeg's jcparam.c, in whole numbers.
  quality = std::clamp(quality, 1, 100);
  const int percent = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  std::array<int, 64> table;
  for (std::size_t i = 0; i < 64; ++i) {
    table[i] = std::clamp((kLuminanceTable[i] * percent + 50) / 100, 1, 255);
  }
  return table;
}

double DctEnergyPanel::kept_by_square(int chop_factor) const {
  return kept(nonzero_share, [&](int u, int v) { return u < chop_factor && v < chop_factor; });
}

double DctEnergyPanel::kept_by_triangle(int chop_factor) const {
  return kept(nonzero_share, [&](int u, int v) { return u + v < chop_factor; });
}

Result<DctEnergy> run_dct_energy_study(std::span<const std::string> paths,
                                       const DctEnergyOptions& options) {
  RETURN_IF_ERROR(check(options));
  const Counter counter(options.qualities);
  DctEnergy study;
  std::map<std::string, ChannelCounts> counts;
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(files::for_each_image(path, [&](const files::ChannelImage& image) {
      if (options.most_images != 0 && study.images == options.most_images) return false;
      constexpr std::array kColors = {"red", "green", "blue"};
      for (std::size_t c = 0; c < image.channels.size(); ++c) {
        const char* name = image.channels.size() == 3 ? kColors[c] : "grey";
        counter.count_plane(image.channels[c], image.height, image.width, counts[name]);
      }
      ++study.images;
      return true;
    }));
  }
  if (study.images == 0) {
    return bad_argument("no image to study; name .png, .npy or CIFAR-10 .bin files with images");
  }
  study.qualities = options.qualities;
  for (const char* channel : {"red", "green", "blue", "grey"}) {
    const auto found = counts.find(channel);
    if (found == counts.end() || found->second.blocks == 0) continue;
    study.channels.emplace_back(channel);
    for (std::size_t q = 0; q < options.qualities.size(); ++q) {
      DctEnergyPanel panel{
          .channel = channel, .quality = options.qualities[q], .blocks = found->second.blocks};
      for (std::size_t i = 0; i < 64; ++i) {
        panel.nonzero_share[i] =
            static_cast<double>(found->second.by_quality[q][i]) / static_cast<double>(panel.blocks);
      }
      study.panels.push_back(panel);
    }
  }
  return study;
}

}  // namespace tensorpress::benchmark
