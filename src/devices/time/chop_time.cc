#include "devices/time/chop_time.h"

#include <algorithm>
#include <cmath>

namespace tensorpress::devices {
namespace {

double over(double amount, double rate) {
  return rate > 0 ? amount / rate : 0;
}

/// What one device gets of a link that several share.
double shared(double rate, const Device& device, std::uint64_t count) {
  if (!device.host_link_peak || count <= 1) return rate;
  const double per_link = device.devices_per_host_link ? device.devices_per_host_link->value : 1;
  const double sharing = std::min(per_link, static_cast<double>(count));
  return std::min(rate, device.host_link_peak->value / sharing);
}

double peak_flops(const Device& device) {
  const bool half = device.products_in_16_bits && device.f16_flops;
  return (half ? device.f16_flops : device.f32_flops)->value;
}

/// Of a dataflow machine: what keeps up with the stream, and what holds the operands of a plane
/// twice (one arrives while the other is worked on). Others spread every product over all units.
double share_of_units(const Device& device, const ChopTask& task, const ChopSizes& sizes,
                      double seconds) {
  if (!device.overlaps) return 1;
  const double units = device.units->value;
  double needed = std::ceil(over(sizes.flops, peak_flops(device) * seconds) * units);
  if (device.memory_unit_bytes) {
    double memory_units = 0;
    const Program program = chop_program(task);
    for (const ProgramTensor& tensor : program.tensors) {
      const double copies = tensor.role == TensorRole::constant ? 1 : 2;
      memory_units += std::ceil(copies * plane_bytes(tensor) / device.memory_unit_bytes->value);
    }
    needed = std::max(needed, memory_units);
  }
  return std::min(1.0, needed / units);
}

}  // namespace

ChopTime chop_time(const Device& device, const ChopTask& task, std::uint64_t count) {
  constexpr double kBytes = 4;  // float32 throughout (Sec. 3.1)
  const ChopSizes sizes = sizes_of(task);
  const double plane = sizes.planes * sizes.plane * kBytes;
  const double compressed = sizes.planes * sizes.compressed * kBytes;
  const double in = task.decompress ? compressed : plane;
  const double out = task.decompress ? plane : compressed;

  ChopTime time;
  time.count = static_cast<double>(count);
  time.bytes = plane;
  time.samples = task.shape.rank() > 2 ? static_cast<double>(task.shape[0]) : 1;
  time.launch = Device::value_of(device.launch_seconds);
  time.steps = sizes.added_steps * Device::value_of(device.step_seconds);
  time.to_device = over(in, shared(device.to_device->value, device, count));
  const double returned = device.returns_output ? out : sizes.planes * kBytes;
  time.from_device = over(returned, shared(device.from_device->value, device, count));
  time.compute = over(sizes.flops, peak_flops(device));
  // Input, half product (written, read) and output pass through the memory that holds them.
  const double half = plane * static_cast<double>(task.cf) / 8;
  const bool off_chip = device.placement == Placement::off_chip && device.off_chip_bytes_per_second;
  const auto& memory =
      off_chip ? device.off_chip_bytes_per_second : device.on_chip_bytes_per_second;
  time.memory = over(in + 2 * half + out, Device::value_of(memory));
  if (task.triangle) {
    const double values = sizes.planes * sizes.compressed;
    time.gather =
        over(values * Device::value_of(device.gather_cycles), Device::value_of(device.clock_hz));
  }
  const double transfer = time.to_device + time.from_device;
  const double busy = std::max(time.compute, time.memory) + time.gather;
  const double body = device.overlaps ? std::max(transfer, busy) : transfer + busy;
  time.fill = body * Device::value_of(device.pipeline_planes) / (sizes.planes * sizes.parts);
  time.total = time.launch + time.steps + body + time.fill;
  time.unit_share = share_of_units(device, task, sizes, body);
  return time;
}

std::vector<std::pair<std::string, double>> terms_of(const ChopTime& time) {
  return {{"launch", time.launch},       {"steps", time.steps},
          {"to_device", time.to_device}, {"from_device", time.from_device},
          {"compute", time.compute},     {"memory", time.memory},
          {"gather", time.gather},       {"fill", time.fill}};
}

std::string ChopTime::bound_by() const {
  const auto terms = terms_of(*this);
  return std::ranges::max_element(terms, {}, [](const auto& term) { return term.second; })->first;
}

}  // namespace tensorpress::devices
