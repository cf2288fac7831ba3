#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "tensorpress/streaming.h"
#include "unit/stream/samples.h"

namespace tensorpress {
namespace {

using samples::Bytes;
using samples::chop;
using samples::packed;
using samples::ramp;

// The stream as the writer for files makes it.
Bytes written(const Tensor& tensor, const Codec& codec, const CompressOptions& options) {
  ViewSource source(tensor.view());
  VectorSink sink;
  const auto info = write_stream(codec, source, sink, options);
  EXPECT_TRUE(info.ok()) << info.error().message;
  return sink.bytes;
}

template <class Float>
double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.bytes.size(); i += sizeof(Float)) {
    Float x = 0, y = 0;
    std::memcpy(&x, &a.bytes[i], sizeof x);
    std::memcpy(&y, &b.bytes[i], sizeof y);
    largest = std::max(largest, std::abs(static_cast<double>(x) - static_cast<double>(y)));
  }
  return largest;
}

TEST(Stream, GivesBackEveryTypeAndShapeInAllThreeWaysOfReading) {
  for (const DType dtype :
       {DType::f32, DType::f64, DType::f16, DType::bf16, DType::u8, DType::i16}) {
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{5}, Shape{3, 0, 4}, Shape{9, 17},
                               Shape{2, 3, 8, 16}, Shape{1, 1, 1, 2, 1, 2, 8, 9}}) {
      SCOPED_TRACE(std::string(name_of(dtype)) + " " + shape.to_string());
      const Tensor tensor = ramp(dtype, shape);
      const Bytes bytes = packed(tensor, chop(8));
      const auto in_memory = samples::read_in_memory(bytes);
      const auto as_file = samples::read_as_file(bytes);
      const auto as_pipe = samples::read_as_pipe(bytes);
      ASSERT_TRUE(in_memory.ok()) << in_memory.error().message;
      ASSERT_TRUE(as_file.ok()) << as_file.error().message;
      ASSERT_TRUE(as_pipe.ok()) << as_pipe.error().message;
      EXPECT_EQ(in_memory->shape, shape);
      EXPECT_EQ(in_memory->dtype, dtype);
      EXPECT_EQ(in_memory->bytes, as_file->bytes);
      EXPECT_EQ(in_memory->bytes, as_pipe->bytes);
      // All coefficients are kept, so f32 and f64 are only rounded. In the other types f32
      // coefficients would be larger than the elements, which are then stored raw.
      if (dtype == DType::f32) {
        EXPECT_LT(largest_difference<float>(*in_memory, tensor), 1e-4);
      } else if (dtype == DType::f64) {
        EXPECT_LT(largest_difference<double>(*in_memory, tensor), 1e-4);
      } else {
        EXPECT_EQ(in_memory->bytes, tensor.bytes);
      }
    }
  }
}

TEST(Stream, IsTheSameForAnyThreadsAndForBothWriters) {
  const Tensor tensor = ramp(DType::f32, {7, 2, 24, 40});
  const Shape chunk{1, 2, 24, 40};
  const Bytes expected = packed(tensor, chop(4), {.chunk_shape = chunk});
  for (const std::size_t threads : {1u, 2u, 7u, 100u}) {
    EXPECT_EQ(packed(tensor, chop(4), {.threads = threads, .chunk_shape = chunk}), expected);
    EXPECT_EQ(written(tensor, chop(4), {.threads = threads, .chunk_shape = chunk}), expected);
    DecompressOptions options;
    options.threads = threads;
    EXPECT_EQ(samples::read_as_file(expected, options)->bytes,
              samples::read_in_memory(expected)->bytes);
    EXPECT_EQ(samples::read_as_pipe(expected, options)->bytes,
              samples::read_in_memory(expected)->bytes);
  }
}

TEST(Stream, UsesTheRunnerOfTheCaller) {
  const Tensor tensor = ramp(DType::f32, {4, 16, 16});
  std::size_t calls = 0;
  const Runner backwards = [&](std::size_t count, const std::function<void(std::size_t)>& task) {
    for (std::size_t i = count; i-- > 0; ++calls) task(i);
  };
  const Shape chunk{1, 16, 16};
  const Bytes bytes = packed(tensor, chop(4), {.runner = backwards, .chunk_shape = chunk});
  EXPECT_EQ(bytes, packed(tensor, chop(4), {.chunk_shape = chunk}));
  EXPECT_EQ(calls, 4u);
  ASSERT_TRUE(decompress(bytes, {.runner = backwards}).ok());
  EXPECT_EQ(calls, 8u);
}

