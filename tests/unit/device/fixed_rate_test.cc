// Codecs with a fixed rate on a device: the host's bytes, stated error included, and its values.
#include "tensorpress/stream.h"
#include "unit/device/field_samples.h"

namespace tensorpress::device {
namespace {

class FixedRateOnDevice : public DeviceTest {
 protected:
  Work expect_the_hosts_bytes(const std::vector<float>& values, const Shape& shape,
                              std::string_view codec_name, std::vector<Parameter> parameters) {
    std::string what(codec_name);
    for (const auto& [name, value] : parameters) what += " " + name + "=" + value;
    SCOPED_TRACE(what + " of " + shape.to_string());
    Work work;
    const auto codec = Codec::make(codec_name, parameters).value();
    const auto view = view_of(values, shape).value();
    const auto host = tensorpress::compress(view, codec).value();
    const auto made = device().compress(on_device(view, 5), codec, {}, &work);
    EXPECT_TRUE(made.ok()) << made.error().message;
    if (!made.ok()) return work;
    EXPECT_TRUE(host == *made);

    const auto copy = tensorpress::decompress(host).value();
    std::vector<float> nothing(values.size(), 12345.0f);
    const auto output = on_device(view_of(nothing, shape).value(), 2);
    const auto read = device().decompress(host, output);
    EXPECT_TRUE(read.ok()) << read.error().message;
    EXPECT_TRUE(from_device(output) == copy.bytes);
    return work;
  }
};

TEST_F(FixedRateOnDevice, QuantizesAsTheHostDoes) {
  for (const char* bits : {"1", "2", "3", "4", "5", "6", "8"}) {
    for (const char* rounding : {"nearest", "stochastic"}) {
      for (const char* group : {"256", "512", "7680"}) {
        for (const std::size_t count : {1, 255, 256, 257, 8193, 300'001}) {
          const auto work =
              expect_the_hosts_bytes(waves(count, 3), {count}, "quantize",
                                     {{"bits", bits}, {"group", group}, {"rounding", rounding}});
          EXPECT_EQ(work.host_chunks, 0u);
        }
      }
    }
  }
  expect_the_hosts_bytes(waves(40'000), {40'000}, "quantize", {{"bits", "8"}, {"group", "32"}});
  expect_the_hosts_bytes(waves(40'000), {40'000}, "quantize", {{"bits", "4"}, {"group", "192"}});
  expect_the_hosts_bytes(waves(70'000), {70'000}, "quantize", {{"group", "65536"}});
}

TEST_F(FixedRateOnDevice, QuantizesHardValuesAsTheHostDoes) {
  for (const char* bits : {"1", "2", "3", "4", "5", "6", "8"}) {
    for (const char* rounding : {"nearest", "stochastic"}) {
      const std::vector<Parameter> parameters = {
          {"bits", bits}, {"rounding", rounding}, {"seed", "77"}};
      // Magnitudes of all kinds in groups of their own, so that most groups can be coded.
      std::vector<float> values = any_numbers(600'000);
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = std::ldexp(static_cast<float>(i * 7919 % 1000) / 999 - 0.3f,
                               static_cast<int>(i / 256 % 270) - 148);
      }
      EXPECT_EQ(expect_the_hosts_bytes(values, {600'000}, "quantize", parameters).host_chunks, 0u);
      for (const float size : {0.0f, 1e-45f, 1e-38f, 1e38f}) {
        expect_the_hosts_bytes(waves(3000, size), {3000}, "quantize", parameters);
      }
      values[300'000] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(expect_the_hosts_bytes(values, {600'000}, "quantize", parameters).host_chunks, 1u);
      values[10] = std::numeric_limits<float>::infinity();
      expect_the_hosts_bytes(values, {600'000}, "quantize", parameters);
      expect_the_hosts_bytes(any_numbers(5000), {5000}, "quantize", parameters);
    }
  }
}

TEST_F(FixedRateOnDevice, CastsAsTheHostDoes) {
  for (const char* type : {"bf16", "f16", "e4m3", "e5m2"}) {
    for (const std::size_t count : {0, 1, 3, 8191, 8193, 500'001}) {
      expect_the_hosts_bytes(waves(count, 3), {count}, "cast", {{"to", type}});
    }
    // Every magnitude that the type holds, and ties.
    std::vector<float> values;
    for (std::uint32_t bits = 0; bits < 0x47000000; bits += 4099) {
      values.push_back(std::bit_cast<float>(bits));
      values.push_back(std::bit_cast<float>((bits & ~0xFFFu) | 0x80000000u));
    }
    for (float& value : values) value = std::abs(value) > 440 ? 1.0f : value;
    const std::size_t count = values.size();
    EXPECT_EQ(expect_the_hosts_bytes(values, {count}, "cast", {{"to", type}}).host_chunks, 0u);
    expect_the_hosts_bytes(any_numbers(10'000), {10'000}, "cast", {{"to", type}});
    values[100] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(expect_the_hosts_bytes(values, {count}, "cast", {{"to", type}}).host_chunks, 1u);
  }
}

TEST_F(FixedRateOnDevice, StoresMasksAsTheHostDoes) {
  for (const std::size_t count : {1, 7, 8, 31, 33, 8192, 8193, 600'003}) {
    std::vector<float> values(count);
    expect_the_hosts_bytes(values, {count}, "mask", {});
    for (std::size_t i = 0; i < count; ++i) values[i] = i * 2654435761u % 3 == 0 ? 1.25f : 0.0f;
    const auto work = expect_the_hosts_bytes(values, {count}, "mask", {});
    if (count > 31) {
      EXPECT_EQ(work.host_chunks, 0u);
    }
    values[count / 2] = -0.0f;
    expect_the_hosts_bytes(values, {count}, "mask", {});
  }
}

TEST_F(FixedRateOnDevice, ChopsAsTheHostDoes) {
  const std::vector<Shape> shapes = {{64, 64},      {8, 8},     {3, 24, 40}, {9, 17},   {1, 1},
                                     {5, 7, 3},     {16, 136},  {40, 256},   {2, 2304}, {50, 2600},
                                     {2, 300, 304}, {20'000},   {16'384},    {5},       {8, 128},
                                     {33, 16, 120}, {600, 1000}};
  for (const Shape& shape : shapes) {
    const auto count = static_cast<std::size_t>(shape.element_count());
    auto values = waves(count, 3);
    for (std::size_t i = 0; i < count; ++i) {
      values[i] += 1e-3f * static_cast<float>(i * 2654435761u % 1000);
    }
    for (const char* layout : {"square", "triangle"}) {
      for (const char* cf : {"1", "2", "3", "5", "7", "8"}) {
        const auto work =
            expect_the_hosts_bytes(values, shape, "dct-chop", {{"cf", cf}, {"layout", layout}});
        if (count > 1000 && std::string_view(cf) < "4") {
          EXPECT_EQ(work.host_chunks, 0u) << shape.to_string() << " " << cf;
        }
      }
      for (const char* cf : {"1", "2", "3", "4"}) {
        expect_the_hosts_bytes(values, shape, "dct-chop",
                               {{"cf", cf}, {"layout", layout}, {"transform", "zfp"}});
      }
    }
    for (const char* type : {"bf16", "f16"}) {
      for (const char* transform : {"dct", "zfp"}) {
        expect_the_hosts_bytes(values, shape, "dct-chop",
                               {{"cf", "3"}, {"coefficients", type}, {"transform", transform}});
      }
    }
  }
}

TEST_F(FixedRateOnDevice, ChopsHardValuesAsTheHostDoes) {
  for (const char* type : {"f32", "bf16", "f16"}) {
    const std::vector<Parameter> parameters = {{"coefficients", type}};
    for (const float size : {0.0f, 1e-45f, 1e-38f, 1e-16f, 1e5f, 1e19f, 3e38f}) {
      expect_the_hosts_bytes(waves(4096, size), {64, 64}, "dct-chop", parameters);
    }
    expect_the_hosts_bytes(any_numbers(4096), {64, 64}, "dct-chop", parameters);
  }
}

TEST_F(FixedRateOnDevice, RefusesToChopWhatTheHostRefuses) {
  auto values = waves(4096);
  values[100] = std::numeric_limits<float>::infinity();
  const auto view = view_of(values, {64, 64}).value();
  const auto codec = Codec::make("dct-chop").value();
  const auto made = device().compress(on_device(view), codec);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message, tensorpress::compress(view, codec).error().message);
}

TEST_F(FixedRateOnDevice, LeavesWhatItDoesNotKnowToTheHost) {
  const auto values = waves(30'000);
  const std::vector<Parameter> products = {{"form", "matmul"}};
  EXPECT_GT(expect_the_hosts_bytes(values, {100, 300}, "dct-chop", products).host_chunks, 0u);
}

TEST_F(FixedRateOnDevice, SurvivesDamage) {
  const auto values = waves(50'000);
  const auto view = view_of(values, {50'000}).value();
  const auto packed = tensorpress::compress(view, Codec::make("quantize").value()).value();
  const auto output = on_device(view);
  for (std::size_t at = 0; at < packed.size(); at += packed.size() / 40) {
    auto damaged = packed;
    damaged[at] ^= std::byte{0x10};
    const auto host = tensorpress::decompress(damaged);
    const auto read = device().decompress(damaged, output);
    ASSERT_EQ(host.ok(), read.ok()) << at;
    if (!host.ok()) {
      EXPECT_EQ(host.error().message, read.error().message);
    }
  }
}

}  // namespace
}  // namespace tensorpress::device
