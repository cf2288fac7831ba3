#include "unit/codecs/dct_chop_reference.h"

#include <algorithm>

#include "codecs/dct_chop/reference.h"

namespace tensorpress::testing {
namespace {

struct Transforms {
  dct_chop::Matrix forward, inverse;
};

Transforms transforms_of(const DctChopOptions& options) {
  if (options.transform == "zfp")
    return {dct_chop::zfp_forward_matrix(), dct_chop::zfp_inverse_matrix()};
  return {dct_chop::dct_forward_matrix(), dct_chop::dct_inverse_matrix()};
}

std::vector<double> apply_to_line(const dct_chop::Matrix& matrix, const std::vector<double>& line) {
  std::vector<double> result(line.size());
  for (std::size_t i = 0; i < matrix.points; ++i) {
    for (std::size_t j = 0; j < matrix.points; ++j) result[i] += matrix.at(i, j) * line[j];
  }
  return result;
}

void chop_line(const std::vector<double>& values, const DctChopOptions& options,
               ReferenceResult& result) {
  const Transforms transforms = transforms_of(options);
  const std::size_t points = transforms.forward.points;
  for (std::size_t start = 0; start < values.size(); start += points) {
    std::vector<double> block(points);
    for (std::size_t i = 0; i < points; ++i)
      block[i] = values[std::min(start + i, values.size() - 1)];
    auto coefficients = apply_to_line(transforms.forward, block);
    for (auto i = static_cast<std::size_t>(options.chop_factor); i < points; ++i) {
      result.dropped_energy += coefficients[i] * coefficients[i];
      coefficients[i] = 0;
    }
    result.kept_values += static_cast<std::uint64_t>(options.chop_factor);
    const auto back = apply_to_line(transforms.inverse, coefficients);
    for (std::size_t i = 0; i < points && start + i < values.size(); ++i)
      result.values[start + i] = back[i];
  }
}

void chop_plane(const double* plane, std::size_t height, std::size_t width,
                const DctChopOptions& options, double* output, ReferenceResult& result) {
  const Transforms transforms = transforms_of(options);
  const std::size_t points = transforms.forward.points;
  const auto keep = static_cast<std::size_t>(options.chop_factor);
  for (std::size_t y = 0; y < height; y += points) {
    for (std::size_t x = 0; x < width; x += points) {
      std::vector<double> block(points * points), coefficients(points * points),
          back(points * points);
      for (std::size_t i = 0; i < points * points; ++i) {
        const std::size_t row = std::min(y + i / points, height - 1),
                          column = std::min(x + i % points, width - 1);
        block[i] = plane[row * width + column];
      }
      dct_chop::apply_to_block(transforms.forward, block.data(), coefficients.data());
      for (std::size_t i = 0; i < points * points; ++i) {
        const std::size_t u = i / points, v = i % points;
        const bool kept = options.layout == "triangle" ? u + v < keep : u < keep && v < keep;
        result.kept_values += kept ? 1 : 0;
        if (kept) continue;
        result.dropped_energy += coefficients[i] * coefficients[i];
        coefficients[i] = 0;
      }
      dct_chop::apply_to_block(transforms.inverse, coefficients.data(), back.data());
      for (std::size_t i = 0; i < points * points; ++i) {
        const std::size_t row = y + i / points, column = x + i % points;
        if (row < height && column < width) output[row * width + column] = back[i];
      }
    }
  }
}

}  // namespace

ReferenceResult dct_chop_reference(const std::vector<double>& values, const Shape& shape,
                                   const DctChopOptions& options) {
  ReferenceResult result;
  result.values.resize(values.size());
  if (values.empty()) return result;
  if (shape.rank() < 2) {
    chop_line(values, options, result);
    return result;
  }
  const auto height = static_cast<std::size_t>(shape[shape.rank() - 2]);
  const auto width = static_cast<std::size_t>(shape[shape.rank() - 1]);
  for (std::size_t start = 0; start < values.size(); start += height * width) {
    chop_plane(values.data() + start, height, width, options, result.values.data() + start, result);
  }
  return result;
}

}  // namespace tensorpress::testing
