// What the contexts of a chunk's coefficients and corrections weigh: the shipped weights, or those
// that an encoder fitted to the chunk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "kernels/contexts/contexts.h"
#include "kernels/stencil/stencil.h"

namespace tensorpress::dense {

/// Bands share weights and tables by groups: those of the finest level that are high along one
/// axis, two, three; those of the second level; all coarser ones.
inline constexpr std::size_t kBandGroups = 5;
/// The group of corrections.
inline constexpr std::size_t kCorrections = kBandGroups;
inline constexpr std::size_t kContextGroups = kBandGroups + 1;
inline constexpr std::size_t kContextFeatures = 10;

using ContextWeightSet = std::array<kernels::ContextWeights, kContextGroups>;

const ContextWeightSet& standard_context_weights();

void append_weights(const ContextWeightSet& weights, std::vector<std::byte>& bytes);
Result<ContextWeightSet> read_weights(ByteReader& reader);

/// Magnitudes with what their contexts saw, from which weights are fitted by least squares.
class WeightFit {
 public:
  using Features = std::array<std::uint16_t, kContextFeatures>;

  explicit WeightFit(Isa isa) : add_products_(kernels::stencil_kernels<float>(isa).add_products) {}

  void add(std::size_t group, const Features& features, std::uint16_t magnitude);
  /// Zero among zeros.
  void add_nothing(std::size_t group) { ++samples_[group].nothing; }
  /// Groups with few samples keep the shipped weights, and those whose magnitudes the shipped ones
  /// foretell better.
  ContextWeightSet fitted() const;

 private:
  struct Sample {
    Features features;
    std::uint16_t magnitude;
  };
  struct Samples {
    std::vector<Sample> some;
    std::size_t nothing = 0;  // zeros among zeros, which most samples of smooth fields are
  };
  kernels::ContextWeights fit(const Samples& samples, const kernels::ContextWeights& start) const;
  static double expected_bits(const Samples& samples, const kernels::ContextWeights& weights);

  decltype(kernels::StencilKernels<float>::add_products) add_products_;
  std::array<Samples, kContextGroups> samples_;
};

}  // namespace tensorpress::dense
