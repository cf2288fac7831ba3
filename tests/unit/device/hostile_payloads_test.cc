// Payloads that a checksum does not protect: whatever the bytes are, a kernel decodes what the host
// decodes, or leaves the chunk to the host, and touches nothing else.
#include <cstring>

#include "codecs/registry.h"
#include "device/chunk_coder.h"
#include "device/opencl/opencl.h"
#include "stream/chunks/chunk_grid.h"
#include "stream/reader.h"
#include "unit/device/field_samples.h"

namespace tensorpress::device {
namespace {

constexpr float kUntouched = 12345.0f;

class PayloadsOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (devices().empty()) GTEST_SKIP() << "there is no OpenCL device";
    backend_ = open_opencl(0).value();
  }

  /// A chunk in the middle of a tensor, decoded by both.
  void expect_agreement(const std::vector<std::byte>& stream, std::uint64_t number,
                        std::span<const std::byte> payload) {
    const MemorySource source(stream);
    const auto reader = StreamReader::open(source).value();
    const StreamInfo& info = reader.info();
    const auto& grid = ReaderAccess::grid(reader);
    const auto coder = chunk_coder_of(info.codec, info.dtype);
    ASSERT_NE(coder, nullptr);

    const Region region = reader.chunk(number);
    std::vector<float> by_host(static_cast<std::size_t>(region.extent.element_count()));
    ChunkWorkspace workspace(detected_isa());
    const auto host = chunk_codec_of(info.codec)
                          ->decompress(payload, view_of(by_host, region.extent).value(), workspace);

    const std::vector<float> untouched(static_cast<std::size_t>(info.shape.element_count()),
                                       kUntouched);
    const Buffer memory = backend_->allocate(4 * untouched.size()).value();
    ASSERT_TRUE(backend_->upload_all(untouched, memory).ok());
    const DeviceTensor tensor{memory.memory(), info.dtype, info.shape};
    auto batch = ChunkBatch::of(grid, info.dtype, number, 1, coder->tile_values());
    ASSERT_EQ(batch.places.size(), 1u);
    const PayloadPlace place{payload, false};
    const auto decoded = coder->decode(*backend_, std::span(&place, 1), tensor, batch).value();

    std::vector<float> values(untouched.size());
    ASSERT_TRUE(
        backend_->download(memory.memory(), std::as_writable_bytes(std::span(values))).ok());
    const auto first = static_cast<std::size_t>(batch.places[0].first);
    const auto end = first + by_host.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i < first || i >= end) {
        ASSERT_EQ(values[i], kUntouched) << i;
      }
    }
    if (!decoded[0]) return;
    ASSERT_TRUE(host.ok()) << host.error().message;
    ASSERT_EQ(std::memcmp(values.data() + first, by_host.data(), 4 * by_host.size()), 0);
  }

  void damage_payloads_of(std::string_view codec_name, const CompressOptions& options,
                          std::size_t count, int rounds) {
    SCOPED_TRACE(codec_name);
    auto values = waves(count);
    if (codec_name == "mask") {
      for (float& value : values) value = value > 0 ? 1.5f : 0;
    }
    const auto stream = tensorpress::compress(view_of(values, {count}).value(),
                                              Codec::make(codec_name).value(), options)
                            .value();
    const MemorySource source(stream);
    const auto reader = StreamReader::open(source).value();
    const std::uint64_t number = reader.info().chunk_count / 2;
    AlignedBuffer scratch;
    const auto fetched = ReaderAccess::fetch(reader, number, scratch).value();
    const std::vector<std::byte> payload(fetched.payload.begin(), fetched.payload.end());
    expect_agreement(stream, number, payload);
    std::mt19937 random(7);
    for (int round = 0; round < rounds; ++round) {
      auto damaged = payload;
      for (unsigned n = random() % 4 + 1; n > 0; --n) {
        // Mostly where widths and headers are.
        const std::size_t reach = random() % 2 == 0 ? damaged.size() : damaged.size() / 8 + 2;
        damaged[random() % std::min(reach, damaged.size())] = static_cast<std::byte>(random());
      }
      if (random() % 4 == 0) damaged.resize(random() % (damaged.size() + 40));
      expect_agreement(stream, number, damaged);
    }
  }

  void damage_all(std::size_t count, int rounds) {
    const Shape chunks{count / 3 + 1};
    for (const char* name : {"ceresz", "ceresz2"}) {
      damage_payloads_of(name, {.bound = Bound::absolute(1e-3), .chunk_shape = chunks}, count,
                         rounds);
    }
    for (const char* name : {"quantize", "cast", "mask", "dct-chop"}) {
      damage_payloads_of(name, {.chunk_shape = chunks}, count, rounds);
    }
  }

 private:
  std::unique_ptr<Backend> backend_;
};

TEST_F(PayloadsOnDevice, AreDecodedAsByTheHostHoweverDamaged) {
  damage_all(30'000, 100);
}

// Small enough for Oclgrind, which looks for races and for accesses beyond a buffer's end.
TEST_F(PayloadsOnDevice, AreDecodedInASimulator) {
  damage_all(3000, 3);
}

}  // namespace
}  // namespace tensorpress::device
