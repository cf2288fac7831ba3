// What every FieldCoder promises, as checks for the tests of ceresz and ceresz2.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "codecs/bounded/field_coder.h"

namespace tensorpress::bounded {

template <class T>
struct NamedField {
  std::string name;
  std::vector<T> values;
};

/// Constants, ramps, spikes, alternations, tiny and huge numbers, noise: `count` values each.
template <class T>
std::vector<NamedField<T>> telling_fields(std::size_t count) {
  std::mt19937 generator(static_cast<std::uint32_t>(count));
  std::uniform_real_distribution<T> uniform(-1, 1);
  std::normal_distribution<T> normal(0, 1);
  std::vector<NamedField<T>> fields;
  const auto add = [&](const char* name, auto&& value_at) {
    NamedField<T> field{name, {}};
    for (std::size_t i = 0; i < count; ++i) field.values.push_back(value_at(i));
    fields.push_back(std::move(field));
  };
  const T tiny = std::numeric_limits<T>::denorm_min();
  const T huge = std::numeric_limits<T>::max();
  add("zeros", [](std::size_t) { return T{0}; });
  add("constant", [](std::size_t) { return T(287.25); });
  add("ramp", [](std::size_t i) { return static_cast<T>(i + 1); });
  add("wave", [](std::size_t i) { return static_cast<T>(100 * std::sin(0.01 * double(i))); });
  add("noise", [&](std::size_t) { return uniform(generator); });
  add("offset", [&](std::size_t) { return T(287) + uniform(generator); });
  add("spikes", [&](std::size_t i) { return i % 37 == 5 ? T(1e30) : uniform(generator); });
  add("alternating", [](std::size_t i) { return i % 2 == 0 ? T(1e20) : T(1e-20); });
  add("denormals", [&](std::size_t i) { return static_cast<T>(i) * tiny; });
  add("extremes", [&](std::size_t i) { return i % 3 == 0 ? huge : i % 3 == 1 ? -huge : T(-0.0); });
  add("all magnitudes", [&](std::size_t) {
    return static_cast<T>(
        std::ldexp(uniform(generator), static_cast<int>(generator() % 240) - 120));
  });
  add("sparse", [&](std::size_t i) { return i / 50 % 3 == 0 ? normal(generator) : T(0); });
  return fields;
}

template <class T>
std::vector<double> telling_bounds() {
  return {1e-2, 1e-4,
          0.3,  static_cast<double>(std::numeric_limits<T>::min()),
          1e4,  static_cast<double>(std::numeric_limits<T>::max() / 16)};
}

/// The coded chunk, or nothing when it would not be smaller. Checks that nothing is written beyond
/// the output and that a second call gives the same bytes.
template <class T>
std::optional<std::vector<std::byte>> encode_checked(const FieldCoder& coder,
                                                     const std::vector<T>& values, double bound,
                                                     Isa isa, std::size_t room) {
  ChunkWorkspace workspace(isa);
  const Field<T> field{values, Shape{values.size()}};
  std::vector<std::byte> output(room + 64, std::byte{0xA5});
  const auto bytes = coder.encode(field, bound, std::span(output).first(room), workspace);
  for (std::size_t i = room; i < output.size(); ++i) EXPECT_EQ(std::byte{0xA5}, output[i]);
  std::vector<std::byte> again(room);
  EXPECT_EQ(bytes, coder.encode(field, bound, again, workspace));
  if (!bytes) return std::nullopt;
  EXPECT_LE(*bytes, room);
  output.resize(*bytes);
  again.resize(*bytes);
  EXPECT_EQ(output, again);
  return output;
}

/// Decodes into memory with guards around it, 4 bytes off every alignment.
template <class T>
Result<std::vector<T>> decode_checked(const FieldCoder& coder, std::span<const std::byte> coded,
                                      std::size_t count, double bound, Isa isa, bool stream) {
  ChunkWorkspace workspace(isa);
  workspace.stream_stores = stream;
  // A copy of exactly that size: reading past it is an error under AddressSanitizer.
  const std::vector<std::byte> input(coded.begin(), coded.end());
  std::vector<T> output(count + 32, T(77));
  auto result =
      coder.decode(input, Shape{count}, bound, std::span(output).subspan(1, count), workspace);
  EXPECT_EQ(T(77), output[0]);
  for (std::size_t i = count + 1; i < output.size(); ++i) EXPECT_EQ(T(77), output[i]);
  if (!result.ok()) return std::move(result).error();
  return std::vector<T>(output.begin() + 1,
                        output.begin() + 1 + static_cast<std::ptrdiff_t>(count));
}

/// Every instruction set writes the scalar one's bytes and reads them back within the bound.
/// Returns the coded size, or 0 when it did not fit into the field's own.
template <class T>
std::size_t check_round_trip(const FieldCoder& coder, const NamedField<T>& field, double bound,
                             std::size_t room = 0) {
  const std::size_t count = field.values.size();
  if (room == 0) room = count * sizeof(T);
  const auto expected = encode_checked(coder, field.values, bound, Isa::scalar, room);
  std::vector<T> plain;
  for (const Isa isa : usable_isas()) {
    const auto coded = encode_checked(coder, field.values, bound, isa, room);
    EXPECT_EQ(expected, coded) << field.name << " " << bound << " " << name_of(isa);
    if (!expected) continue;
    for (const bool stream : {false, true}) {
      const auto decoded = decode_checked<T>(coder, *expected, count, bound, isa, stream);
      EXPECT_TRUE(decoded.ok()) << field.name << ": " << decoded.error().message;
      if (!decoded.ok()) return 0;
      if (plain.empty()) plain = *decoded;
      EXPECT_EQ(0, std::memcmp(plain.data(), decoded->data(), count * sizeof(T)))
          << field.name << " " << name_of(isa);
    }
  }
  for (std::size_t i = 0; i < plain.size(); ++i) {
    using Wide = long double;
    const Wide error = std::fabs(static_cast<Wide>(field.values[i]) - static_cast<Wide>(plain[i]));
    EXPECT_LE(error, static_cast<Wide>(bound)) << field.name << " at " << i;
    if (field.values[i] == 0) {
      EXPECT_EQ(T{0}, plain[i]) << field.name << " at " << i;
    }
    if (testing::Test::HasFailure()) return 0;
  }
  return expected ? expected->size() : 0;
}

/// Cuts and flips: an error or some values, never a crash; cuts are always noticed.
template <class T>
void check_hostile_bytes(const FieldCoder& coder, const std::vector<std::byte>& coded,
                         std::size_t count, double bound) {
  for (std::size_t size = 0; size < coded.size(); ++size) {
    for (const Isa isa : {Isa::scalar, detected_isa()}) {
      const auto cut = std::span(coded).first(size);
      ASSERT_FALSE(decode_checked<T>(coder, cut, count, bound, isa, false).ok()) << size;
    }
  }
  auto longer = coded;
  longer.resize(coded.size() + 4);
  EXPECT_FALSE(decode_checked<T>(coder, longer, count, bound, Isa::scalar, false).ok());
  EXPECT_FALSE(decode_checked<T>(coder, coded, count + 64, bound, Isa::scalar, false).ok());
  EXPECT_FALSE(decode_checked<T>(coder, coded, count - 64, bound, Isa::scalar, false).ok());
  std::mt19937 generator(7);
  for (int round = 0; round < 400; ++round) {
    auto damaged = coded;
    const std::size_t flips = 1 + generator() % 8;
    for (std::size_t i = 0; i < flips; ++i) {
      damaged[generator() % damaged.size()] ^= static_cast<std::byte>(1U << (generator() % 8));
    }
    const auto scalar = decode_checked<T>(coder, damaged, count, bound, Isa::scalar, false);
    const auto fast = decode_checked<T>(coder, damaged, count, bound, detected_isa(), round % 2);
    ASSERT_EQ(scalar.ok(), fast.ok());
  }
}

}  // namespace tensorpress::bounded
