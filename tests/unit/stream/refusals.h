// A small stream to damage or to forge, and what every reader must say to the result.
#pragma once

#include <gtest/gtest.h>

#include "unit/stream/compact_samples.h"

namespace tensorpress::samples {

/// Three chunks, attributes, and payloads that version 1 pads.
inline Bytes small_stream() {
  return packed(ramp(DType::u8, {3, 5}), chop(1),
                {.chunk_shape = Shape{1, 5}, .attributes = {{"units", "m"}}});
}

/// The same in both versions of the format.
inline std::vector<Bytes> small_streams() {
  return {small_stream(), in_version_1(small_stream())};
}

inline std::vector<Result<Tensor>> read_all_ways(std::span<const std::byte> stream) {
  std::vector<Result<Tensor>> results;
  results.push_back(read_in_memory(stream));
  results.push_back(read_as_file(stream));
  results.push_back(read_as_pipe(stream));
  return results;
}

inline void expect_refused(std::span<const std::byte> stream, ErrorCode code,
                           std::string_view words = "") {
  for (const auto& result : read_all_ways(stream)) {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, code) << result.error().message;
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  }
}

}  // namespace tensorpress::samples
