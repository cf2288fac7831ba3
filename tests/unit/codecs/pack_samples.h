// Values for the tests of packing, and what a packed group says of itself, read by hand.
#pragma once

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "base/tensor/elements.h"
#include "tensorpress/pack.h"

namespace tensorpress::samples {

inline std::vector<float> normal_values(std::size_t count, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (auto& value : values) value = normal(generator);
  return values;
}

/// As a ReLU leaves them: about half are zero.
inline std::vector<float> rectified_values(std::size_t count, unsigned seed = 1) {
  auto values = normal_values(count, seed);
  for (auto& value : values) value = value > 0 ? value : 0.0f;
  return values;
}

inline std::vector<std::byte> elements(DType dtype, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * size_of(dtype));
  if (values.empty()) return bytes;
  store_elements(dtype, values.data(), bytes.data(), static_cast<std::int64_t>(size_of(dtype)),
                 values.size());
  return bytes;
}
inline std::vector<float> floats(DType dtype, const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / size_of(dtype));
  if (values.empty()) return values;
  load_elements(dtype, bytes.data(), static_cast<std::int64_t>(size_of(dtype)), values.size(),
                values.data());
  return values;
}

/// The scale of the group that a packed value belongs to (docs/format.md, codec quantize).
inline float scale_of(const std::vector<std::byte>& packed, std::size_t value,
                      const QuantizeOptions& options) {
  const std::size_t bytes = packed_size(options.group, options).value();
  std::uint32_t header = 0;
  std::memcpy(&header, packed.data() + value / options.group * bytes, sizeof header);
  return std::bit_cast<float>((header & 0x1FFFu) << 18);
}

inline std::vector<std::byte> packed(DType dtype, const std::vector<std::byte>& values,
                                     const auto& options) {
  std::vector<std::byte> bytes(packed_size(values.size() / size_of(dtype), options).value());
  if (pack(dtype, values, options, bytes).value() != PackOutcome::packed) bytes.clear();
  return bytes;
}
inline std::vector<std::byte> unpacked(DType dtype, const std::vector<std::byte>& bytes,
                                       const auto& options, std::size_t count,
                                       Stores stores = Stores::automatic) {
  std::vector<std::byte> values(count * size_of(dtype));
  if (!unpack(dtype, bytes, options, values, stores).ok()) values.clear();
  return values;
}
inline std::vector<float> round_trip(const std::vector<float>& values, const auto& options) {
  const auto bytes = packed(DType::f32, elements(DType::f32, values), options);
  return floats(DType::f32, unpacked(DType::f32, bytes, options, values.size()));
}

}  // namespace tensorpress::samples
