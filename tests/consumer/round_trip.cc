// What somebody else's program does with Tensorpress, through the public headers only: compresses a
// small tensor with dct-chop, decompresses it, and ends with status 1 if it did not come back.
#include <tensorpress/stream.h>
#include <tensorpress/version.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
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
  std::vector<float> copy(values.size());
  std::memcpy(copy.data(), tensor.bytes.data(), copy.size() * sizeof(float));
  float largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(values[i] - copy[i]));
  }
  return largest;
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
  std::printf("tensorpress %s: %zu bytes in a stream of %zu\n", TENSORPRESS_VERSION_STRING,
              values.size() * sizeof(float), stream->size());
  return 0;
}