TEST(Stream, TakesViewsWithAnyStrides) {
  const Tensor tensor = ramp(DType::f32, {16, 24});
  std::vector<float> transposed(16 * 24);
  const auto* values = reinterpret_cast<const float*>(tensor.bytes.data());
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 24; ++j) transposed[j * 16 + i] = values[i * 24 + j];
  }
  TensorView view = *view_of(std::span<const float>(transposed), {16, 24});
  view.strides = {4, 64};
  const Compressor compressor(chop(4), {.chunk_shape = Shape{8, 16}});
  Bytes bytes(compressor.bound_on_output_size(view.shape, view.dtype).value());
  bytes.resize(compressor.compress(view, bytes).value());
  EXPECT_EQ(bytes, packed(tensor, chop(4), {.chunk_shape = Shape{8, 16}}));

  std::vector<float> back(16 * 24);
  MutableTensorView target = *view_of(back, {16, 24});
  target.strides = {4, 64};
  ASSERT_TRUE(Decompressor().decompress(bytes, target).ok());
  const auto straight = samples::read_in_memory(bytes);
  const auto* expected = reinterpret_cast<const float*>(straight->bytes.data());
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 24; ++j) EXPECT_EQ(back[j * 16 + i], expected[i * 24 + j]);
  }
}

TEST(Stream, ReadsOneChunkWithoutTheOthers) {
  const Tensor tensor = ramp(DType::f32, {20, 40});
  const Bytes bytes = packed(tensor, chop(8), {.chunk_shape = Shape{16, 16}});
  const Tensor whole = samples::read_in_memory(bytes).value();
  const samples::FileLike file(bytes);
  const auto reader = StreamReader::open(file).value();
  ASSERT_EQ(reader.info().chunk_count, 6u);
  ChunkWorkspace workspace(Isa::scalar);
  for (const std::uint64_t number : {5u, 0u, 2u}) {
    const Region region = reader.chunk(number);
    Tensor chunk{.dtype = DType::f32, .shape = region.extent};
    chunk.bytes.resize(region.extent.element_count() * 4);
    ASSERT_TRUE(ReaderAccess::read_chunk(reader, number, chunk.mutable_view(), workspace).ok());
    Tensor expected = chunk;
    copy_elements(whole.view().part(region), expected.mutable_view());
    EXPECT_EQ(chunk.bytes, expected.bytes) << number;
  }
  Tensor wrong = ramp(DType::f32, {16, 15});
  EXPECT_EQ(ReaderAccess::read_chunk(reader, 0, wrong.mutable_view(), workspace).error().code,
            ErrorCode::bad_argument);
  EXPECT_EQ(ReaderAccess::read_chunk(reader, 6, wrong.mutable_view(), workspace).error().code,
            ErrorCode::bad_argument);
}

TEST(Stream, DescribesItself) {
  const Tensor tensor = ramp(DType::f32, {3, 16, 16});
  const std::vector<Attribute> attributes{{"units", "kelvin"}, {"höhe", ""}};
  const Bytes bytes =
      packed(tensor, chop(4), {.chunk_shape = Shape{1, 16, 16}, .attributes = attributes});
  const auto info = read_info(bytes);
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_EQ(info->format_version, 2u);
  EXPECT_EQ(info->codec, chop(4));
  EXPECT_EQ(info->chunk_shape, (Shape{1, 16, 16}));
  EXPECT_EQ(info->chunk_count, 3u);
  EXPECT_EQ(info->attributes, attributes);
  EXPECT_EQ(info->bytes_out, bytes.size());
  EXPECT_EQ(info->bytes_in(), 3072u);
  EXPECT_EQ(info->payload_bytes, 768u);  // a quarter: 16 of 64 coefficients
  EXPECT_EQ(info->statistic("raw_chunks"), 0.0);
  EXPECT_EQ(info->statistic("no such"), std::nullopt);

  // What the statistic says is what happened.
  const Tensor back = samples::read_in_memory(bytes).value();
  double squared = 0;
  for (std::size_t i = 0; i < back.bytes.size(); i += 4) {
    float x = 0, y = 0;
    std::memcpy(&x, &tensor.bytes[i], 4);
    std::memcpy(&y, &back.bytes[i], 4);
    squared += (static_cast<double>(x) - y) * (static_cast<double>(x) - y);
  }
  EXPECT_NEAR(info->statistic("l2_error").value_or(-1), std::sqrt(squared),
              1e-4 * std::sqrt(squared));
}

TEST(Stream, ReportsTheSameInfoFromAPipe) {
  const Bytes bytes = packed(ramp(DType::f32, {3, 16, 16}), chop(2),
                             {.chunk_shape = Shape{1, 16, 16}, .attributes = {{"a", "b"}}});
  samples::PipeLike pipe(bytes);
  Tensor tensor = ramp(DType::f32, {3, 16, 16});
  const auto make_sink = [&](const StreamInfo& early) -> Result<std::unique_ptr<TensorSink>> {
    EXPECT_EQ(early.attributes.size(), 1u);
    return std::unique_ptr<TensorSink>(std::make_unique<ViewSink>(tensor.mutable_view()));
  };
  const auto info = read_sequentially(pipe, make_sink, {});
  const auto expected = read_info(bytes);
  ASSERT_TRUE(info.ok()) << info.error().message;
  EXPECT_EQ(info->statistics, expected->statistics);
  EXPECT_EQ(info->bytes_out, expected->bytes_out);
  EXPECT_EQ(info->payload_bytes, expected->payload_bytes);
}

