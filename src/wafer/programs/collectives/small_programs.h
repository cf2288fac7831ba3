// The small programs by name: broadcast, reduce, gemv (collectives.h) and csr-dense (csr_dense.h)
// on made-up numbers. All are small whole numbers, whose sums are exact in any order, so that what
// the mesh computes is what the host computes, bit by bit, or an error.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tensorpress/wafer/wafer.h"
#include "wafer/programs/inspect.h"

namespace tensorpress::wafer::programs {

struct SmallProgram {
  std::string_view name;
  /// The cycles it took.
  Result<std::uint64_t> (*run)(std::uint32_t width, std::uint32_t height, const RunOptions& options,
                               const Inspect& inspect);
};

std::span<const SmallProgram> small_programs();

}  // namespace tensorpress::wafer::programs
