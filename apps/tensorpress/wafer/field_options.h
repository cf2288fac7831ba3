// A field and how it is put onto the wafer: what run, heatmap and trace share.
#pragma once

#include <string>

#include "command_line/options/bound_options.h"
#include "command_line/options/force_option.h"
#include "command_line/options/tensor_options.h"
#include "wafer/field/field_on_wafer.h"
#include "wafer_options.h"

namespace tensorpress::cli {

class WaferFieldOptions {
 public:
  void declare(Arguments& arguments);
  /// How words come and go, for a verb to which that matters.
  void declare_io(Arguments& arguments);
  const std::string& codec() const { return codec_; }
  Result<wafer::Calibration> calibration() const { return calibration_.calibration(); }
  Result<wafer::FieldOptions> options() const;
  /// Refuses an output that is the field or the calibration, and one that exists without --force.
  Result<void> check_output(const std::string& output) const;
  Result<wafer::FieldOnWafer> run(const wafer::Calibration& calibration,
                                  const wafer::FieldOptions& options) const;

 private:
  std::string file_;
  std::string codec_ = "ceresz2";
  std::string mesh_ = "512x512";
  std::string io_ = "edge";
  std::string offsets_ = "mesh";
  std::string order_ = "auto";
  bool whole_mesh_ = false;
  bool share_work_ = false;
  bool transpose_ = false;
  bool uniform_ = false;
  bool one_by_one_ = false;
  BoundOptions bound_;
  RawFormatOptions raw_;
  ThreadsOption threads_;
  CalibrationOption calibration_;
  ForceOption force_;
  std::optional<Arguments> arguments_;  // know the options that were given
};

/// "mesh", "look-back" or "host".
Result<wafer::programs::OffsetsBy> parse_offsets(const std::string& name);
/// "column", "row" or "auto" (absent).
Result<std::optional<wafer::programs::OffsetOrder>> parse_order(const std::string& name);

}  // namespace tensorpress::cli
