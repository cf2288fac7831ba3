// Properties of dct-chop over shapes, types, parameters and hostile values: the stored error holds,
// bytes do not depend on the instruction set or the threads, and a second compression gives the
// same bytes.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/tensor/elements.h"
#include "metrics/metrics.h"
#include "property/with_isa.h"
#include "tensorpress/stream.h"

namespace tensorpress {
namespace {

float hostile_value(int kind) {
  const float unit = static_cast<float>(*rc::gen::inRange(-1000, 1001)) / 1000.0f;
  switch (kind) {
    case 0:
      return unit;
    case 1:
      return 287.0f + unit * 1e-4f;
    case 2:
      return unit * 1e-38f;
    case 3:
      return unit * std::numeric_limits<float>::denorm_min() * 100;
    case 4:
      return unit * 3e38f;
    case 5:
      return *rc::gen::inRange(0, 20) == 0 ? 1e6f : 0.0f;
    default:
      return *rc::gen::element(0.0f, -0.0f, 1.0f);
  }
}

struct Sample {
  Tensor tensor;
  Codec codec;
};

Sample arbitrary_sample() {
  const auto dtype = *rc::gen::element(DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16,
                                       DType::u8, DType::i16);
  const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
  std::vector<std::uint64_t> extents(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    extents[axis] = *rc::gen::inRange<std::uint64_t>(0, axis + 2 >= rank ? 41 : 4);
  }
  const Shape shape = Shape::make(extents).value();
  const int kind = *rc::gen::inRange(0, 7);
  Tensor tensor{
      std::vector<std::byte>(static_cast<std::size_t>(shape.element_count()) * size_of(dtype)),
      dtype, shape};
  for (std::size_t i = 0; i < shape.element_count(); ++i) {
    float value = hostile_value(kind);
    if (dtype == DType::f16) value = std::fmax(-60000.0f, std::fmin(60000.0f, value));
    if (dtype == DType::u8 || dtype == DType::i16) value *= 255.0f;
    if (dtype == DType::bf16) value = std::fmax(-3e38f, std::fmin(3e38f, value));
    store_elements(dtype, &value, tensor.bytes.data() + i * size_of(dtype), 0, 1);
  }
  const bool zfp = *rc::gen::element(false, false, true);
  const auto codec =
      Codec::dct_chop({.chop_factor = *rc::gen::inRange(1, zfp ? 5 : 9),
                       .layout = *rc::gen::element("square", "triangle"),
                       .transform = zfp ? "zfp" : "dct",
                       .coefficients = *rc::gen::element("f32", "f32", "bf16", "f16")});
  return {std::move(tensor), codec.value()};
}

RC_GTEST_PROP(DctChopProperty, TheStoredErrorIsNeverExceeded, ()) {
  const Sample sample = arbitrary_sample();
  const auto stream = compress(sample.tensor.view(), sample.codec);
  RC_ASSERT(stream.ok());
  const auto back = decompress(*stream);
  RC_ASSERT(back.ok());
  const auto errors = metrics::compare(sample.tensor.view(), back->view());
  RC_ASSERT(errors.ok());
  RC_ASSERT(errors->mismatched_nonfinite == 0u);
  RC_ASSERT(errors->l2_error() <= read_info(*stream)->statistic("l2_error").value() * (1 + 1e-12));
  RC_ASSERT(read_info(*stream)->payload_bytes <= sample.tensor.bytes.size());
}

RC_GTEST_PROP(DctChopProperty, BytesDependOnNothingButTheInput, ()) {
  const Sample sample = arbitrary_sample();
  const auto rank = sample.tensor.shape.rank();
  Shape chunk = sample.tensor.shape;
  for (std::size_t axis = 0; axis < rank; ++axis)
    chunk[axis] =
        std::min<std::uint64_t>(std::max<std::uint64_t>(chunk[axis], 1), axis + 2 >= rank ? 16 : 2);
  const auto bytes_with = [&](std::size_t threads) {
    return compress(sample.tensor.view(), sample.codec,
                    {.threads = threads, .runner = {}, .chunk_shape = chunk, .attributes = {}})
        .value();
  };
  const auto expected = bytes_with(1);
  RC_ASSERT(bytes_with(1) == expected);
  RC_ASSERT(bytes_with(2) == expected);
  RC_ASSERT(bytes_with(7) == expected);
  const auto decoded = decompress(expected)->bytes;
  for (const Isa isa : usable_isas()) {
    const WithIsa capped(isa);
    RC_ASSERT(bytes_with(1) == expected);
    RC_ASSERT(decompress(expected)->bytes == decoded);
  }
}

RC_GTEST_PROP(DctChopProperty, BytesDoNotDependOnHowMemoryIsLaidOut, ()) {
  const Sample sample = arbitrary_sample();
  const TensorView plain = sample.tensor.view();
  const auto expected = compress(plain, sample.codec).value();
  const std::size_t rank = plain.shape.rank(), element = size_of(plain.dtype);
  std::vector<std::byte> room(2 * sample.tensor.bytes.size() + 64);

  const auto written_from = [&](std::byte* begin, const std::vector<std::int64_t>& strides) {
    MutableTensorView view = MutableTensorView::contiguous(begin, plain.dtype, plain.shape);
    std::copy(strides.begin(), strides.end(), view.strides.begin());
    copy_elements(plain, view);
    return compress(view, sample.codec).value();
  };
  std::vector<std::int64_t> c_order(rank), fortran(rank), apart(rank);
  std::int64_t step = static_cast<std::int64_t>(element);
  for (std::size_t axis = rank; axis-- > 0;) {
    c_order[axis] = step;
    apart[axis] = 2 * step;
    step *= static_cast<std::int64_t>(std::max<std::uint64_t>(plain.shape[axis], 1));
  }
  step = static_cast<std::int64_t>(element);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    fortran[axis] = step;
    step *= static_cast<std::int64_t>(std::max<std::uint64_t>(plain.shape[axis], 1));
  }
  RC_ASSERT(written_from(room.data() + 1, c_order) == expected);
  RC_ASSERT(written_from(room.data(), fortran) == expected);
  RC_ASSERT(written_from(room.data(), apart) == expected);
}

}  // namespace
}  // namespace tensorpress
