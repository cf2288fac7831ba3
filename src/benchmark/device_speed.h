// Speed of a codec in a device's memory beside the host's, in turns: the tensor lies on the device
// (on the host), the stream ends in the host's memory, decompression is the reverse.
#pragma once

#include "benchmark/speed.h"
#include "tensorpress/device.h"

namespace tensorpress::benchmark {

/// Of one direction: uncompressed 1e9 bytes per second, best of the turns.
struct DirectionSpeed {
  double device_gb_per_s = 0;
  double host_gb_per_s = 0;
  /// Time of all CPUs that the host took over that of the device: for devices that are CPUs, the
  /// share of the host's speed that does not depend on what else the machine does.
  double cpu_share_of_host = 0;
};

struct DeviceSpeed {
  DirectionSpeed compress;
  DirectionSpeed decompress;
  double ratio = 0;
  device::Work work;        // of one compression
  bool same_bytes = false;  // streams, and values after decompression
};

/// `input` must be contiguous.
Result<DeviceSpeed> measure_device_speed(device::Device& device, const TensorView& input,
                                         const Codec& codec, const SpeedOptions& options);

}  // namespace tensorpress::benchmark
