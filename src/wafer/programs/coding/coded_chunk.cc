#include "wafer/programs/coding/coded_chunk.h"

#include "base/errors.h"
#include "wafer/programs/coding/coding_pe.h"

namespace tensorpress::wafer::programs {

Result<CodedChunk> cut_ceresz2(std::span<const std::byte> payload, std::size_t count) {
  CodedChunk chunk;
  if (payload.size() < 8) return truncated("ceresz2: the chunk ends in its first 8 bytes");
  const auto head = load_le<std::uint64_t>(payload.data());
  chunk.slack = static_cast<unsigned>(head & 0xFF);
  const std::uint64_t outliers = head >> 16;
  if ((head >> 8 & 0xFF) != 32 || chunk.slack >= kernels::bitplane::kSlacks ||
      outliers > (payload.size() - 8) / 8) {
    return corrupt("ceresz2: the head ", hex(head), " of the chunk is not one of f32");
  }
  std::size_t at = 8;
  const std::size_t end = payload.size() - static_cast<std::size_t>(outliers) * 8;
  const std::size_t blocks = (count + kBlockValues - 1) / kBlockValues;
  for (std::size_t i = 0; i < blocks; ++i) {
    if (end - at < 4) return truncated("ceresz2: the chunk ends before block ", i);
    const auto bits = load_le<std::uint32_t>(payload.data() + at);
    const std::size_t bytes = 4 + (std::size_t{bits} + 31) / 32 * 4;
    if (bits > kernels::huffman::kMaxBlockBits<float> || bytes > end - at) {
      return corrupt("ceresz2: block ", i, " claims ", bits, " bits");
    }
    chunk.blocks.push_back({payload.subspan(at, bytes), 0});
    at += bytes;
  }
  if (at != end) return corrupt("ceresz2: ", end - at, " bytes follow the last block");
  chunk.positions = payload.subspan(end, static_cast<std::size_t>(outliers) * 4);
  chunk.values = payload.subspan(end + chunk.positions.size());
  return chunk;
}

Result<CodedChunk> cut_ceresz(std::span<const std::byte> payload, std::size_t count) {
  CodedChunk chunk;
  const std::size_t blocks = (count + kBlockValues - 1) / kBlockValues;
  if (payload.size() < 1 + blocks) return truncated("ceresz: the chunk ends in its widths");
  chunk.slack = static_cast<unsigned>(payload[0]);
  if (chunk.slack >= kernels::bitplane::kSlacks) return corrupt("ceresz: no slack ", chunk.slack);
  std::size_t at = 1 + blocks;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto width = static_cast<std::uint8_t>(payload[1 + i]);
    const std::size_t bytes = kernels::bitplane::payload_bytes<float>(width);
    if (!kernels::bitplane::is_width<float>(width) || bytes > payload.size() - at) {
      return corrupt("ceresz: block ", i, " claims ", unsigned{width}, " planes");
    }
    chunk.blocks.push_back({payload.subspan(at, bytes), width});
    at += bytes;
  }
  return chunk;
}

}  // namespace tensorpress::wafer::programs
