// What another program does with Tensorpress, through the public headers only: compresses a small
// tensor with dct-chop, decompresses it, writes and reads it again row by row, and ends with status
// 1 if it did not come back.
#include <tensorpress/streaming.h>
#include <tensorpress/version.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

int fail(const char* what, const tensorpress::Error& error) {
  std::fprintf(stderr, "%s: %s\n", what, error.message.c_str());
  return 1;
}

std::vector<float> wave(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = std::sin(static_cast<float>(i) * 0.1F);
  return values;
}

// Largest difference between values and what the stream's tensor holds.
float largest_difference(const std::vector<float>& values, const tensorpress::Tensor& tensor) {
  const auto copy = tensor.values<float>().value();
  float largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(values[i] - copy[i]));
  }
  return largest;
}

// The stream of the same values, appended plane by plane.
tensorpress::Result<std::vector<std::byte>> by_rows(const std::vector<float>& values,
                                                    const tensorpress::Codec& codec) {
  tensorpress::VectorSink sink;
  auto writer = tensorpress::StreamWriter::begin(codec, tensorpress::DType::f32, {3, 16, 16}, sink);
  if (!writer.ok()) return writer.error();
  for (std::size_t plane = 0; plane < 3; ++plane) {
    const auto rows =
        tensorpress::view_of(std::span(values).subspan(plane * 256, 256), {1, 16, 16});
    if (!rows.ok()) return rows.error();
    if (const auto done = writer->append(*rows); !done.ok()) return done.error();
  }
  const auto info = writer->finish();
  if (!info.ok()) return info.error();
  return std::move(sink.bytes);
}

}  // namespace

int main() {
  const tensorpress::Shape shape = {3, 16, 16};
  const std::vector<float> values = wave(shape.element_count());

  // All 64 coefficients are kept, so only float rounding may change the values.
  const auto codec = tensorpress::Codec::dct_chop({.chop_factor = 8});
  if (!codec.ok()) return fail("codec", codec.error());
  const auto view = tensorpress::view_of(values, shape);
  if (!view.ok()) return fail("view", view.error());
  const auto stream = tensorpress::compress(*view, *codec);
  if (!stream.ok()) return fail("compress", stream.error());
  const auto tensor = tensorpress::decompress(*stream);
  if (!tensor.ok()) return fail("decompress", tensor.error());

  if (tensor->shape != shape || tensor->dtype != tensorpress::DType::f32) {
    std::fprintf(stderr, "the tensor came back as %s\n", tensor->shape.to_string().c_str());
    return 1;
  }
  const float difference = largest_difference(values, *tensor);
  if (!(difference < 1e-5F)) {
    std::fprintf(stderr, "a value is off by %g\n", static_cast<double>(difference));
    return 1;
  }
  const auto again = by_rows(values, *codec);
  if (!again.ok()) return fail("StreamWriter", again.error());
  if (*again != *stream) {
    std::fprintf(stderr, "rows give another stream than the whole tensor\n");
    return 1;
  }
  std::printf("tensorpress %s: %zu bytes in a stream of %zu\n", TENSORPRESS_VERSION_STRING,
              values.size() * sizeof(float), stream->size());
  return 0;
}
