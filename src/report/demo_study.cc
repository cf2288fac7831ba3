#include "report/demo_study.h"

#include <charconv>

#include "base/errors.h"

namespace tensorpress::report {
namespace {

constexpr std::size_t kPictureHeight = 240;
constexpr std::size_t kPictureWidth = 360;

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

/// Pictures are of the paper's own layout at a coarse, a middle and a fine chop factor.
bool is_pictured(const Variant& variant, int factor) {
  return variant.transform == "dct" && variant.layout == "square" &&
         (factor == 1 || factor == 2 || factor == 4);
}

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

Result<DemoDataSet> run_demo_study(const TensorView& tensor, DataSetDescription description,
                                   const RoundTripOptions& options,
                                   const std::function<void(const RoundTrip&)>& on_row) {
  DemoDataSet set;
  set.description = std::move(description);
  set.dtype = tensor.dtype;
  set.shape = tensor.shape;
  set.excerpt = choose_excerpt(tensor, kPictureHeight, kPictureWidth);
  set.original = take_excerpt(tensor, set.excerpt);
  Tensor copy;
  for (const Variant& variant : kVariants) {
    for (int factor = 1; factor <= variant.most_chop_factor; ++factor) {
      TRY(const Codec codec,
          Codec::dct_chop({.chop_factor = factor,
                           .layout = variant.layout,
                           .transform = variant.transform,
                           .coefficients = tensor.dtype == DType::u8 ? "f16" : "f32"}));
      TRY(RoundTrip trip, measure_round_trip(tensor, codec, copy, options));
      on_row(trip);
      if (is_pictured(variant, factor)) {
        set.pictures.push_back({set.rows.size(), take_excerpt(copy.view(), set.excerpt)});
      }
      set.rows.push_back(std::move(trip));
    }
  }
  if (tensor.dtype == DType::u8 || tensor.dtype == DType::i16) return set;
  for (const std::string_view name : kBoundedCodecs) {
    for (const double share : kShares) {
      TRY(const Codec codec, Codec::make(name));
      RoundTripOptions bounded = options;
      bounded.bound = Bound::relative(share);
      TRY(RoundTrip trip, measure_round_trip(tensor, codec, copy, bounded));
      on_row(trip);
      set.rows.push_back(std::move(trip));
    }
  }
  return set;
}

}  // namespace tensorpress::report
