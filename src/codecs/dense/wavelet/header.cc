#include "codecs/dense/wavelet/header.h"

#include "codecs/dense/residuals/coding.h"
#include "codecs/dense/varint.h"

namespace tensorpress::dense {

void write_header(const WaveletHeader& header, std::vector<std::byte>& bytes) {
  const auto bit = [](bool set, int at) { return (set ? 1u : 0u) << at; };
  bool any_shift = false;
  for (const std::uint8_t shift : header.shift) any_shift = any_shift || shift != 0;
  bytes.push_back(static_cast<std::byte>(
      static_cast<unsigned>(header.filter) | static_cast<unsigned>(header.ends) << 2 |
      bit(header.outliers, 3) | bit(header.zeros, 4) | bit(header.own_weights, 5) |
      (header.vectors == kAdaptive ? 3u : static_cast<unsigned>(header.vectors / 2)) << 6));
  bytes.push_back(static_cast<std::byte>(header.step | bit(header.snap, 7)));
  bytes.push_back(
      static_cast<std::byte>(header.silent | bit(header.corrections, 6) | bit(any_shift, 7)));
  if (any_shift) {
    for (const std::uint8_t shift : header.shift) bytes.push_back(static_cast<std::byte>(shift));
  }
  append_varint(bytes, zigzag64(header.offset));
  append_varint(bytes, header.empty);
  if (header.own_weights) append_weights(header.weights, bytes);
}

Result<WaveletHeader> read_wavelet_header(ByteReader& reader) {
  WaveletHeader header;
  TRY(const auto first, reader.read<std::uint8_t>());
  TRY(const auto step, reader.read<std::uint8_t>());
  TRY(const auto second, reader.read<std::uint8_t>());
  header.step = step & 127;
  header.snap = step >= 128;
  header.filter = static_cast<kernels::WaveletFilter>(first & 3);
  header.ends = static_cast<kernels::WaveletEnds>((first >> 2) & 1);
  header.outliers = (first & 8) != 0;
  header.zeros = (first & 16) != 0;
  header.own_weights = (first & 32) != 0;
  header.vectors = std::size_t{1} << (first >> 6);
  header.silent = second & 63;
  header.corrections = (second & 64) != 0;
  if (header.step == 0) return corrupt("a wavelet chunk has a step of 0");
  if ((second & 128) != 0) {
    for (std::uint8_t& shift : header.shift) {
      TRY(shift, reader.read<std::uint8_t>());
      if (shift > 31) return corrupt("a wavelet chunk shifts magnitudes by ", shift);
    }
  }
  TRY(const auto offset, reader.read_varint());
  header.offset = unzigzag64(offset);
  TRY(header.empty, reader.read_varint());
  if (header.own_weights) {
    TRY(header.weights, read_weights(reader));
  }
  return header;
}

std::size_t number_of(const WaveletBand& band) {
  std::size_t order = 0;
  while (Pyramid::kOrder[order] != band.which) ++order;
  return static_cast<std::size_t>(band.level) * Pyramid::kBands + order;
}

bool WaveletHeader::is_empty(const WaveletBand& band) const {
  return ((empty >> number_of(band)) & 1) != 0;
}

std::array<std::uint8_t, kernels::kScaleClasses> ids_of(
    const std::array<std::uint8_t, kernels::kScaleClasses>& map, bool silent) {
  auto ids = map;
  if (silent) ids[0] = 0;
  return ids;
}

// Sums wrap around, which hostile bytes may ask for.
std::int32_t CoarseDifferences::prediction(std::size_t z, std::size_t y, std::size_t x) const {
  const auto at = [&](std::size_t back_z, std::size_t back_y, std::size_t back_x) {
    return static_cast<std::uint32_t>(
        quanta_[((z - back_z) * size_[1] + (y - back_y)) * size_[2] + (x - back_x)]);
  };
  if (z > 0) return static_cast<std::int32_t>(at(1, 0, 0));
  if (y > 0 && x > 0) return static_cast<std::int32_t>(at(0, 0, 1) + at(0, 1, 0) - at(0, 1, 1));
  if (x > 0) return static_cast<std::int32_t>(at(0, 0, 1));
  return y > 0 ? static_cast<std::int32_t>(at(0, 1, 0)) : 0;
}

}  // namespace tensorpress::dense
