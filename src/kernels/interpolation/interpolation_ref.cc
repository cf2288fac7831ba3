// The scalar truth of interpolation.h.
#include <bit>
#include <cmath>

#include "kernels/interpolation/interpolation.h"

namespace tensorpress::kernels {
namespace {

template <class T>
T absolute(T value) {
  return value < 0 ? -value : value;
}

template <class T>
T round_to_even(T value) {
  return (value + InterpolationNumbers<T>::kRounder) - InterpolationNumbers<T>::kRounder;
}

template <class T>
T finish(T value, const InterpolationModel<T>& model) {
  if (model.keep_zeros && absolute(value) <= model.step * static_cast<T>(kZeroRadius)) value = 0;
  return absolute(value) <= InterpolationNumbers<T>::kLargest ? value : static_cast<T>(0);
}

template <class T>
T mean_of_three(const T* history, std::size_t i) {
  return (history[static_cast<std::ptrdiff_t>(i) - 1] + history[i + 1]) + (history[i] + history[i]);
}

template <class T>
void predict(const InterpolationRow<T>& row, const InterpolationModel<T>& model, T* predictions,
             std::uint8_t* classes) {
  for (std::size_t i = 0; i < row.count; ++i) {
    T sum = 0, slope = 0, bend = 0;
    for (std::size_t k = 0; k < row.directions; ++k) {
      const auto& direction = row.direction[k];
      const std::size_t at = i * direction.stride;
      const T left = direction.left[at], right = direction.right[at];
      const T s = left + right;
      const T b = s - (direction.far_left[at] + direction.far_right[at]);
      const T g = absolute(left - right);
      sum = k == 0 ? s : sum + s;
      bend = k == 0 ? b : bend + b;
      slope = k == 0 ? g : slope + g;
    }
    T half = static_cast<T>(0.5), cubic = model.cubic, gradient = model.gradient,
      curvature = model.curvature;
    if (row.directions > 1) {
      const T share = row.directions == 2 ? static_cast<T>(0.5) : static_cast<T>(1.0f / 3.0f);
      half *= share;
      cubic *= share;
      gradient *= share;
      curvature *= share;
    }
    const T p = half * sum + cubic * bend;
    T scale = slope * gradient + model.floor;
    scale = scale + absolute(bend) * curvature;
    scale = scale + mean_of_three(row.above, i) * model.above;
    if (row.behind != nullptr) scale = scale + mean_of_three(row.behind, i) * model.behind;
    T prediction = p;
    if (row.error != nullptr) {
      prediction = p + model.feedback * row.error[i];
      row.error[i] = p;
    }
    if (model.keep_zeros && absolute(prediction) < model.step + model.step) {
      prediction = round_to_even(prediction * model.inverse_step) * model.step;
    }
    predictions[i] = prediction;
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(scale));
    std::int32_t half_octaves = static_cast<std::int32_t>(bits >> 22) - model.first_class;
    if (half_octaves < 0) half_octaves = 0;
    if (half_octaves > 31) half_octaves = 31;
    classes[i] = static_cast<std::uint8_t>(half_octaves);
  }
}

template <class T>
void store(const RowOutput<T>& output, std::size_t i, T value) {
  if (output.store == RowStore::contiguous) output.values[i] = value;
  if (output.store == RowStore::interleaved) {
    output.values[2 * i] = output.between[i];
    output.values[2 * i + 1] = value;
  }
}

template <class T>
void remember(const InterpolationRow<T>& row, std::size_t i, T residual, T value) {
  T size = absolute(residual);
  if (size > static_cast<T>(kMostHistory)) size = static_cast<T>(kMostHistory);
  if (size < static_cast<T>(kLeastHistory)) size = static_cast<T>(kLeastHistory);
  row.above[i] = (row.above[i] + size) * static_cast<T>(0.5);
  if (row.behind != nullptr) row.behind[i] = (row.behind[i] + size) * static_cast<T>(0.5);
  if (row.error != nullptr) row.error[i] = value - row.error[i];
}

template <class T>
std::size_t quantize(const T* originals, std::size_t stride, const InterpolationRow<T>& row,
                     const InterpolationModel<T>& model, const T* predictions,
                     std::int32_t* residuals, const RowOutput<T>& output, std::uint32_t* outliers) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < row.count; ++i) {
    const T original = originals[i * stride];
    const T steps = (original - predictions[i]) * model.inverse_step;
    T residual = 0;
    if (absolute(steps) < InterpolationNumbers<T>::kResidualLimit) residual = round_to_even(steps);
    T value = finish(predictions[i] + residual * model.step, model);
    bool outlier = absolute(original - value) > model.bound ||
                   absolute(steps) >= InterpolationNumbers<T>::kResidualLimit;
    if (model.keep_zeros) outlier = outlier || (original == 0 && value != 0);
    if (outlier) {
      outliers[found++] = static_cast<std::uint32_t>(i);
      residual = 0;
      value = finish(predictions[i] + residual * model.step, model);
    }
    residuals[i] = static_cast<std::int32_t>(residual);
    remember(row, i, residual, value);
    store(output, i, value);
  }
  return found;
}

template <class T>
void reconstruct(const std::int32_t* residuals, const InterpolationRow<T>& row,
                 const InterpolationModel<T>& model, const T* predictions,
                 const RowOutput<T>& output) {
  for (std::size_t i = 0; i < row.count; ++i) {
    const T residual = static_cast<T>(residuals[i]);
    const T value = finish(predictions[i] + residual * model.step, model);
    remember(row, i, residual, value);
    store(output, i, value);
  }
}

void translate(const std::uint8_t* map, std::uint8_t* classes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) classes[i] = map[classes[i] & 31];
}

}  // namespace

template <class T>
const InterpolationKernels<T>& interpolation_kernels_reference() {
  static constexpr InterpolationKernels<T> kKernels = {predict<T>, quantize<T>, reconstruct<T>,
                                                       translate};
  return kKernels;
}
template const InterpolationKernels<float>& interpolation_kernels_reference();
template const InterpolationKernels<double>& interpolation_kernels_reference();

}  // namespace tensorpress::kernels
