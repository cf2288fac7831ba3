// Properties of quantize, cast and mask over values, types, lengths and groups: the stated error
// holds, stochastic rounding is unbiased, and streams depend on nothing but their input.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "kernels/quantize/quantize.h"
#include "metrics/metrics.h"
#include "property/with_isa.h"
#include "tensorpress/stream.h"
#include "unit/codecs/pack_samples.h"

namespace tensorpress {
namespace {

float value_of_kind(int kind) {
  const float unit = static_cast<float>(*rc::gen::inRange(-1000, 1001)) / 1000.0f;
  switch (kind) {
    case 0:
      return unit;
    case 1:
      return unit > 0 ? unit : 0.0f;
    case 2:
      return 287.0f + unit * 1e-3f;
    case 3:
      return unit * 1e-36f;
    case 4:
      return unit * std::numeric_limits<float>::denorm_min() * 100;
    case 5:
      return unit * 6e4f;
    case 6:
      return *rc::gen::inRange(0, 30) == 0 ? 1000.0f : 0.0f;
    default:
      return *rc::gen::element(0.0f, -0.0f, 1.0f);
  }
}

std::vector<float> arbitrary_values() {
  const int kind = *rc::gen::inRange(0, 8);
  std::vector<float> values(*rc::gen::inRange<std::size_t>(0, 900));
  for (auto& value : values) value = value_of_kind(kind);
  return values;
}

DType arbitrary_type() {
  return *rc::gen::element(DType::f32, DType::f32, DType::f16, DType::bf16);
}

QuantizeOptions arbitrary_options() {
  QuantizeOptions options;
  options.bits = *rc::gen::element(1, 2, 3, 4, 5, 6, 8);
  const std::size_t block = kernels::quantized_block_values(options.bits);
  options.group = block * *rc::gen::element<std::size_t>(1, 2, 3, 4, 7);
  options.rounding = *rc::gen::element(Rounding::nearest, Rounding::stochastic);
  options.seed = *rc::gen::arbitrary<std::uint64_t>();
  return options;
}

RC_GTEST_PROP(QuantizeProperty, TheErrorIsAtMostHalfAScaleNearestAndBelowOneStochastic, ()) {
  const DType dtype = arbitrary_type();
  const QuantizeOptions options = arbitrary_options();
  if (options.bits == 1 && options.rounding == Rounding::nearest) return;  // means: no such bound
  const auto bytes = samples::elements(dtype, arbitrary_values());
  const auto values = samples::floats(dtype, bytes);
  const auto packed = samples::packed(dtype, bytes, options);
  RC_ASSERT(packed.size() == packed_size(values.size(), options).value());
  const auto back = samples::floats(
      dtype, samples::unpacked(dtype, packed, options, values.size(),
                               *rc::gen::element(Stores::cached, Stores::past_cache)));
  // Half the spacing of the output type, where decoding rounds to it, besides f32's own rounding.
  const double unit = dtype == DType::f32 ? 0x1p-22 : dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
  const double least_unit = dtype == DType::f16 ? 0x1p-25 : 0x1p-133;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double scale = samples::scale_of(packed, i, options);
    const double error = std::fabs(static_cast<double>(back[i]) - values[i]);
    const double share = options.rounding == Rounding::nearest ? 0.5 : 1.0;
    const double rounding = unit * (std::fabs(values[i]) + scale) + least_unit;
    RC_ASSERT(error <= share * scale * (1 + 0x1p-18) + rounding);
    if (values[i] == 0 && scale > 0) RC_ASSERT(std::isfinite(back[i]));
  }
}

RC_GTEST_PROP(QuantizeProperty, OneBitIsNeverWorseThanTheMeanAlone, ()) {
  const auto values = arbitrary_values();
  const QuantizeOptions options{.bits = 1};
  const auto back = samples::round_trip(values, options);
  for (std::size_t first = 0; first < values.size(); first += options.group) {
    const std::size_t count = std::min(options.group, values.size() - first);
    double mean = 0, with_mean = 0, with_codes = 0, size = 0;
    for (std::size_t i = first; i < first + count; ++i) {
      mean += static_cast<double>(values[i]) / static_cast<double>(count);
      size = std::max(size, std::fabs(static_cast<double>(values[i])));
    }
    for (std::size_t i = first; i < first + count; ++i) {
      with_mean += (values[i] - mean) * (values[i] - mean);
      with_codes +=
          (static_cast<double>(values[i]) - back[i]) * (static_cast<double>(values[i]) - back[i]);
    }
    // The header rounds the lower mean to 2^-11 and the distance to 2^-6 of itself.
    const double header = size * 0x1p-11 + 0x1p-126;
    RC_ASSERT(std::sqrt(with_codes) <= std::sqrt(with_mean) * (1 + 0x1p-5) +
                                           std::sqrt(static_cast<double>(count)) * header * 2);
  }
}

// The mean of n roundings of one value has a standard deviation of at most scale / (2 sqrt(n)), and
// 14 bits of fraction a bias of at most scale / 2^15. Six deviations are allowed: one set of seeds
// in 500,000 would exceed them somewhere among the 1024 means below, and the seeds are fixed.
TEST(StochasticRounding, TheMeanOverSeedsIsTheValue) {
  constexpr int kSeeds = 4000;
  constexpr std::size_t kCount = 256;
  const auto values = samples::normal_values(kCount, 11);
  for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
    std::vector<double> sums(kCount);
    double scale = 0;
    for (int seed = 0; seed < kSeeds; ++seed) {
      const QuantizeOptions options{
          .bits = bits, .rounding = Rounding::stochastic, .seed = static_cast<std::uint64_t>(seed)};
      const auto packed =
          samples::packed(DType::f32, samples::elements(DType::f32, values), options);
      scale = samples::scale_of(packed, 0, options);
      const auto back =
          samples::floats(DType::f32, samples::unpacked(DType::f32, packed, options, kCount));
      for (std::size_t i = 0; i < kCount; ++i) sums[i] += back[i];
    }
    double chi_squared = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double off = sums[i] / kSeeds - values[i];
      EXPECT_LE(std::fabs(off), scale * (6 * 0.5 / std::sqrt(kSeeds) + 0x1p-15))
          << bits << " " << i;
      chi_squared += off * off;
    }
    // And the deviations together are no larger than those of independent roundings can be.
    EXPECT_LE(std::sqrt(chi_squared / kCount), scale * 0.5 / std::sqrt(kSeeds) * 1.1) << bits;
  }
}

