// A chunk of dense and what is known about it before it is coded in any way.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

#include "codecs/dense/codec.h"
#include "codecs/dense/interpolation/interpolation.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/lorenzo/lorenzo.h"
#include "codecs/dense/lorenzo/plan.h"
#include "codecs/dense/wavelet/trial.h"
#include "codecs/dense/wavelet/wavelet.h"

namespace tensorpress::dense {

// Below so many bits a value a chunk is nearly empty.
inline constexpr double kNearlyEmptyBits = 0.05;
// Below so many, more than one mode of interpolation is tried, and what is estimated may be far too
// low.
inline constexpr double kFewBits = 0.2;
// Up to here all ways are tried; beyond, samples choose.
inline constexpr std::uint64_t kTryBothValues = std::uint64_t{1} << 16;
inline constexpr double kEndless = std::numeric_limits<double>::infinity();

// A chunk and what is known about it before anything is tried.
template <class T>
struct Chunk {
  const bounded::Field<T>& field;
  double bound;
  Effort effort;
  ChunkWorkspace& workspace;
  std::optional<LorenzoPlan> plan;
  ZeroList zeros;
  InterpolationEstimate estimate = {};

  Chunk(const bounded::Field<T>& values, double at_most, Effort with, ChunkWorkspace& in)
      : field(values),
        bound(at_most),
        effort(with),
        workspace(in),
        plan(plan_lorenzo(values, at_most, LorenzoModel::standard(), in.isa)) {}

  void find_zeros() { zeros = zeros_of(field, bound, workspace); }

  // Needed for all that follows but lorenzo_bits().
  void estimate_others() { estimate = estimate_interpolation(field, bound, zeros, workspace); }

  // Bits a value.
  double lorenzo_bits() const {
    return plan ? expected_bits(*plan, field.values.size()) : kEndless;
  }
  // Where samples leave it open, which of two ways takes less: whether time is spent on finding
  // out.
  bool tries_more() const {
    return effort == Effort::best || field.values.size() <= kTryBothValues;
  }
  // For adaptive coding, which takes long where a chunk is large.
  std::uint32_t rare() const { return tries_more() ? kRare : kVeryRare; }
  double others_bits() const { return std::min(lorenzo_bits(), estimate.bits_per_value); }
  bool suits_wavelets() const {
    return dense::suits_wavelets(field.shape, others_bits()) ||
           (dense::suits_wavelets(field.shape, 0) && is_resolved(field));
  }
};

template <class T>
double bits_of(std::size_t bytes, const bounded::Field<T>& field) {
  return 8.0 * static_cast<double>(bytes) / static_cast<double>(field.values.size());
}

// Samples say little about a chunk that takes so few bits: all ways are tried.
template <class T>
bool nearly_empty(std::size_t bytes, const bounded::Field<T>& field) {
  return bits_of(bytes, field) < kNearlyEmptyBits;
}

}  // namespace tensorpress::dense
