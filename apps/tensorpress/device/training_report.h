// What `device train` and `model cost` print: memory of each device, where the time goes, and the
// speed-up over one device without compression.
#pragma once

#include "command_line/reports/json_output.h"
#include "devices/time/training_cost.h"

namespace tensorpress::cli {

/// One device, no compression, activations beside the chip unless they fit.
Result<devices::TrainingCost> training_baseline(const devices::Device& device,
                                                const devices::Workload& workload,
                                                devices::Stash stash);

Json training_to_json(const devices::Device& device, const devices::Workload& workload,
                      const devices::TrainingCost& cost, const devices::TrainingCost& baseline);
void print_training(const devices::Device& device, const devices::Workload& workload,
                    const devices::TrainingCost& cost, const devices::TrainingCost& baseline);

/// That no split of the devices fits is an answer too.
void print_no_split(const devices::Device& device, const devices::Workload& workload,
                    const std::string& reason, bool json);

}  // namespace tensorpress::cli