// Over the elements of one call with one seed: what adds up in a gradient.
TEST(StochasticRounding, TheSumOverElementsIsKept) {
  constexpr std::size_t kCount = 1 << 20;
  const auto values = samples::normal_values(kCount, 12);
  for (const int bits : {1, 2, 3, 4, 5, 6, 8}) {
    const QuantizeOptions options{.bits = bits, .rounding = Rounding::stochastic, .seed = 77};
    const auto packed = samples::packed(DType::f32, samples::elements(DType::f32, values), options);
    const auto back =
        samples::floats(DType::f32, samples::unpacked(DType::f32, packed, options, kCount));
    double off = 0, variance = 0, bias = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const double scale = samples::scale_of(packed, i, options);
      off += static_cast<double>(back[i]) - values[i];
      variance += scale * scale / 4;
      bias += scale * 0x1p-15;
    }
    EXPECT_LE(std::fabs(off), 5 * std::sqrt(variance) + bias) << bits;
  }
}

struct Sample {
  Tensor tensor;
  Codec codec;
};

Sample arbitrary_sample() {
  const auto codec = *rc::gen::inRange(0, 3);
  const std::string to = *rc::gen::element<std::string>("bf16", "f16", "e4m3", "e5m2");
  const bool fp8 = to == "e4m3" || to == "e5m2";
  DType dtype = arbitrary_type();
  if (codec == 0 && *rc::gen::inRange(0, 5) == 0) dtype = DType::f64;
  if (codec == 1 && !fp8) dtype = DType::f32;
  if (codec == 2)
    dtype = *rc::gen::element(DType::f32, DType::f64, DType::u8, DType::i16, DType::f16);
  const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
  std::vector<std::uint64_t> extents(rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    extents[axis] = *rc::gen::inRange<std::uint64_t>(0, axis + 2 >= rank ? 41 : 4);
  }
  const Shape shape = Shape::make(extents).value();
  const int kind = codec == 2 ? 7 : *rc::gen::inRange(0, 8);
  const bool strange = *rc::gen::inRange(0, 8) == 0;
  std::vector<float> values(static_cast<std::size_t>(shape.element_count()));
  for (auto& value : values) value = value_of_kind(kind);
  if (strange && !values.empty()) {
    values[*rc::gen::inRange<std::size_t>(0, values.size())] =
        *rc::gen::element(NAN, HUGE_VALF, -HUGE_VALF, 3.0f);
  }
  std::vector<Parameter> parameters;
  if (codec == 0) {
    const QuantizeOptions options = arbitrary_options();
    parameters = {{"bits", std::to_string(options.bits)},
                  {"group", std::to_string(options.group)},
                  {"rounding", options.rounding == Rounding::nearest ? "nearest" : "stochastic"},
                  {"seed", std::to_string(options.seed)}};
  } else if (codec == 1) {
    parameters = {{"to", to}};
  }
  const char* const names[] = {"quantize", "cast", "mask"};
  return {{samples::elements(dtype, values), dtype, shape},
          Codec::make(names[codec], parameters).value()};
}

