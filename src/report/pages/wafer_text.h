// A run on the simulated wafer, for people and as JSON: cycles and speeds by what they include,
// stages, links, memory.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "wafer/field/field_on_wafer.h"

namespace tensorpress::report {

nlohmann::ordered_json wafer_json(const wafer::FieldOnWafer& done,
                                  const wafer::FieldOptions& options,
                                  const wafer::Calibration& calibration);
std::string wafer_text(const wafer::FieldOnWafer& done, const wafer::FieldOptions& options,
                       const wafer::Calibration& calibration);

}  // namespace tensorpress::report
