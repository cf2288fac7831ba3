// What `device train` and `model cost` report: memory of each device, where the time goes, and the
// speed-up over one device without compression.
#pragma once

#include <string>

#include "command_line/reports/json_output.h"
#include "command_line/reports/report.h"
#include "devices/time/training_cost.h"

namespace tensorpress::cli {

struct TrainingReport {
  const devices::Device& device;
  const devices::Workload& workload;
  const devices::TrainingCost& cost;
  const devices::TrainingCost& baseline;
};

Json to_json(const TrainingReport& training);
std::string to_text(const TrainingReport& training);

/// That no split of the devices fits is an answer too.
Report report_no_split(const devices::Device& device, const devices::Workload& workload,
                       const std::string& reason);

/// One device, no compression, activations beside the chip unless they fit.
Result<devices::TrainingCost> training_baseline(const devices::Device& device,
                                                const devices::Workload& workload,
                                                devices::Stash stash);

}  // namespace tensorpress::cli
