// The scalar truth of stencil.h.
#include "kernels/stencil/stencil.h"

#include <bit>
#include <cmath>

namespace tensorpress::kernels {
namespace {

template <class T>
T absolute(T value) {
  return value < 0 ? -value : value;
}

template <class T>
T mean_of_three(const T* history, std::size_t i) {
  return (history[static_cast<std::ptrdiff_t>(i) - 1] + history[i + 1]) + (history[i] + history[i]);
}

template <class T>
T sum_of_group(const T* at, const std::ptrdiff_t* points, std::uint32_t count) {
  T sum = at[points[0]] + at[points[1]];
  for (std::uint32_t k = 2; k < count; k += 2) sum = sum + (at[points[k]] + at[points[k + 1]]);
  return sum;
}

template <class T>
T snapped(T prediction, const InterpolationModel<T>& model) {
  if (!model.keep_zeros || absolute(prediction) >= model.step + model.step) return prediction;
  constexpr T kRounder = InterpolationNumbers<T>::kRounder;
  return ((prediction * model.inverse_step + kRounder) - kRounder) * model.step;
}

std::uint8_t class_of(float scale, std::int32_t first_class) {
  const auto bits = static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(scale) >> 22);
  const std::int32_t half_octaves = bits - first_class;
  return static_cast<std::uint8_t>(half_octaves < 0 ? 0 : half_octaves > 31 ? 31 : half_octaves);
}

template <class T>
void predict(const StencilRow<T>& stencil, const StencilRows<T>& rows) {
  for (std::size_t r = 0; r < rows.rows; ++r) {
    const T* const at = stencil.at + static_cast<std::ptrdiff_t>(r) * rows.pitch;
    for (std::size_t i = 0; i < rows.count; ++i) {
      T p = 0, near = 0;
      const std::ptrdiff_t* points = stencil.points;
      for (std::size_t g = 0; g < stencil.group_count; ++g) {
        const auto& group = stencil.groups[g];
        const T sum = sum_of_group(at + i, points, group.points);
        points += group.points;
        p = g == 0 ? group.weight * sum : p + group.weight * sum;
        if (g < stencil.axes) near = g == 0 ? sum : near + sum;
      }
      rows.sums[r * rows.result_pitch + i] = p;
      rows.bends[r * rows.result_pitch + i] = absolute(p - near * stencil.near_share);
    }
  }
}

template <class T>
void classify(const StencilRow<T>& stencil, const InterpolationRow<T>& row,
              const InterpolationModel<T>& model, const T* sums, const T* bends, T* predictions,
              std::uint8_t* classes) {
  for (std::size_t i = 0; i < row.count; ++i) {
    T scale = bends[i] * model.curvature + model.floor;
    scale = scale + mean_of_three(row.above, i) * model.above;
    if (row.behind != nullptr) scale = scale + mean_of_three(row.behind, i) * model.behind;
    if (stencil.beside_count > 0) {
      std::int32_t sizes = 0;
      for (std::size_t k = 0; k < stencil.beside_count; ++k) {
        sizes += (stencil.sizes + i)[stencil.beside[k]];
      }
      scale = scale + static_cast<T>(sizes) * stencil.beside_weight;
    }
    predictions[i] = snapped(sums[i], model);
    classes[i] = class_of(static_cast<float>(scale), model.first_class);
  }
}

template <class T>
void sums(const StencilRow<T>& stencil, std::size_t count, std::size_t pitch, T* to) {
  const std::ptrdiff_t* points = stencil.points;
  for (std::size_t g = 0; g < stencil.group_count; ++g) {
    const std::uint32_t of_group = stencil.groups[g].points;
    for (std::size_t i = 0; i < count; ++i) {
      to[g * pitch + i] = sum_of_group(stencil.at + i, points, of_group);
    }
    points += of_group;
  }
}

void keep_sizes(const std::int32_t* residuals, std::size_t count, std::uint8_t* sizes) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(residuals[i]);
    const std::uint32_t size = residuals[i] < 0 ? 0 - bits : bits;
    sizes[i] = static_cast<std::uint8_t>(size > 255 ? 255 : size);
  }
}

template <class T>
void interleave(const T* even, const T* odd, std::size_t count, T* to) {
  for (std::size_t i = 0; i < count; ++i) {
    to[2 * i] = even[i];
    to[2 * i + 1] = odd[i];
  }
}

void add_products(const float* values, std::size_t features, std::size_t pitch, std::size_t count,
                  double* products) {
  for (std::size_t i = 0; i < features; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const float *a = values + i * pitch, *b = values + j * pitch;
      float lanes[kProductLanes] = {};
      for (std::size_t at = 0; at < count; at += kProductLanes) {
        for (std::size_t l = 0; l < kProductLanes; ++l) {
          lanes[l] = lanes[l] + a[at + l] * b[at + l];
        }
      }
      double sum = 0;
      for (const float lane : lanes) sum += static_cast<double>(lane);
      products[i * features + j] += sum;
    }
  }
}

}  // namespace

template <class T>
void samples(const StencilSamples<T>& from, std::size_t pitch, float* features) {
  const std::size_t groups = from.group_count;
  for (std::size_t i = 0; i < kSamplePiece; ++i) {
    const T first = from.sums[i] * static_cast<T>(0.5);
    float activity = 0;
    for (std::size_t g = 1; g < groups; ++g) {
      const T share = static_cast<T>(1) / static_cast<T>(from.groups[g].points);
      const T mean = from.sums[g * from.pitch + i] * share;
      const float feature = static_cast<float>((mean - first) * from.inverse_step);
      activity = activity + std::abs(feature);
      features[(g - 1) * pitch + i] = feature;
    }
    const bool real = i < from.count;
    const T original = real ? from.originals[i * from.step] : static_cast<T>(0);
    const float target = static_cast<float>((original - first) * from.inverse_step);
    features[(groups - 1) * pitch + i] = target;
    const float mean = activity / static_cast<float>(groups);
    // False for NaN too.
    const bool usable = real && mean < kMostFeature && std::abs(target) < kMostFeature;
    const float trust = 1 / std::sqrt(mean * mean + 1);
    for (std::size_t g = 0; g < groups; ++g) {
      float& feature = features[g * pitch + i];
      feature = usable ? feature * trust : 0.0f;
    }
  }
}

template <class T>
const StencilKernels<T>& stencil_kernels_reference() {
  static constexpr StencilKernels<T> kKernels = {
      predict<T>, classify<T>, sums<T>, keep_sizes, interleave<T>, samples<T>, add_products};
  return kKernels;
}
template const StencilKernels<float>& stencil_kernels_reference();
template const StencilKernels<double>& stencil_kernels_reference();

}  // namespace tensorpress::kernels
