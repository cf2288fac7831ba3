// Arguments that the sub-verbs of `tensorpress wafer` share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "command_line/verb.h"
#include "wafer/calibration/calibration.h"
#include "wafer/programs/coding/mesh_codec.h"

namespace tensorpress::cli {

using MeshSize = wafer::programs::MeshExtent;

/// "100x50" is 100 wide and 50 high, as in the papers' tables.
Result<MeshSize> parse_mesh(std::string_view words);

/// --calibration FILE.
class CalibrationOption {
 public:
  void declare(Arguments& arguments);
  Result<wafer::Calibration> calibration() const;
  const std::string& file() const { return file_; }

 private:
  std::string file_;
};

Result<void> write_bytes(const std::string& path, std::span<const std::byte> bytes);

}  // namespace tensorpress::cli
