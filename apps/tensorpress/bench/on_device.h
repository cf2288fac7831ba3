// `tensorpress bench --device`: a codec in a device's memory beside the host.
#pragma once

#include "speed.h"

namespace tensorpress::cli {

/// On the files of `fields`, or without any on batches of images.
struct DeviceBench {
  std::string device;
  FileFields fields;
  std::vector<std::uint64_t> planes;
  std::uint64_t least_bytes = 0;  // of a batch
};

Result<Report> run_device_bench(const DeviceBench& bench, const SpeedBenchOptions& options,
                                Reporter& reporter);

}  // namespace tensorpress::cli
