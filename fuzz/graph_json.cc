// Arbitrary bytes as an exported program: an error that says where, or a program that every shipped
// device is asked about.
#include "devices/check.h"
#include "devices/description/device.h"
#include "devices/programs/graph_file.h"
#include "devices/time/program_time.h"
#include "inputs/device_answers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress;
  const auto program = devices::parse_graph({reinterpret_cast<const char*>(data), size}, "g.json");
  if (!fuzz::told(program)) return 0;
  for (const std::string& name : devices::builtin_names()) {
    const auto device = devices::builtin_device(name);
    fuzz::must(device.ok(), "a shipped device is there");
    fuzz::check_outcome(devices::check(*device, *program));
    fuzz::must_be_amount(devices::program_time(*device, *program).total, "the time of a program");
  }
  return 0;
}
