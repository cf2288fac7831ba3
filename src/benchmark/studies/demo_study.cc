#include "benchmark/studies/demo_study.h"

#include <charconv>

#include "base/errors.h"

namespace tensorpress::benchmark {
namespace {

struct Variant {
  std::string_view layout;
  std::string_view transform;
  int most_chop_factor;
};
constexpr Variant kVariants[] = {
    {"square", "dct", 8}, {"triangle", "dct", 8}, {"square", "zfp", 4}};

constexpr std::string_view kBoundedCodecs[] = {"dense", "ceresz"};
/// Of the value range.
constexpr double kShares[] = {1e-2, 1e-3, 1e-4};

}  // namespace

std::string variant_name(const Codec& codec) {
  if (codec.name() != "dct-chop") return codec.name();
  return text(codec.parameter("transform") == "zfp" ? "ZFP " : "DCT ", codec.parameter("layout"));
}

int chop_factor(const Codec& codec) {
  const std::string_view value = codec.parameter("cf");
  int factor = 0;
  std::from_chars(value.data(), value.data() + value.size(), factor);
  return factor;
}

std::string setting_of(const Codec& codec) {
  const std::string_view bound = codec.parameter("bound");
  return bound.empty() ? text(chop_factor(codec)) : std::string(bound.substr(bound.find(' ') + 1));
}

Result<void> run_demo_study(const TensorView& tensor, const RoundTripOptions& options,
                            const TakeRow& take_row) {
  Tensor copy;
  for (const Variant& variant : kVariants) {
    for (int factor = 1; factor <= variant.most_chop_factor; ++factor) {
      TRY(const Codec codec,
          Codec::dct_chop({.chop_factor = factor,
                           .layout = variant.layout,
                           .transform = variant.transform,
                           .coefficients = tensor.dtype == DType::u8 ? "f16" : "f32"}));
      TRY(RoundTrip trip, measure_round_trip(tensor, codec, copy, options));
      take_row(std::move(trip), copy.view());
    }
  }
  if (tensor.dtype == DType::u8 || tensor.dtype == DType::i16) return {};
  for (const std::string_view name : kBoundedCodecs) {
    for (const double share : kShares) {
      TRY(const Codec codec, Codec::make(name));
      RoundTripOptions bounded = options;
      bounded.bound = Bound::relative(share);
      TRY(RoundTrip trip, measure_round_trip(tensor, codec, copy, bounded));
      take_row(std::move(trip), copy.view());
    }
  }
  return {};
}

}  // namespace tensorpress::benchmark
