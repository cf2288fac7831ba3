#include "devices/description/device.h"

#include <algorithm>

#include "base/errors.h"
#include "base/near_names.h"
#include "devices/description/builtin_texts.h"

namespace tensorpress::devices {

namespace {
constexpr std::pair<Origin, std::string_view> kOrigins[] = {{Origin::fact, "fact"},
                                                            {Origin::derived, "derived"},
                                                            {Origin::inferred, "inferred"},
                                                            {Origin::fitted, "fitted"}};
}  // namespace

std::string_view name_of(Origin origin) {
  for (const auto& [each, name] : kOrigins) {
    if (each == origin) return name;
  }
  return "";
}

std::optional<Origin> origin_named(std::string_view name) {
  for (const auto& [origin, each] : kOrigins) {
    if (each == name) return origin;
  }
  return std::nullopt;
}

bool Stack::has(std::string_view name) const {
  if (operators.size() == 1 && operators.front() == "*") return true;
  if (std::ranges::binary_search(operators, name)) return true;
  // relu_ is relu in place, which compilers of graphs take apart again.
  return name.ends_with('_') && !name.ends_with("__") &&
         std::ranges::binary_search(operators, name.substr(0, name.size() - 1));
}

const std::vector<NumberField>& number_fields() {
  using D = Device;
  static const std::vector<NumberField> fields = {
      {"compute", "units", &D::units, "", "compute units", true, true},
      {"compute", "threads_per_unit", &D::threads_per_unit, "", "threads of a unit", false, true},
      {"compute", "clock_hz", &D::clock_hz, "Hz", "clock"},
      {"compute", "instructions_per_cycle", &D::instructions_per_cycle, "",
       "of a unit, one value each"},
      {"compute", "f32_flops", &D::f32_flops, "flop/s", "peak of float32 products", true},
      {"compute", "f16_flops", &D::f16_flops, "flop/s", "peak of 16-bit products"},
      {"compute", "training_flops", &D::training_flops, "flop/s", "reached while training"},
      {"on_chip", "bytes", &D::on_chip_bytes, "B", "memory on the chip", true},
      {"on_chip", "units", &D::memory_units, "", "memory units", false, true},
      {"on_chip", "unit_bytes", &D::memory_unit_bytes, "B", "one memory unit"},
      {"on_chip", "bytes_per_second", &D::on_chip_bytes_per_second, "B/s", "all memory units"},
      {"off_chip", "bytes", &D::off_chip_bytes, "B", "memory beside the chip"},
      {"off_chip", "bytes_per_second", &D::off_chip_bytes_per_second, "B/s", "to and from it"},
      {"host_link", "peak_bytes_per_second", &D::host_link_peak, "B/s",
       "one direction of the wire"},
      {"host_link", "to_device_bytes_per_second", &D::to_device, "B/s", "reached by programs",
       true},
      {"host_link", "from_device_bytes_per_second", &D::from_device, "B/s", "reached by programs",
       true},
      {"host_link", "devices", &D::devices_per_host_link, "", "devices that share it", false, true},
      {"device_link", "bytes_per_second", &D::device_link, "B/s", "of one device, one direction"},
      {"device_link", "efficiency", &D::device_link_efficiency, "", "of the wire", false, false,
       false, 1},
      {"device_link", "latency_seconds", &D::device_link_latency, "s", "of a hop", false, false,
       true},
      {"placement", "plane_products", &D::plane_products, "", "products of planes in a program",
       false, true},
      {"run", "launch_seconds", &D::launch_seconds, "s", "a call, whatever its size", true, false,
       true},
      {"run", "step_seconds", &D::step_seconds, "s", "a further serial step of a program", false,
       false, true},
      {"run", "pipeline_planes", &D::pipeline_planes, "",
       "planes in flight before the first is out", false, false, true},
      {"run", "gather_cycles", &D::gather_cycles, "cycles", "a value gathered or scattered", false,
       false, true},
      {"training", "samples_per_second", &D::training_rate, "1/s", "ResNet-34 on CIFAR-10"},
  };
  return fields;
}

std::vector<Described> describe(const Device& device) {
  std::vector<Described> all;
  for (const NumberField& field : number_fields()) {
    if (const auto& fact = device.*field.member) {
      all.push_back({text(field.section, ".", field.key), *fact, &field});
    }
  }
  return all;
}

std::vector<std::string> builtin_names() {
  std::vector<std::string> names;
  for (const auto& each : kDeviceFiles) names.emplace_back(each.name);
  return names;
}

Result<std::string> builtin_text(std::string_view name) {
  for (const auto& each : kDeviceFiles) {
    if (each.name == name) return std::string(each.text);
  }
  const auto names = builtin_names();
  std::string list;
  for (const std::string& each : names) list += text(list.empty() ? "" : ", ", each);
  return bad_argument("there is no device '", name, "'", did_you_mean(name, names), "; there is ",
                      list, ", or the name of a .toml file");
}

Result<Device> builtin_device(std::string_view name) {
  TRY(const std::string source, builtin_text(name));
  return parse_device(source, text(name, ".toml"));
}

}  // namespace tensorpress::devices
