#include "devices/programs/ported_codec.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::devices {

Result<PortedTime> ceresz2_time(const Device& device, double units, double ratio) {
  const bool shifts = std::ranges::any_of(device.stacks, [](const auto& stack) {
    return stack.second.has("bitwise_left_shift") && stack.second.has("bitwise_right_shift");
  });
  if (!shifts) {
    return unsupported("ceresz2 writes codes of varying length, and no stack of ", device.name,
                       " has bit shifts");
  }
  if (!device.clock_hz || !device.instructions_per_cycle) {
    return bad_argument("the file of ", device.name,
                        " has no compute.clock_hz or no compute.instructions_per_cycle");
  }
  if (!(ratio >= 1)) return bad_argument("`ratio` ", ratio, " is below 1");
  if (!(units >= 0)) return bad_argument("`units` ", units, " is below 0");
  if (units > device.units->value) {
    return bad_argument("`units` ", units, ": ", device.name, " has ", device.units->value);
  }
  PortedTime time;
  time.units = units > 0 ? units : device.units->value;
  time.on_chip_bytes_per_second = time.units * device.instructions_per_cycle->value *
                                  device.clock_hz->value * kCeresz2BlockBytes /
                                  kCeresz2CyclesPerBlock;
  const double seconds_per_byte = 1 / time.on_chip_bytes_per_second + 1 / device.to_device->value +
                                  1 / (ratio * device.from_device->value);
  time.with_host_bytes_per_second = 1 / seconds_per_byte;
  return time;
}

}  // namespace tensorpress::devices