TEST(Stream, FitsTheBoundAndRefusesLess) {
  const Tensor tensor = ramp(DType::f32, {3, 16, 16});
  const Compressor compressor(chop(3));
  const std::uint64_t bound = compressor.bound_on_output_size(tensor.shape, tensor.dtype).value();
  Bytes output(bound);
  const std::uint64_t length = compressor.compress(tensor.view(), output).value();
  EXPECT_LE(length, bound);
  EXPECT_EQ(compressor.compress(tensor.view(), std::span(output).first(length)).value(), length);
  for (const std::uint64_t less : {length - 1, length / 2, std::uint64_t{0}}) {
    EXPECT_EQ(compressor.compress(tensor.view(), std::span(output).first(less)).error().code,
              ErrorCode::bad_argument);
  }
}

TEST(Stream, KeepsWithinTheCallersLimits) {
  const Bytes bytes = packed(ramp(DType::f32, {16, 16}), chop(8));
  EXPECT_TRUE(decompress(bytes, {.max_bytes = 1024}).ok());
  EXPECT_EQ(decompress(bytes, {.max_bytes = 1023}).error().code, ErrorCode::too_large);
  Tensor other = ramp(DType::f32, {8, 32});
  EXPECT_EQ(Decompressor().decompress(bytes, other.mutable_view()).error().code,
            ErrorCode::bad_argument);
}

TEST(Stream, ReportsProgressUpToTheEnd) {
  std::vector<std::uint64_t> seen;
  const auto note = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, 768u);
    seen.push_back(done);
  };
  const Bytes bytes = written(ramp(DType::f32, {3, 16, 16}), chop(2),
                              {.threads = 2, .chunk_shape = Shape{1, 16, 16}, .progress = note});
  DecompressOptions options;
  options.progress = note;
  ASSERT_TRUE(samples::read_as_file(bytes, options).ok());
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{256, 512, 768, 256, 512, 768}));
}

TEST(Stream, TakesAPipeInOrderAndRefusesChunksThatAreNot) {
  const Tensor tensor = ramp(DType::f32, {4, 16, 16});
  samples::PipedTensor piped(tensor);
  VectorSink sink;
  ASSERT_TRUE(write_stream(chop(4), piped, sink, {.chunk_shape = Shape{1, 8, 16}}).ok());
  EXPECT_EQ(sink.bytes, packed(tensor, chop(4), {.chunk_shape = Shape{1, 8, 16}}));
  const auto refused = write_stream(chop(4), piped, sink, {.chunk_shape = Shape{1, 8, 8}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("1x4x16"), std::string::npos) << refused.error().message;
}

TEST(Stream, StoresAChunkRawWhenItsCoefficientsDoNotFit) {
  Tensor tensor = ramp(DType::f32, {5, 16, 16});
  const float beyond_f16 = 1e6F;
  for (std::size_t i = 0; i < 256; ++i) std::memcpy(&tensor.bytes[3072 + 4 * i], &beyond_f16, 4);
  const Codec codec = Codec::dct_chop({.coefficients = "f16"}).value();
  const Shape chunk{1, 16, 16};
  const Bytes bytes = packed(tensor, codec, {.threads = 2, .chunk_shape = chunk});
  EXPECT_EQ(bytes, written(tensor, codec, {.chunk_shape = chunk}));
  EXPECT_EQ(read_info(bytes)->statistic("raw_chunks"), 1.0);
  const auto back = samples::read_in_memory(bytes);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(std::equal(&tensor.bytes[3072], &tensor.bytes[4096], &back->bytes[3072]));
  EXPECT_EQ(samples::read_as_pipe(bytes)->bytes, back->bytes);
}

TEST(Stream, NamesTheFirstOfSeveralBadChunks) {
  Tensor tensor = ramp(DType::f32, {8, 16, 16});
  const float nan = std::nanf("");
  for (const std::size_t plane : {2u, 5u}) std::memcpy(&tensor.bytes[plane * 1024], &nan, 4);
  const Shape chunk{1, 16, 16};
  const auto single = compress(tensor.view(), chop(4), {.chunk_shape = chunk});
  ASSERT_FALSE(single.ok());
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto several = compress(tensor.view(), chop(4), {.threads = 4, .chunk_shape = chunk});
    ASSERT_FALSE(several.ok());
    EXPECT_EQ(several.error().message, single.error().message);
  }
}

}  // namespace
}  // namespace tensorpress