Shape small_chunks(const Shape& shape) {
  Shape chunk = shape;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    chunk[axis] = std::min<std::uint64_t>(std::max<std::uint64_t>(chunk[axis], 1),
                                          axis + 2 >= shape.rank() ? 24 : 2);
  }
  return chunk;
}

RC_GTEST_PROP(PackedCodecsProperty, TheStoredErrorHoldsAndStrangeValuesComeBackAsTheyWere, ()) {
  const Sample sample = arbitrary_sample();
  const auto stream = compress(sample.tensor.view(), sample.codec,
                               {.chunk_shape = small_chunks(sample.tensor.shape)});
  RC_ASSERT(stream.ok());
  const auto back = decompress(*stream);
  RC_ASSERT(back.ok());
  const auto errors = metrics::compare(sample.tensor.view(), back->view());
  RC_ASSERT(errors.ok());
  RC_ASSERT(errors->mismatched_nonfinite == 0u);
  RC_ASSERT(errors->l2_error() <= read_info(*stream)->statistic("l2_error").value() * (1 + 1e-12));
  RC_ASSERT(read_info(*stream)->payload_bytes <= sample.tensor.bytes.size());
  if (sample.codec.name() == "mask") RC_ASSERT(back->bytes == sample.tensor.bytes);
}

RC_GTEST_PROP(PackedCodecsProperty, BytesDependOnNothingButTheInput, ()) {
  const Sample sample = arbitrary_sample();
  const auto bytes_with = [&](std::size_t threads) {
    return compress(sample.tensor.view(), sample.codec,
                    {.threads = threads, .chunk_shape = small_chunks(sample.tensor.shape)})
        .value();
  };
  const auto expected = bytes_with(1);
  RC_ASSERT(bytes_with(2) == expected);
  RC_ASSERT(bytes_with(7) == expected);
  const auto decoded = decompress(expected)->bytes;
  for (const Isa isa : usable_isas()) {
    const WithIsa capped(isa);
    RC_ASSERT(bytes_with(1) == expected);
    RC_ASSERT(decompress(expected)->bytes == decoded);
  }
}

}  // namespace
}  // namespace tensorpress
