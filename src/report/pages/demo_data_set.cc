#include "report/pages/demo_data_set.h"

#include "base/errors.h"
#include "benchmark/studies/demo_study.h"

namespace tensorpress::report {
namespace {

constexpr std::size_t kPictureHeight = 240;
constexpr std::size_t kPictureWidth = 360;

/// Pictures are of the paper's own layout at a coarse, a middle and a fine chop factor.
bool is_pictured(const Codec& codec) {
  const int factor = benchmark::chop_factor(codec);
  return codec.parameter("transform") == "dct" && codec.parameter("layout") == "square" &&
         (factor == 1 || factor == 2 || factor == 4);
}

}  // namespace

Result<DemoDataSet> make_demo_data_set(
    const TensorView& tensor, DataSetDescription description,
    const benchmark::RoundTripOptions& options,
    const std::function<void(const benchmark::RoundTrip&)>& on_row) {
  DemoDataSet set;
  set.description = std::move(description);
  set.dtype = tensor.dtype;
  set.shape = tensor.shape;
  set.excerpt = choose_excerpt(tensor, kPictureHeight, kPictureWidth);
  set.original = take_excerpt(tensor, set.excerpt);
  const auto take_row = [&](benchmark::RoundTrip trip, const TensorView& copy) {
    on_row(trip);
    if (is_pictured(trip.info.codec)) {
      set.pictures.push_back({set.rows.size(), take_excerpt(copy, set.excerpt)});
    }
    set.rows.push_back(std::move(trip));
  };
  RETURN_IF_ERROR(benchmark::run_demo_study(tensor, options, take_row));
  return set;
}

}  // namespace tensorpress::report
