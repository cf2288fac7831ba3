// Codecs ceresz and ceresz2 on a device: the host's bytes, and the host's values.
#include <cstring>

#include "tensorpress/stream.h"
#include "unit/device/field_samples.h"

namespace tensorpress::device {
namespace {

class CereszOnDevice : public DeviceTest {
 protected:
  Work expect_the_hosts_bytes(const std::vector<float>& values, const Shape& shape,
                              const CompressOptions& options, const std::string& what) {
    SCOPED_TRACE(what);
    expect_the_hosts_bytes_of(Codec::make("ceresz2").value(), values, shape, options);
    return expect_the_hosts_bytes_of(Codec::make("ceresz").value(), values, shape, options);
  }

  Work expect_the_hosts_bytes_of(const Codec& codec, const std::vector<float>& values,
                                 const Shape& shape, const CompressOptions& options) {
    SCOPED_TRACE(codec.name());
    Work work;
    const auto view = view_of(values, shape).value();
    const auto host = tensorpress::compress(view, codec, options);
    const auto made = device().compress(on_device(view, 3), codec, options, &work);
    EXPECT_EQ(host.ok(), made.ok());
    if (!host.ok() || !made.ok()) return work;
    EXPECT_TRUE(*host == *made);

    const auto copy = tensorpress::decompress(*host).value();
    std::vector<float> nothing(values.size(), 12345.0f);
    const auto output = on_device(view_of(nothing, shape).value(), 1);
    const auto read = device().decompress(*host, output);
    EXPECT_TRUE(read.ok()) << read.error().message;
    EXPECT_TRUE(from_device(output) == copy.bytes);
    return work;
  }
};

TEST_F(CereszOnDevice, WritesTheHostsBytesForEveryLength) {
  for (const std::size_t count :
       {1, 2, 31, 32, 33, 255, 8191, 8192, 8193, 65535, 65536, 65537, 3 * 65536 + 8192 + 5}) {
    const auto work = expect_the_hosts_bytes(
        waves(count), {count}, {.bound = Bound::absolute(1e-3)}, std::to_string(count));
    EXPECT_LE(work.host_chunks, 1u) << count;  // one value is not smaller when it is coded
    EXPECT_EQ(work.device_chunks > 0, count > 1);
  }
  expect_the_hosts_bytes({}, {0, 5}, {.bound = Bound::absolute(1e-3)}, "nothing");
  expect_the_hosts_bytes({2.5f}, {}, {.bound = Bound::absolute(1e-3)}, "a scalar");
}

TEST_F(CereszOnDevice, WritesTheHostsBytesForEveryKindOfBound) {
  const auto values = waves(200'000, 40);
  for (const double share : {1e-1, 1e-3, 1e-5, 1e-7}) {
    expect_the_hosts_bytes(values, {200, 1000}, {.bound = Bound::relative(share)}, "relative");
  }
  expect_the_hosts_bytes(values, {200, 1000}, {.bound = Bound::pointwise_relative(1e-3)},
                         "point-wise");
  expect_the_hosts_bytes(values, {200, 1000}, {.bound = Bound::psnr(60)}, "psnr");
  expect_the_hosts_bytes(values, {200, 1000}, {.bound = Bound::ratio(5)}, "ratio");
  expect_the_hosts_bytes(values, {200, 1000}, {.bound = Bound::absolute(0)}, "nothing lost");
}

TEST_F(CereszOnDevice, WritesTheHostsBytesForHardValues) {
  expect_the_hosts_bytes(any_numbers(100'000), {100'000}, {.bound = Bound::absolute(1e-3)},
                         "any numbers");
  expect_the_hosts_bytes(any_numbers(100'000), {100'000}, {.bound = Bound::relative(1e-4)},
                         "any numbers, relative");
  for (const float size : {1e-42f, 1e-38f, 1e-20f, 1e20f, 1e38f}) {
    expect_the_hosts_bytes(waves(70'000, size), {70'000},
                           {.bound = Bound::relative(1e-3), .whole_range = true},
                           "size " + std::to_string(size));
  }
  auto mixed = waves(300'000);
  std::fill(mixed.begin() + 70'000, mixed.begin() + 210'000, 0.25f);
  mixed[10] = 1e30f;
  expect_the_hosts_bytes(mixed, {300'000}, {.bound = Bound::absolute(1e-2)}, "constants");
  std::vector<float> zeros(70'000, 0.0f);
  for (std::size_t i = 0; i < zeros.size(); i += 3) zeros[i] = -0.0f;
  expect_the_hosts_bytes(zeros, {70'000}, {.bound = Bound::absolute(1e-2)}, "zeros");
  zeros[5] = 1e-3f;
  expect_the_hosts_bytes(zeros, {70'000}, {.bound = Bound::absolute(1e-2)}, "nearly zeros");
}

TEST_F(CereszOnDevice, TakesCodebooksOfEveryKind) {
  for (const double share : {1e-2, 1e-4, 1e-6}) {
    const CompressOptions options{.bound = Bound::relative(share)};
    const auto codec = Codec::make("ceresz2", {{{"codebook", "dynamic"}}}).value();
    const auto work = expect_the_hosts_bytes_of(codec, waves(150'000, 3), {150'000}, options);
    EXPECT_EQ(work.host_chunks, 0u);
    auto values = waves(150'000, 3);
    for (std::size_t i = 0; i < values.size(); i += 1777) values[i] *= 1e7f;  // outliers
    expect_the_hosts_bytes_of(codec, values, {150'000}, options);
    expect_the_hosts_bytes(values, {150'000}, {.bound = Bound::absolute(share)}, "outliers");
  }
}

TEST_F(CereszOnDevice, LeavesChunksWithSpecialValuesToTheHost) {
  auto values = waves(200'000);
  values[70'000] = std::numeric_limits<float>::quiet_NaN();
  values[70'001] = -std::numeric_limits<float>::infinity();
  const auto work =
      expect_the_hosts_bytes(values, {200'000}, {.bound = Bound::relative(1e-3)}, "NaN");
  EXPECT_EQ(work.host_chunks, 1u);
  EXPECT_GE(work.device_chunks, 2u);
  for (std::size_t i = 1000; i < 90'000; ++i) values[i] = -1e34f;
  expect_the_hosts_bytes(values, {200'000},
                         {.bound = Bound::relative(1e-3), .fill_values = {-1e34}}, "fill");
}

TEST_F(CereszOnDevice, TakesChunksThatAreNotConsecutive) {
  expect_the_hosts_bytes(waves(64 * 1000), {64, 1000},
                         {.bound = Bound::absolute(1e-3), .chunk_shape = Shape{16, 100}}, "boxes");
  expect_the_hosts_bytes(waves(20 * 30 * 40), {20, 30, 40},
                         {.bound = Bound::relative(1e-3), .chunk_shape = Shape{1, 7, 40}}, "rows");
}

TEST_F(CereszOnDevice, SaysWhatTheHostSaysOfDamagedStreams) {
  const auto values = waves(150'000);
  const auto view = view_of(values, {150'000}).value();
  const auto output = on_device(view);
  for (const char* name : {"ceresz", "ceresz2"}) {
    const auto packed =
        tensorpress::compress(view, Codec::make(name).value(), Bound::absolute(1e-3)).value();
    for (std::size_t at = 20; at < packed.size(); at += packed.size() / 60) {
      auto damaged = packed;
      damaged[at] ^= std::byte{0x41};
      const auto host = tensorpress::decompress(damaged);
      const auto read = device().decompress(damaged, output);
      ASSERT_EQ(host.ok(), read.ok()) << at;
      if (!host.ok()) {
        EXPECT_EQ(host.error().message, read.error().message) << at;
      }
    }
    for (std::size_t size = 0; size < packed.size(); size += packed.size() / 20) {
      EXPECT_FALSE(device().decompress(std::span(packed).first(size), output).ok()) << size;
    }
  }
}

TEST_F(CereszOnDevice, RefusesTensorsThatDoNotFit) {
  const auto values = waves(100);
  const auto view = view_of(values, {100}).value();
  const auto codec = Codec::make("ceresz").value();
  const auto packed = tensorpress::compress(view, codec, Bound::absolute(1e-3)).value();
  auto tensor = on_device(view);
  tensor.shape = {10, 10};
  EXPECT_EQ(device().decompress(packed, tensor).error().code, ErrorCode::bad_argument);
  tensor.memory.offset = 2;
  EXPECT_EQ(device().compress(tensor, codec, {.bound = Bound::absolute(1)}).error().code,
            ErrorCode::bad_argument);
  tensor.memory = {};
  EXPECT_EQ(device().compress(tensor, codec, {.bound = Bound::absolute(1)}).error().code,
            ErrorCode::bad_argument);
  EXPECT_FALSE(Device::open("opencl:99").ok());
  EXPECT_FALSE(Device::open("toaster").ok());
  EXPECT_FALSE(device().allocate(std::uint64_t{1} << 60).ok());
}

}  // namespace
}  // namespace tensorpress::device
