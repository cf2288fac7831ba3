// What the tests of the C interface share.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "tensorpress/stream.h"
#include "tensorpress/tensorpress.h"

namespace tensorpress::c_samples {

inline const std::uint64_t kShape[] = {6, 20, 30};
inline const std::uint64_t kChunkShape[] = {1, 20, 30};  // six chunks
inline constexpr std::size_t kCount = 6 * 20 * 30;

inline std::vector<float> waves() {
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    values[i] = std::sin(static_cast<float>(i) * 0.05F) + 0.001F * static_cast<float>(i % 30);
  }
  return values;
}

inline tensorpress_view view_of(const std::vector<float>& values) {
  return {values.data(), TENSORPRESS_F32, 3, kShape, nullptr};
}
inline tensorpress_mutable_view mutable_view_of(std::vector<float>& values) {
  return {values.data(), TENSORPRESS_F32, 3, kShape, nullptr};
}

/// dense within 1e-3, in six chunks.
inline tensorpress_compress_options absolute_options() {
  tensorpress_compress_options options;
  tensorpress_compress_options_init(&options, sizeof options);
  options.bound_kind = TENSORPRESS_BOUND_ABSOLUTE;
  options.bound = 1e-3;
  options.chunk_shape = kChunkShape;
  options.chunk_rank = 3;
  return options;
}
inline tensorpress_decompress_options default_decompress_options() {
  tensorpress_decompress_options options;
  tensorpress_decompress_options_init(&options, sizeof options);
  return options;
}

/// The stream that the C call makes; fails the test if there is an error.
inline std::vector<std::byte> packed(const tensorpress_view& view,
                                     const tensorpress_compress_options& options) {
  tensorpress_error error;
  void* stream = nullptr;
  std::size_t bytes = 0;
  EXPECT_EQ(tensorpress_compress_alloc(&view, &options, &stream, &bytes, &error), TENSORPRESS_OK)
      << error.message;
  const auto* const begin = static_cast<const std::byte*>(stream);
  std::vector<std::byte> result(begin, begin + bytes);
  tensorpress_free(&options.allocator, stream);
  return result;
}

}  // namespace tensorpress::c_samples
