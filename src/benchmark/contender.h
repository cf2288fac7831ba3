// A compressor that takes part in `bench --peers`: ours through the public API, others through HDF5
// filters or their C library. All see the same tensor and the same bound, work on one thread and
// from memory to memory; what they do to get ready is not timed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tensorpress/bound.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::benchmark {

/// A bound as it was asked for, and what it means on one field.
struct FieldBound {
  Bound requested = Bound::relative(1e-3);  // absolute, or relative to the value range
  double absolute = 0;                      // what every contender has to keep, in the field's unit
};

/// What a contender has to compress.
struct Field {
  TensorView view;                           // contiguous, f32 or f64
  std::span<const double> fill_values = {};  // stand for "no data"
  bool has_nonfinite = false;
};

class Contender {
 public:
  virtual ~Contender() = default;

  virtual std::string name() const = 0;
  /// Lossless contenders have no use for the bound.
  virtual bool lossless() const { return false; }

  /// Gets ready for one field, which must outlive the calls below. An error says why it cannot.
  virtual Result<void> prepare(const Field& field, const FieldBound& bound) = 0;
  /// Seconds from the field to compressed bytes in memory.
  virtual Result<double> compress() = 0;
  /// Seconds from the compressed bytes to `output`.
  virtual Result<double> decompress(std::span<std::byte> output) = 0;
  virtual Result<std::uint64_t> compressed_bytes() const = 0;
};

}  // namespace tensorpress::benchmark
