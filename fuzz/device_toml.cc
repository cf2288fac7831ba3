// Arbitrary bytes as a device file: an error that names its line, or a device that all models of
// src/devices can be asked about. Whatever they answer, times and bytes are numbers.
#include "devices/check.h"
#include "devices/description/device.h"
#include "devices/programs/networks.h"
#include "devices/time/chop_sweep.h"
#include "devices/time/program_time.h"
#include "devices/time/training_cost.h"
#include "inputs/device_answers.h"

namespace tensorpress::fuzz {
namespace {

using namespace devices;

void check_chop(const Device& device) {
  for (const bool triangle : {false, true}) {
    for (const std::uint64_t serialize : {1, 4}) {
      const ChopTask task{.triangle = triangle, .serialize = serialize, .decompress = triangle};
      check_outcome(check(device, task));
      for (const auto& [name, seconds] : terms_of(chop_time(device, task, serialize))) {
        must_be_amount(seconds, name);
      }
      const ProgramTime time = program_time(device, chop_program(task));
      must_be_amount(time.total, "the time of a program");
    }
  }
  for (const SweepAxis axis : {SweepAxis::resolution, SweepAxis::batch, SweepAxis::cf}) {
    told(sweep(device, {}, axis));
  }
}

void check_training(const Device& device) {
  const auto work = network("encoder", 8);
  must(work.ok(), "a network is there");
  for (const std::size_t count : {1, 4}) {
    const auto cost = best_split(device, *work, count, count == 4, Parallel::any, 0);
    if (!told(cost)) continue;
    must_be_amount(cost->step, "the time of a step");
    must(cost->fits(), "the best split fits");
  }
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress;
  const auto device =
      devices::parse_device({reinterpret_cast<const char*>(data), size}, "fuzz.toml");
  if (!fuzz::told(device)) return 0;
  for (const devices::Described& each : devices::describe(*device)) {
    fuzz::must_be_amount(each.fact.value, each.key);
  }
  fuzz::check_chop(*device);
  fuzz::check_outcome(devices::check(*device, devices::GcnTask{}));
  fuzz::check_training(*device);
  return 0;
}
