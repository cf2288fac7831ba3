// Speed of a codec from memory to memory, with all a user pays for (checks, checksums, the
// container), beside memcpy of the same bytes in the same loop. Buffers are the caller's and
// touched beforehand; the best of several turns counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tensorpress/aligned_buffer.h"
#include "tensorpress/bound.h"
#include "tensorpress/codec.h"
#include "tensorpress/result.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress::benchmark {

struct SpeedOptions {
  std::optional<Bound> bound = {};  // for codecs that take one
  std::vector<double> fill_values = {};
  std::size_t threads = 1;
  int repetitions = 11;
};

/// GB/s are 1e9 uncompressed bytes per second.
struct Speed {
  double compress_gb_per_s = 0;
  double decompress_gb_per_s = 0;
  double memcpy_gb_per_s = 0;  // with the same number of threads
  double ratio = 0;
  double payload_ratio = 0;
  double l2_error = 0;
};

/// Memory that is used again from case to case, so that every page has been touched.
struct SpeedBuffers {
  AlignedBuffer compressed;
  AlignedBuffer decompressed;
};

/// `input` must be contiguous.
Result<Speed> measure_speed(const TensorView& input, const Codec& codec,
                            const SpeedOptions& options, SpeedBuffers& buffers);

/// A batch of `channels` x `plane` x `plane` images in f32 that has at least `least_bytes`: waves
/// of several lengths and a little noise. Speeds of fixed-rate codecs do not depend on the values.
/// An image has at least one value, and its bytes fit 64 bits.
Shape image_batch_shape(std::uint64_t plane, std::uint64_t channels, std::uint64_t least_bytes);
void fill_image_batch(const Shape& shape, float* values);

}  // namespace tensorpress::benchmark
