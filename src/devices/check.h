// Does a program compile for a device, and does it fit? Every operator against the device's list,
// every number type, every memory against what the program needs of it. Nothing is estimated: the
// shapes are known, so the answer is yes or no with its reasons.
#pragma once

#include <optional>

#include "devices/description/device.h"
#include "devices/programs/chop_program.h"
#include "devices/programs/gcn_program.h"
#include "devices/programs/program.h"

namespace tensorpress::devices {

struct OperatorUse {
  std::string name;
  std::size_t count = 0;
  bool supported = false;
};

struct Requirement {
  std::string what;   // "live tensors", "a plane of a product"
  std::string where;  // "on-chip memory", "a PMU"
  double needed = 0;
  double limit = 0;
  bool bytes = true;             // else a count
  Origin origin = Origin::fact;  // of the limit
  bool fits() const { return needed <= limit; }
};

struct CheckOutcome {
  std::string program;
  std::string device;
  std::string stack;
  std::vector<OperatorUse> operators;
  std::vector<Requirement> requirements;
  std::vector<std::string> reasons;  // why not; empty when it fits
  std::string way_out;               // what would fit instead; empty when nothing is known

  bool fits() const { return reasons.empty(); }
};

/// An error only if the device has no such stack; empty: "pytorch", or the only one.
Result<CheckOutcome> check(const Device& device, const Program& program,
                           const std::string& stack = {});
/// The same for DCT+Chop, with a way out found by trying: more parts, fewer samples, the square.
Result<CheckOutcome> check(const Device& device, const ChopTask& task,
                           const std::string& stack = {});

/// The same for a graph network, with the largest graph that fits.
Result<CheckOutcome> check(const Device& device, const GcnTask& task,
                           const std::string& stack = {});

/// 262144 is "256 KiB", 230e6 is "230 MB".
std::string bytes_in_words(double bytes);
/// "256 KiB of 512 KiB a PMU"
std::string in_words(const Requirement& requirement);

}  // namespace tensorpress::devices
