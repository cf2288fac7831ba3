#include "codecs/dense/lattice/anchors.h"

#include <cmath>

#include "base/errors.h"
#include "codecs/dense/varint.h"
#include "kernels/interpolation/interpolation.h"

namespace tensorpress::dense {
namespace {

// Coarsest values are multiples of the step, predicted by the plane before or by 2-D Lorenzo.
std::int64_t predict_anchor(const std::int64_t* at, const Extents& extent, std::size_t z,
                            std::size_t y, std::size_t x) {
  const auto u = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const auto row = static_cast<std::ptrdiff_t>(extent[2]);
  if (z > 0) return at[-row * static_cast<std::ptrdiff_t>(extent[1])];
  if (x > 0 && y > 0) return static_cast<std::int64_t>(u(at[-1]) + u(at[-row]) - u(at[-row - 1]));
  return x > 0 ? at[-1] : y > 0 ? at[-row] : 0;
}
template <class T>
T anchor_value(std::int64_t steps, T step) {
  const T value = static_cast<T>(steps) * step;
  return std::abs(value) <= kernels::InterpolationNumbers<T>::kLargest ? value : static_cast<T>(0);
}

}  // namespace

template <class T>
void code_anchors(const Lattice& lattice, T step, T bound, const T* originals, T first_value, T* to,
                  std::vector<std::byte>& anchors, std::vector<Outlier<T>>& outliers) {
  const Extents& extent = lattice.extent[lattice.levels];
  const double inverse = 1.0 / static_cast<double>(step);
  std::vector<std::int64_t> steps(lattice.count(lattice.levels));
  std::int64_t* at = steps.data();
  // A hole takes the last value before it: interpolation between a coast and nothing would spoil
  // the rows along the coast.
  T present = first_value;
  for (std::size_t z = 0; z < extent[0]; ++z) {
    for (std::size_t y = 0; y < extent[1]; ++y) {
      for (std::size_t x = 0; x < extent[2]; ++x, ++at, ++originals, ++to) {
        const std::int64_t predicted = predict_anchor(at, extent, z, y, x);
        *at = predicted;
        if (!std::isnan(*originals)) present = *originals;
        const double exact = static_cast<double>(present) * inverse;
        if (std::abs(exact) < 0x1p50) {
          constexpr double kRounder = kernels::InterpolationNumbers<double>::kRounder;
          *at = static_cast<std::int64_t>((exact + kRounder) - kRounder);
        }
        *to = anchor_value(*at, step);
        if (std::abs(*originals - *to) > bound) {
          outliers.push_back({lattice.position(lattice.levels, z, y, x), *originals});
          *at = predicted;
          *to = anchor_value(*at, step);
        }
        const std::uint64_t delta =
            static_cast<std::uint64_t>(*at) - static_cast<std::uint64_t>(predicted);
        append_varint(anchors, (delta << 1) ^ (0 - (delta >> 63)));
      }
    }
  }
}

template <class T>
Result<void> read_anchors(ByteReader& reader, const Lattice& lattice, T step, T* to) {
  const std::size_t count = lattice.count(lattice.levels);
  if (reader.remaining() < count) {
    return truncated("a chunk ends within its ", count, " coarsest values");
  }
  return read_anchors<T>([&] { return reader.read_varint(); }, lattice, step, to);
}

template <class T>
Result<void> read_anchors(const std::function<Result<std::uint64_t>()>& next,
                          const Lattice& lattice, T step, T* to) {
  const Extents& extent = lattice.extent[lattice.levels];
  std::vector<std::int64_t> steps(lattice.count(lattice.levels));
  std::int64_t* at = steps.data();
  for (std::size_t z = 0; z < extent[0]; ++z) {
    for (std::size_t y = 0; y < extent[1]; ++y) {
      for (std::size_t x = 0; x < extent[2]; ++x, ++at, ++to) {
        TRY(const auto zigzag, next());
        const std::uint64_t delta = (zigzag >> 1) ^ (0 - (zigzag & 1));
        *at = static_cast<std::int64_t>(
            static_cast<std::uint64_t>(predict_anchor(at, extent, z, y, x)) + delta);
        *to = anchor_value(*at, step);
      }
    }
  }
  return {};
}

template void code_anchors(const Lattice&, float, float, const float*, float, float*,
                           std::vector<std::byte>&, std::vector<Outlier<float>>&);
template Result<void> read_anchors(ByteReader&, const Lattice&, float, float*);
template void code_anchors(const Lattice&, double, double, const double*, double, double*,
                           std::vector<std::byte>&, std::vector<Outlier<double>>&);
template Result<void> read_anchors(ByteReader&, const Lattice&, double, double*);
template Result<void> read_anchors(const std::function<Result<std::uint64_t>()>&, const Lattice&,
                                   float, float*);
template Result<void> read_anchors(const std::function<Result<std::uint64_t>()>&, const Lattice&,
                                   double, double*);

}  // namespace tensorpress::dense
