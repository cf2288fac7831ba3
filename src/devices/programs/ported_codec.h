// CereSZ-II on machines other than the wafer: its authors propose the IPU (Sec. VIII-C). Every core
// codes blocks of 32 values of its own, as on the wafer, so throughput is cores x clock / cycles of
// a block. The cycles cannot be derived from the hardware; they are calibrated once, on the wafer,
// and a machine with the same scalar instructions a cycle is taken to need as many.
#pragma once

#include "devices/description/device.h"

namespace tensorpress::devices {

/// 852.54 GB/s on NYX at REL 1e-4, 512 x 512 PEs at 850 MHz: 128 bytes a block.
inline constexpr double kCeresz2CyclesPerBlock = 33'454;
inline constexpr double kCeresz2BlockBytes = 128;

struct PortedTime {
  double units = 0;
  double on_chip_bytes_per_second = 0;    // data on the chip already
  double with_host_bytes_per_second = 0;  // sent there, and the compressed bytes back
};

/// `units` 0: all of the device. `ratio` is that of the compressed data. An error when nothing on
/// the device can shift bits, or its file does not say how fast a core is.
Result<PortedTime> ceresz2_time(const Device& device, double units, double ratio);

}  // namespace tensorpress::devices
