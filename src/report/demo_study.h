// The demonstration's measurements: one tensor through dct-chop at every chop factor, in the
// square and the triangle layout and with ZFP's transform, and the pictures that go with three of
// them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/color_map.h"
#include "report/excerpt.h"
#include "report/round_trip.h"

namespace tensorpress::report {

/// What the data is; from the file beside it, or from its name.
struct DataSetDescription {
  std::string name;  // "zonal_wind"
  std::string title;
  std::string about;  // a sentence or two: source, units, what was done to it
  bool grey = false;  // pictures in grey rather than in colours
};

struct DemoPicture {
  std::size_t row = 0;  // of DemoDataSet::rows
  Plane copy;
};

struct DemoDataSet {
  DataSetDescription description;
  DType dtype = DType::f32;
  Shape shape;
  std::vector<RoundTrip> rows;
  Excerpt excerpt;
  Plane original;
  std::vector<DemoPicture> pictures;
};

/// "DCT square", "DCT triangle" or "ZFP square"; "dense" or "ceresz".
std::string variant_name(const Codec& codec);
/// What was chosen: a chop factor, or a share of the value range as the largest error.
std::string setting_of(const Codec& codec);
/// The chop factor; 0 for codecs without.
int chop_factor(const Codec& codec);

/// dct-chop at every chop factor; for floating-point elements also the error-bounded codecs.
/// `on_row` is called after each row, for those who watch. Elements of u8 get f16 coefficients,
/// because f32 would make them larger; all others f32.
Result<DemoDataSet> run_demo_study(const TensorView& tensor, DataSetDescription description,
                                   const RoundTripOptions& options,
                                   const std::function<void(const RoundTrip&)>& on_row);

}  // namespace tensorpress::report
