// Fill values with codecs that have no bound: they come back as they were, and what is stored
// besides is what the codec makes of it without them.
#include <gtest/gtest.h>

#include <cmath>

#include "base/tensor/elements.h"
#include "unit/stream/samples.h"

namespace tensorpress {
namespace {

constexpr double kFill = -1e34;

/// Waves in -1 ... 1 of 4 x 32 x 32, with a patch of fill values in the third plane.
Tensor waves_with_fills(DType dtype) {
  Tensor tensor = samples::ramp(dtype, {4, 32, 32});
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    for (std::size_t i = 0; i < 4096; ++i) {
      const bool fill = i / 1024 == 2 && i % 1024 / 32 < 9 && i % 32 < 7;
      T element;
      from_float(fill ? static_cast<float>(kFill) : std::sin(static_cast<float>(i) / 40.0f),
                 element);
      std::memcpy(tensor.bytes.data() + i * sizeof(T), &element, sizeof(T));
    }
  });
  return tensor;
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.shape.element_count()));
  load_elements(tensor.dtype, tensor.bytes.data(), static_cast<std::int64_t>(size_of(tensor.dtype)),
                values.size(), values.data());
  return values;
}

TEST(FillKeeping, CodecsOfAFixedRateGiveFillValuesBackAndTouchNoneOfTheirNeighbours) {
  for (const char* const name : {"dct-chop", "quantize", "cast"}) {
    const Codec codec = Codec::make(name).value();
    for (const DType dtype : {DType::f32, DType::bf16}) {
      if (std::string_view(name) == "cast" && dtype != DType::f32) continue;
      const Tensor tensor = waves_with_fills(dtype);
      for (const std::size_t threads : {1u, 3u}) {
        const samples::Bytes stream = samples::packed(
            tensor, codec,
            {.fill_values = {kFill, 7e7}, .threads = threads, .chunk_shape = Shape{1, 32, 32}});
        EXPECT_EQ(read_info(stream)->statistic("raw_chunks"), 1.0) << name;
        const Tensor back = samples::read_in_memory(stream).value();
        const auto before = numbers(tensor), after = numbers(back);
        for (std::size_t i = 0; i < before.size(); ++i) {
          if (i / 1024 == 2) {
            ASSERT_EQ(after[i], before[i]) << name << ' ' << i;
          } else {
            ASSERT_LT(std::fabs(after[i] - before[i]), 0.2) << name << ' ' << i;
          }
        }
      }
    }
  }
}

TEST(FillKeeping, TheWriterForFilesWritesTheSameBytes) {
  const Tensor tensor = waves_with_fills(DType::f32);
  const Codec codec = Codec::make("dct-chop").value();
  const samples::Bytes in_memory =
      samples::packed(tensor, codec, {.fill_values = {kFill}, .chunk_shape = Shape{1, 32, 32}});
  samples::PipedTensor source(tensor);
  VectorSink sink;
  CompressOptions options;
  options.fill_values = {kFill};
  options.chunk_shape = Shape{1, 32, 32};
  ASSERT_TRUE(write_stream(codec, source, sink, options).ok());
  EXPECT_EQ(sink.bytes, in_memory);
}

TEST(FillKeeping, FillValuesThatAreNotThereChangeNothing) {
  const Tensor tensor = samples::ramp(DType::i16, {3, 40});
  const Codec codec = Codec::make("dct-chop").value();
  EXPECT_EQ(samples::packed(tensor, codec, {.fill_values = {1e9, -40000}}),
            samples::packed(tensor, codec));
}

}  // namespace
}  // namespace tensorpress
