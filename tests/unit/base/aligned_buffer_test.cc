#include <gtest/gtest.h>

#include <cstdint>

#include "sanitized.h"
#include "tensorpress/aligned_buffer.h"

namespace tensorpress {
namespace {

TEST(AlignedBuffer, StartsAtAMultipleOf64Bytes) {
  for (const std::size_t bytes : {1, 63, 64, 65, 4097}) {
    AlignedBuffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0U);
    EXPECT_EQ(buffer.size(), bytes);
  }
}

TEST(AlignedBuffer, GrowsAndNeverShrinks) {
  AlignedBuffer buffer;
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_EQ(buffer.reserve(100).size(), 100U);
  std::byte* const memory = buffer.data();
  EXPECT_EQ(buffer.reserve(10).size(), 10U);
  EXPECT_EQ(buffer.data(), memory);
  EXPECT_EQ(buffer.size(), 100U);
  EXPECT_EQ(buffer.reserve(1000).size(), 1000U);
  EXPECT_EQ(buffer.size(), 1000U);
}

TEST(AlignedBuffer, IsEmptyWhenThereWasNoMemoryToGrow) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer ends the process where memory runs out";
  AlignedBuffer buffer(100);
  constexpr std::size_t kTooMuch = SIZE_MAX / 2;
  EXPECT_THROW(buffer.reserve(kTooMuch), std::bad_alloc);
  EXPECT_EQ(buffer.size(), 0U);
  EXPECT_NE(buffer.reserve(10).data(), nullptr);
}

TEST(AlignedBufferDeathTest, ASmallerReservationEndsWhereItWasAskedToEnd) {
  if (!kAddressesChecked) GTEST_SKIP() << "AddressSanitizer is not there";
  AlignedBuffer buffer(1000);
  volatile const std::byte* const memory = buffer.reserve(100).data();
  EXPECT_DEATH(static_cast<void>(memory[100]), "use-after-poison");
  buffer.reserve(101);
  static_cast<void>(memory[100]);
}

TEST(AlignedBuffer, CountsInElementsOfAType) {
  AlignedBuffer buffer;
  const auto values = buffer.reserve_as<double>(5);
  EXPECT_EQ(values.size(), 5U);
  EXPECT_EQ(buffer.size(), 40U);
  for (double& value : values) value = 1.5;  // all of it may be written
  EXPECT_EQ(values[4], 1.5);
}

}  // namespace
}  // namespace tensorpress
