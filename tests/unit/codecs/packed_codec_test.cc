// Payloads of codec quantize that pack.h never writes.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/bytes.h"
#include "codecs/registry.h"
#include "tensorpress/codec.h"

namespace tensorpress {
namespace {

// What NaN and infinity become in a grid depends on the instruction set (found by fuzzing).
TEST(PackedCodec, GroupsWithoutAFiniteGridAreCorruptOnEveryInstructionSet) {
  const auto codec = create_chunk_codec(Codec::make("quantize").value()).value();
  std::vector<float> values(600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 37);
  const Shape shape{values.size()};
  const auto view =
      TensorView::contiguous(std::as_bytes(std::span(values)).data(), DType::f32, shape);
  for (const Isa isa : usable_isas()) {
    ChunkWorkspace workspace(isa);
    std::vector<std::byte> payload(values.size() * sizeof(float));
    payload.resize(codec->compress(view, payload, workspace).value().bytes);
    std::vector<float> back(values.size());
    const auto target = MutableTensorView::contiguous(
        std::as_writable_bytes(std::span(back)).data(), DType::f32, shape);
    ASSERT_TRUE(codec->decompress(payload, target, workspace).ok());
    constexpr std::size_t kSecondGroup = 4 + 128;  // a header, and 256 values of 4 bits
    for (const std::uint32_t header :
         {0x7FC02000u, 0x7F800000u, 0xFF800000u, 0x00001FE0u, 0x00001FFFu, 0x7F7FE000u | 0x1F00u}) {
      auto bad = payload;
      store_le(bad.data() + kSecondGroup, header);
      const auto done = codec->decompress(bad, target, workspace);
      ASSERT_FALSE(done.ok()) << std::hex << header;
      EXPECT_EQ(done.error().code, ErrorCode::corrupt);
      EXPECT_NE(done.error().message.find("value 256"), std::string::npos) << done.error().message;
    }
  }
}

}  // namespace
}  // namespace tensorpress
