// The small kernels on every instruction set against their plain versions.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "base/tensor/half_types.h"
#include "kernels/elements/elements.h"
#include "kernels/gemm/gemm.h"
#include "kernels/squared_error/squared_error.h"
#include "kernels/stream_copy/stream_copy.h"

namespace tensorpress::kernels {
namespace {

// All exponents (infinity and NaN too), both signs, fractions around the places where rounding
// turns.
std::vector<float> telling_floats() {
  std::vector<float> values;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    for (const std::uint32_t fraction :
         {0u, 1u, 0xFFFu, 0x1000u, 0x1001u, 0x2FFFu, 0x3000u, 0x3001u, 0x7FFFu, 0x8000u, 0x8001u,
          0x17FFFu, 0x18000u, 0x18001u, 0x7FFFFFu, 0x400000u, 0x123456u}) {
      for (const std::uint32_t sign : {0u, 0x80000000u}) {
        values.push_back(std::bit_cast<float>(sign | (exponent << 23) | fraction));
      }
    }
  }
  return values;
}

TEST(ElementKernels, EveryIsaNarrowsLikeTheReference) {
  const auto values = telling_floats();
  for (const Isa isa : usable_isas()) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      std::vector<std::uint16_t> actual(values.size());
      element_conversion(dtype, isa)
          .store(values.data(), values.size(), std::as_writable_bytes(std::span(actual)).data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto expected =
            dtype == DType::f16 ? float_to_f16(values[i]) : float_to_bf16(values[i]);
        ASSERT_EQ(expected, actual[i]) << values[i] << name_of(isa);
      }
    }
  }
}

constexpr DType kAllTypes[] = {DType::f32,  DType::f64, DType::f16,
                               DType::bf16, DType::u8,  DType::i16};

TEST(ElementKernels, EveryIsaStoresLikeTheReference) {
  auto values = telling_floats();
  for (int whole = -40000; whole < 40000; whole += 7) {
    for (const float at : {0.0f, 0.25f, 0.49999997f, 0.5f, 0.50000006f, 0.75f}) {
      values.push_back(static_cast<float>(whole % 300) + at);
      values.push_back(static_cast<float>(whole) - at);
    }
  }
  for (const DType dtype : kAllTypes) {
    const std::size_t bytes = values.size() * size_of(dtype);
    std::vector<std::byte> expected(bytes), actual(bytes);
    element_conversion_reference(dtype).store(values.data(), values.size(), expected.data());
    for (const Isa isa : usable_isas()) {
      element_conversion(dtype, isa).store(values.data(), values.size(), actual.data());
      for (std::size_t i = 0; i < bytes; ++i) {
        ASSERT_EQ(expected[i], actual[i]) << values[i / size_of(dtype)] << name_of(isa);
      }
    }
  }
}

// At odd addresses too.
TEST(ElementKernels, EveryIsaLoadsLikeTheReference) {
  std::vector<std::byte> bytes(2 * 65536 + 1);
  for (std::size_t i = 0; i < 65536; ++i) {
    const auto pattern = static_cast<std::uint16_t>(i);
    std::memcpy(bytes.data() + 1 + 2 * i, &pattern, sizeof pattern);
  }
  for (const DType dtype : kAllTypes) {
    const std::size_t count = (bytes.size() - 1) / size_of(dtype);
    std::vector<float> expected(count), actual(count);
    element_conversion_reference(dtype).load(bytes.data() + 1, count, expected.data());
    for (const Isa isa : usable_isas()) {
      element_conversion(dtype, isa).load(bytes.data() + 1, count, actual.data());
      EXPECT_EQ(0, std::memcmp(expected.data(), actual.data(), count * sizeof(float)))
          << name_of(isa);
    }
  }
}

TEST(ElementKernels, EveryIsaWidensAllPatternsLikeTheReference) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  for (const Isa isa : usable_isas()) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      std::vector<float> actual(halves.size());
      element_conversion(dtype, isa)
          .load(std::as_bytes(std::span(halves)).data(), halves.size(), actual.data());
      for (std::size_t i = 0; i < halves.size(); ++i) {
        const float expected =
            dtype == DType::bf16 ? bf16_to_float(halves[i]) : f16_to_float(halves[i]);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(expected), std::bit_cast<std::uint32_t>(actual[i]))
            << i;
      }
    }
  }
}

TEST(Gemm, EveryIsaGivesTheBitsOfThreePlainLoops) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const std::size_t rows : {1u, 3u, 4u, 9u}) {
    for (const std::size_t inner : {1u, 8u, 31u}) {
      for (const std::size_t columns : {1u, 4u, 23u, 48u, 65u}) {
        std::vector<float> left(rows * inner), right(inner * columns), expected(rows * columns);
        for (auto& value : left) value = uniform(generator);
        for (auto& value : right) value = uniform(generator);
        gemm_reference(left.data(), right.data(), expected.data(), rows, inner, columns);
        for (const Isa isa : usable_isas()) {
          std::vector<float> actual(rows * columns + 1, 77.0f);
          gemm(isa)(left.data(), right.data(), actual.data(), rows, inner, columns);
          for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(expected[i], actual[i]);
          ASSERT_EQ(77.0f, actual.back());
        }
      }
    }
  }
}

TEST(SquaredError, EveryIsaGivesTheReferencesBits) {
  std::mt19937 generator(2);
  std::uniform_real_distribution<float> uniform(-1e3f, 1e3f);
  std::vector<float> a(100), b(100);
  for (auto& value : a) value = uniform(generator);
  for (auto& value : b) value = uniform(generator);
  for (std::size_t count = 0; count <= 100; ++count) {
    double expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
      expected += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    }
    const double reference = squared_error_reference(a.data(), b.data(), count);
    EXPECT_NEAR(expected, reference, 1e-12 * expected);
    for (const Isa isa : usable_isas())
      EXPECT_EQ(reference, squared_error(isa)(a.data(), b.data(), count)) << count;
  }
}

TEST(StreamCopy, CopiesAnyLengthToAnyAlignment) {
  std::vector<std::byte> from(1000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 7);
  for (const Isa isa : usable_isas()) {
    for (std::size_t offset = 0; offset < 65; offset += 3) {
      for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 200u, 777u}) {
        std::vector<std::byte> to(1000, std::byte{0xAA});
        stream_copy(isa)(from.data() + 5, to.data() + offset, count);
        ASSERT_EQ(0, std::memcmp(from.data() + 5, to.data() + offset, count));
        ASSERT_EQ(std::byte{0xAA}, to[offset + count]);
        if (offset > 0) {
          ASSERT_EQ(std::byte{0xAA}, to[offset - 1]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tensorpress::kernels
