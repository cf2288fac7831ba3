// How long DCT+Chop takes on a device, call to return, as the paper measures it (Sec. 4.1: host and
// device transfers included, compilation not).
//
//   total = launch + steps + transfer + device + fill     one after the other
//   total = launch + steps + max(transfer, device) + fill  where the device overlaps the two
//
//   launch    of a call, whatever its size
//   steps     further serial steps: each part beyond the first, each operator around a triangle
//   transfer  what goes in, and what comes back where the published program returns its output
//   device    the larger of flop / peak and bytes / memory bandwidth, and gather or scatter
//   fill      planes that are in the pipeline before the first is out
#pragma once

#include "devices/description/device.h"
#include "devices/programs/chop_program.h"

namespace tensorpress::devices {

struct ChopTime {
  // seconds
  double launch = 0;
  double steps = 0;
  double to_device = 0;
  double from_device = 0;
  double compute = 0;
  double memory = 0;
  double gather = 0;
  double fill = 0;
  double total = 0;

  double bytes = 0;       // uncompressed, of one call on one device
  double samples = 0;     // along the first axis, likewise
  double count = 1;       // devices, each with a call of its own
  double unit_share = 0;  // of the compute units, 1: all

  double bytes_per_second() const { return count * bytes / total; }
  double samples_per_second() const { return count * samples / total; }
  /// The largest term: "to_device", "compute", ...
  std::string bound_by() const;
};

/// `count` devices work side by side; those that share a host link share its peak.
ChopTime chop_time(const Device& device, const ChopTask& task, std::uint64_t count = 1);

/// Terms by name, in the order of the struct.
std::vector<std::pair<std::string, double>> terms_of(const ChopTime& time);

}  // namespace tensorpress::devices
