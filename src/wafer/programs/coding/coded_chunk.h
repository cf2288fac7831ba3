// A chunk of ceresz2 or ceresz cut into its blocks, as the host does before it deals them out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::wafer::programs {

/// A block's bytes, without the width of ceresz.
struct CodedPart {
  std::span<const std::byte> bytes;
  std::uint8_t width = 0;
};

struct CodedChunk {
  unsigned slack = 0;
  std::vector<CodedPart> blocks;
  std::span<const std::byte> positions, values;  // of the outliers
};

/// Of `count` f32 values; hostile bytes are an error.
Result<CodedChunk> cut_ceresz2(std::span<const std::byte> payload, std::size_t count);
Result<CodedChunk> cut_ceresz(std::span<const std::byte> payload, std::size_t count);

}  // namespace tensorpress::wafer::programs
