// Which instruction set the kernels use. Chosen once per coarse call from the CPU and
// TENSORPRESS_MAX_ISA (scalar, sse4, avx2, avx512, neon); the bytes written never depend on it.
#pragma once

#include <string_view>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress {

enum class Isa { scalar, neon, sse4, avx2, avx512 };

std::string_view name_of(Isa isa);
Result<Isa> parse_isa(std::string_view name);

/// The best instruction set of this CPU that was compiled in.
Isa detected_isa();
/// Every usable one, scalar first: for tests that compare them all.
std::vector<Isa> usable_isas();
/// detected_isa(), capped by the environment variable TENSORPRESS_MAX_ISA. An unknown name there is
/// an error.
Result<Isa> active_isa();

}  // namespace tensorpress
