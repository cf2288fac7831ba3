// An accelerator as its file describes it (docs/guide/accelerators.md has the form). All models in
// this folder take a Device and nothing else about the machine, so a new one is a new file.
//
// The numbers are SI: bytes, seconds, bytes per second, flop per second.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "devices/description/fact.h"
#include "tensorpress/result.h"

namespace tensorpress::devices {

/// Where the tensors of a running program are.
enum class Placement : std::uint8_t {
  on_chip,   // all that is alive at a time, for the whole batch
  streamed,  // one sample of each, beside all constants: samples flow through
  off_chip,  // in the memory beside the chip
};

/// The operators that one way of programming the device offers.
struct Stack {
  std::vector<std::string> operators;  // sorted; "*" alone: everything that can be written down
  bool static_shapes = true;
  std::string source = {};
  /// Those whose presence or absence was read off a published outcome, sorted.
  std::vector<std::string> from_outcomes = {};

  bool has(std::string_view name) const;
};

struct Device {
  std::string name;
  std::string title;
  std::string architecture;  // in the paper's words: dataflow, SIMD, MIMD, GPU
  std::string about;

  std::string unit_name;  // of a compute unit
  std::optional<Fact> units;
  std::optional<Fact> threads_per_unit;
  std::optional<Fact> clock_hz;
  std::optional<Fact> instructions_per_cycle;  // of one unit, one value each
  std::optional<Fact> f32_flops;
  std::optional<Fact> f16_flops;
  std::optional<Fact> training_flops;  // reached in training a network; absent: f32_flops

  std::string memory_unit_name;
  std::optional<Fact> on_chip_bytes;
  std::optional<Fact> memory_units;
  std::optional<Fact> memory_unit_bytes;
  std::optional<Fact> on_chip_bytes_per_second;
  std::optional<Fact> off_chip_bytes;
  std::optional<Fact> off_chip_bytes_per_second;

  std::string host_link_name;
  bool pinned = false;  // host buffers
  std::optional<Fact> host_link_peak;
  std::optional<Fact> to_device;    // bytes per second that programs reach
  std::optional<Fact> from_device;  // likewise
  std::optional<Fact> devices_per_host_link;

  std::string topology;
  std::optional<Fact> device_link;  // bytes per second of one device, all links, one direction
  std::optional<Fact> device_link_efficiency;
  std::optional<Fact> device_link_latency;

  std::vector<std::string> types;  // of numbers: float32, float16, ...
  std::map<std::string, Stack, std::less<>> stacks;

  Placement placement = Placement::on_chip;
  bool plane_in_one_memory_unit = false;  // operands of a product of planes
  std::optional<Fact> plane_products;     // that a program may have

  bool overlaps = false;             // transfers with computing
  bool returns_output = false;       // in the published measurements; else a sum over each plane
  bool products_in_16_bits = false;  // likewise: matrices or partial sums
  std::optional<Fact> launch_seconds;
  std::optional<Fact> step_seconds;
  std::optional<Fact> pipeline_planes;
  std::optional<Fact> gather_cycles;  // of one value, on one unit

  std::optional<Fact> training_rate;  // samples per second: ResNet-34, CIFAR-10

  /// 0 when the file does not say.
  static double value_of(const std::optional<Fact>& fact) { return fact ? fact->value : 0; }
};

/// A number of the file: where it stands, what it means, what it may be.
struct NumberField {
  const char* section;
  const char* key;
  std::optional<Fact> Device::*member;
  const char* unit;
  const char* meaning;
  bool required = false;
  bool whole = false;
  bool may_be_zero = false;
  double most = 0;  // 0: no limit
};
const std::vector<NumberField>& number_fields();

/// The devices that the program carries, by name.
std::vector<std::string> builtin_names();
Result<Device> builtin_device(std::string_view name);
/// Text of a device file. `file` is for messages, which name the line.
Result<Device> parse_device(std::string_view text, const std::string& file);
/// The text of a builtin device, to copy and edit.
Result<std::string> builtin_text(std::string_view name);

/// Sections of the device as (section.key, value, unit, origin, source).
struct Described {
  std::string key;
  Fact fact;
  const NumberField* field;
};
std::vector<Described> describe(const Device& device);

}  // namespace tensorpress::devices
