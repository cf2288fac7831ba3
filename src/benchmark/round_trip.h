// One tensor through one codec and back, in memory, with everything a reader wants to know about
// it: sizes, errors and speeds as measured here and now.
#pragma once

#include <cstdint>
#include <optional>

#include "metrics/metrics.h"
#include "tensorpress/codec.h"
#include "tensorpress/stream.h"

namespace tensorpress::benchmark {

struct RoundTrip {
  StreamInfo info;
  metrics::ErrorStatistics error;
  std::optional<double> ssim;    // absent for planes smaller than its window
  double compress_gb_per_s = 0;  // uncompressed 1e9 bytes per second, best of several
  double decompress_gb_per_s = 0;

  double ratio() const;           // of the whole stream
  double payload_ratio() const;   // of the codec's bytes alone
  double bits_per_value() const;  // of the whole stream
  /// The codec could make no chunk smaller, so that the elements themselves are stored.
  bool stored_raw() const;
  /// The L2 error is at most what the stream says about itself.
  bool within_stored_error() const;
};

struct RoundTripOptions {
  std::size_t threads = 1;
  /// Each direction is repeated until this much time has gone by, and at least three times.
  double least_seconds = 0.02;
  std::optional<Bound> bound = {};  // for codecs that keep one
};

/// Leaves the decompressed tensor in `copy`.
Result<RoundTrip> measure_round_trip(const TensorView& original, const Codec& codec, Tensor& copy,
                                     const RoundTripOptions& options = {});

}  // namespace tensorpress::benchmark
