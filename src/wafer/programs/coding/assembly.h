// What all PEs made, put together by the host as the stream has it.
#pragma once

#include "wafer/programs/coding/coding_pe.h"

namespace tensorpress::wafer::programs {

/// The parts of all PEs in the order of their blocks; what they point to must live.
class Assembly {
 public:
  explicit Assembly(std::uint64_t places) : outputs_(places) {}
  void add(std::uint64_t number, const PeOutput& output) { outputs_[number] = output; }
  /// Cuts what left a row over the edge into the parts of its PEs, the one at the edge first.
  Result<void> cut(const EdgeOutput& row, std::span<const std::uint64_t> numbers);

  /// Head, blocks at their offsets, outliers.
  Result<std::vector<std::byte>> ceresz2(const CodingJob& job) const;
  /// slack, widths, planes; the host puts the blocks together, as CereSZ leaves it to.
  std::vector<std::byte> ceresz(unsigned slack) const;

 private:
  std::vector<PeOutput> outputs_;
};

}  // namespace tensorpress::wafer::programs
