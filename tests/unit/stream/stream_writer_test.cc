// Rows appended one after the other make the same stream as the whole tensor, and whatever does not
// fit is told.
#include <gtest/gtest.h>

#include <cmath>

#include "tensorpress/streaming.h"
#include "unit/stream/samples.h"

namespace tensorpress {
namespace {

Tensor waves(const Shape& shape) {
  Tensor tensor{.bytes = std::vector<std::byte>(shape.element_count() * sizeof(float)),
                .dtype = DType::f32,
                .shape = shape};
  auto values = tensor.mutable_values<float>().value();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::sin(static_cast<float>(i) * 0.01F);
  }
  return tensor;
}

TensorView rows_of(const Tensor& tensor, std::uint64_t first, std::uint64_t count) {
  Region region = Region::whole(tensor.shape);
  region.origin[0] = first;
  region.extent[0] = count;
  return tensor.view().part(region);
}

std::vector<std::byte> written(const Tensor& tensor, const Codec& codec,
                               const CompressOptions& options, std::uint64_t rows_at_once) {
  VectorSink sink;
  auto writer = StreamWriter::begin(codec, tensor.dtype, tensor.shape, sink, options).value();
  for (std::uint64_t row = 0; row < tensor.shape[0]; row += rows_at_once) {
    const std::uint64_t count = std::min(rows_at_once, tensor.shape[0] - row);
    EXPECT_TRUE(writer.append(rows_of(tensor, row, count)).ok());
  }
  const auto info = writer.finish();
  EXPECT_TRUE(info.ok()) << (info.ok() ? "" : info.error().message);
  EXPECT_EQ(info->bytes_out, sink.bytes.size());
  return sink.bytes;
}

TEST(StreamWriter, RowsInAnyPiecesGiveTheStreamOfTheWholeTensor) {
  const Tensor tensor = waves({50, 30, 20});
  CompressOptions options{.bound = Bound::absolute(1e-3), .chunk_shape = Shape{8, 16, 20}};
  for (const char* const name : {"dense", "ceresz", "ceresz2"}) {
    const Codec codec = Codec::make(name).value();
    const auto whole = compress(tensor.view(), codec, options).value();
    for (const std::size_t threads : {1, 3}) {
      options.threads = threads;
      for (const std::uint64_t rows : {1, 3, 8, 11, 50}) {
        EXPECT_EQ(written(tensor, codec, options, rows), whole) << name << " " << rows;
      }
    }
  }
}

TEST(StreamWriter, FixedRateAndChosenChunks) {
  const Tensor tensor = waves({33, 40, 40});
  const Codec codec = Codec::make("dct-chop").value();
  EXPECT_EQ(written(tensor, codec, {}, 5), compress(tensor.view(), codec).value());
}

TEST(StreamWriter, ARelativeBoundNeedsTheRange) {
  const Tensor tensor = waves({10, 30});
  const Codec codec = Codec::make("dense").value();
  CompressOptions options{.bound = Bound::relative(1e-3)};
  VectorSink sink;
  const auto refused = StreamWriter::begin(codec, DType::f32, tensor.shape, sink, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("value range"), std::string::npos);
  options.value_range = ValueRange{-1, 1};
  EXPECT_EQ(written(tensor, codec, options, 4), compress(tensor.view(), codec, options).value());
}

TEST(StreamWriter, ScalarsAndEmptyTensors) {
  const Codec codec = Codec::make("dense").value();
  const CompressOptions options{.bound = Bound::absolute(1e-3)};
  const float number = 3;
  const TensorView scalar = view_of(std::span(&number, 1), Shape{}).value();
  VectorSink sink;
  auto writer = StreamWriter::begin(codec, DType::f32, Shape{}, sink, options).value();
  ASSERT_TRUE(writer.append(scalar).ok());
  ASSERT_TRUE(writer.finish().ok());
  EXPECT_EQ(sink.bytes, compress(scalar, codec, options).value());
  for (const Shape& shape : {Shape{0, 3}, Shape{3, 0}}) {
    VectorSink empty;
    auto nothing = StreamWriter::begin(codec, DType::f32, shape, empty, options).value();
    ASSERT_TRUE(nothing.finish().ok()) << shape.to_string();
    EXPECT_EQ(empty.bytes,
              compress(TensorView::contiguous(nullptr, DType::f32, shape), codec, options).value());
  }
}

TEST(StreamWriter, RowsThatDoNotFitAreRefused) {
  const Tensor tensor = waves({6, 20});
  const Codec codec = Codec::make("dense").value();
  VectorSink sink;
  auto writer =
      StreamWriter::begin(codec, DType::f32, tensor.shape, sink, {.bound = Bound::absolute(1e-3)})
          .value();
  EXPECT_FALSE(writer.append(waves({2, 21}).view()).ok());
  EXPECT_FALSE(writer.append(waves({20}).view()).ok());
  const std::vector<double> doubles(20);
  EXPECT_FALSE(writer.append(view_of(doubles, {1, 20}).value()).ok());
  ASSERT_TRUE(writer.append(rows_of(tensor, 0, 4)).ok());
  EXPECT_FALSE(writer.append(rows_of(tensor, 0, 3)).ok());
  const auto early = writer.finish();
  ASSERT_FALSE(early.ok());
  EXPECT_NE(early.error().message.find("6 rows, and only 4"), std::string::npos)
      << early.error().message;
  ASSERT_TRUE(writer.append(rows_of(tensor, 4, 2)).ok());
  EXPECT_TRUE(writer.finish().ok());
}

TEST(StreamWriter, AFullSinkEndsTheWork) {
  const Tensor tensor = waves({64, 64});
  const Codec codec = Codec::make("dense").value();
  std::vector<std::byte> room(300);
  MemorySink sink(room);
  auto writer =
      StreamWriter::begin(codec, DType::f32, tensor.shape, sink, {.bound = Bound::absolute(1e-7)})
          .value();
  EXPECT_FALSE(writer.append(tensor.view()).ok());
}

TEST(Tensor, GivesItsElementsOnlyAsWhatTheyAre) {
  Tensor tensor = waves({2, 3});
  ASSERT_TRUE(tensor.values<float>().ok());
  EXPECT_EQ(tensor.values<float>()->size(), 6u);
  (*tensor.mutable_values<float>())[5] = 7;
  EXPECT_EQ((*tensor.values<float>())[5], 7);
  const auto wrong = tensor.values<double>();
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().message, "elements of type f32 were asked for as f64");
}

}  // namespace
}  // namespace tensorpress
