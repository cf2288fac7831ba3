#include "wafer/calibration/calibration.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "base/embedded.h"
#include "base/errors.h"
#include "base/json_text.h"

namespace tensorpress::wafer {

/// calibration.json alone, from the build.
extern const std::span<const EmbeddedFile> kCalibrationFiles;

namespace {

using Json = nlohmann::json;

constexpr ConstantKind kKinds[] = {ConstantKind::fact, ConstantKind::derived, ConstantKind::fitted,
                                   ConstantKind::assumed};
constexpr double kLargest = 1e12;

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Result<std::vector<std::string>> rows_of(const Json& constant) {
  std::vector<std::string> rows;
  const auto found = constant.find("fitted_on_rows");
  if (found == constant.end()) return rows;
  if (!found->is_array()) return bad_argument("\"fitted_on_rows\" is an array of texts");
  for (const Json& row : *found) {
    if (!row.is_string()) return bad_argument("\"fitted_on_rows\" is an array of texts");
    rows.push_back(row.get<std::string>());
  }
  return rows;
}

Result<std::vector<Constant>> read(std::string_view text) {
  TRY(const Json file, parse_json_object<Json>(text));
  if (!file.contains("constants") || !file["constants"].is_array()) {
    return bad_argument("a calibration is a JSON object with an array \"constants\"");
  }
  std::vector<Constant> constants;
  for (const Json& entry : file["constants"]) {
    Constant constant;
    constant.name = text_of(entry, "name");
    constant.unit = text_of(entry, "unit");
    constant.source = text_of(entry, "source");
    constant.fitted_on = text_of(entry, "fitted_on");
    TRY(constant.fitted_on_rows, rows_of(entry));
    const std::string kind = text_of(entry, "kind");
    const auto known =
        std::ranges::find(kKinds, kind, [](ConstantKind each) { return name_of(each); });
    if (constant.name.empty() || known == std::end(kKinds)) {
      return bad_argument("constant '", constant.name, "' of the calibration is of kind '", kind,
                          "'; kinds are fact, derived, fitted and assumed");
    }
    constant.kind = *known;
    if (!entry.contains("value") || !entry["value"].is_number()) {
      return bad_argument("constant '", constant.name, "' of the calibration has no value");
    }
    constant.value = entry["value"].get<double>();
    if (!(constant.value >= 0 && constant.value <= kLargest)) {
      return bad_argument("constant '", constant.name, "' of the calibration is ", constant.value,
                          "; it must be 0 to 1e12");
    }
    if (constant.kind == ConstantKind::fitted && constant.fitted_on.empty()) {
      return bad_argument("constant '", constant.name, "' is fitted; say on what in \"fitted_on\"");
    }
    constants.push_back(std::move(constant));
  }
  return constants;
}

}  // namespace

std::string_view name_of(ConstantKind kind) {
  constexpr std::string_view kNames[] = {"fact", "derived", "fitted", "assumed"};
  return kNames[static_cast<unsigned>(kind)];
}

Result<Calibration> Calibration::standard() {
  Calibration calibration;
  TRY(calibration.constants_, read(kCalibrationFiles.front().text));
  return calibration;
}

Result<Calibration> Calibration::from_json(std::string_view text) {
  TRY(Calibration calibration, standard());
  TRY(auto own, read(text));
  for (Constant& constant : own) {
    const auto slot = std::ranges::find(calibration.constants_, constant.name, &Constant::name);
    if (slot == calibration.constants_.end()) {
      return bad_argument("the wafer has no constant '", constant.name, "'");
    }
    *slot = std::move(constant);
  }
  return calibration;
}

double Calibration::operator[](std::string_view name) const {
  const auto slot = std::ranges::find(constants_, name, &Constant::name);
  return slot == constants_.end() ? 0 : slot->value;
}

Calibration Calibration::with(std::string_view name, double value) const {
  Calibration changed = *this;
  const auto slot = std::ranges::find(changed.constants_, name, &Constant::name);
  if (slot != changed.constants_.end()) slot->value = value;
  return changed;
}

Machine Calibration::machine() const {
  const auto number = [this](std::string_view name) {
    return static_cast<std::uint32_t>(std::min(std::round((*this)[name]), 4e9));
  };
  Machine machine;
  machine.hop = number("hop");
  machine.ramp = number("ramp");
  machine.issue = number("issue");
  machine.add = number("add");
  machine.task_activation = number("task_activation");
  machine.timestamp = number("timestamp");
  machine.router_queue = number("router_queue");
  machine.input_queue = number("input_queue");
  machine.output_queue = number("output_queue");
  machine.read_bits = number("read_bits");
  machine.write_bits = number("write_bits");
  return machine;
}

}  // namespace tensorpress::wafer
