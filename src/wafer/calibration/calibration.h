// The constants of the simulated wafer, each with its unit, its source and how it was found. They
// stand in calibration.json, which is compiled in; a file of the same form may replace them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensorpress/result.h"
#include "tensorpress/wafer/wafer.h"

namespace tensorpress::wafer {

enum class ConstantKind : std::uint8_t { fact, derived, fitted, assumed };
std::string_view name_of(ConstantKind kind);

struct Constant {
  std::string name;
  double value = 0;
  std::string unit;
  ConstantKind kind = ConstantKind::assumed;
  std::string source;
  std::string fitted_on = {};
  std::vector<std::string> fitted_on_rows = {};  // of `tensorpress reproduce`
};

class Calibration {
 public:
  /// What ships with the library.
  static Result<Calibration> standard();
  /// `text` as calibration.json. Constants that it leaves out keep their standard values.
  static Result<Calibration> from_json(std::string_view text);

  const std::vector<Constant>& constants() const { return constants_; }
  /// 0 for a name that does not exist, which only a bug in Tensorpress asks for.
  double operator[](std::string_view name) const;
  /// The same with another value for one constant.
  Calibration with(std::string_view name, double value) const;
  std::uint64_t cycles(std::string_view name) const {
    return static_cast<std::uint64_t>((*this)[name] + 0.5);
  }
  Machine machine() const;

 private:
  std::vector<Constant> constants_;
};

}  // namespace tensorpress::wafer
