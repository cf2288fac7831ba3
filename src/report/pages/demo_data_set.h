// One data set of the demonstration: what it is, what was measured, and the pictures that go with
// three of the measurements.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "benchmark/round_trip.h"
#include "report/drawing/excerpt.h"

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
  std::vector<benchmark::RoundTrip> rows;
  Excerpt excerpt;
  Plane original;
  std::vector<DemoPicture> pictures;
};

/// Measures with benchmark::run_demo_study. `on_row` is called after each row, for those who watch.
Result<DemoDataSet> make_demo_data_set(
    const TensorView& tensor, DataSetDescription description,
    const benchmark::RoundTripOptions& options,
    const std::function<void(const benchmark::RoundTrip&)>& on_row);

}  // namespace tensorpress::report
