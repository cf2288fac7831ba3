// Speed of the calls of tensorpress/pack.h on one core, beside memcpy of the same values in the
// same loop: what activations pay on their way in and out.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "tensorpress/dtype.h"
#include "tensorpress/result.h"

namespace tensorpress::benchmark {

struct PackStudyOptions {
  std::size_t bytes = std::size_t{64} << 20;  // of f32 values; f16 and bf16 have half
  int repetitions = 11;
};

/// GB/s are 1e9 bytes of unpacked values per second; the best of all turns.
struct PackSpeed {
  std::string what;  // "quantize 4 bits nearest"
  DType dtype = DType::f32;
  double memcpy_gb_per_s = 0;
  double pack_gb_per_s = 0;
  double unpack_gb_per_s = 0;
  double ratio = 0;
};

/// Calls `report` for each case as it is done.
Result<void> run_pack_study(const PackStudyOptions& options,
                            const std::function<void(const PackSpeed&)>& report);

}  // namespace tensorpress::benchmark
