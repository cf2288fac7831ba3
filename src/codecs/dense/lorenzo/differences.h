// From values to differences of quanta, with the values that no quantum can stand for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "codecs/bounded/field_coder.h"
#include "codecs/dense/lorenzo/plan.h"

namespace tensorpress::dense {

inline constexpr std::size_t kFirstBufferAfterDifferences = bounded::kFirstCoderBuffer + 4;

/// All of it lives in the workspace.
struct LorenzoDifferences {
  std::span<const std::int32_t> values;  // of wide chunks their upper bits; zeros up to 32 n
  std::span<const std::int64_t> wide;    // the whole differences of a wide chunk
  int shift = 0;                         // how many lower bits values lack
  std::int64_t first = 0;                // the first quantum; its difference is 0
  std::span<std::uint32_t> outliers;     // ascending; their quanta are those of the value before
};

/// Nothing when more than an eighth of the values would be outliers.
template <class T>
std::optional<LorenzoDifferences> lorenzo_differences(const bounded::Field<T>& field, double bound,
                                                      const LorenzoPlan& plan,
                                                      ChunkWorkspace& workspace);

}  // namespace tensorpress::dense
