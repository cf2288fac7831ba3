// A first estimate of any program on any device: inputs go there and outputs come back with every
// call, constants stay; products and convolutions are all that computes.
#pragma once

#include "devices/description/device.h"
#include "devices/programs/program.h"

namespace tensorpress::devices {

struct ProgramTime {
  // seconds
  double launch = 0;
  double to_device = 0;
  double from_device = 0;
  double compute = 0;
  double total = 0;
  double flops = 0;
};

/// Two flop for each multiply-add of matrix products; other operators count one an element.
double flops_of(const Program& program);
ProgramTime program_time(const Device& device, const Program& program);

}  // namespace tensorpress::devices
