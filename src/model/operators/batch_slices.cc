#include "model/operators/batch_slices.h"

#include <algorithm>

namespace tensorpress::model {
namespace {

constexpr std::int64_t kSliceBytes = std::int64_t{4} << 20;

std::int64_t larger_map(const NodeView& node, const Sizes& sizes) {
  return std::max(bytes(node.input(0).type, sizes), bytes(node.output().type, sizes));
}

}  // namespace

Slice slice_of(const NodeView& node, const Sizes& sizes) {
  const std::int64_t count = std::max<std::int64_t>(1, extent(node.input(0).type.shape[0], sizes));
  const std::int64_t sample = std::max<std::int64_t>(1, larger_map(node, sizes) / count);
  const std::int64_t samples = std::max<std::int64_t>(1, kSliceBytes / sample);
  const std::int64_t most = std::min(count, samples);
  return {samples, most * (bytes(node.input(0).type, sizes) / count),
          most * (bytes(node.output().type, sizes) / count)};
}

bool exceeds_a_slice(const NodeView& node, const Sizes& sizes) {
  return larger_map(node, sizes) > kSliceBytes;
}

}  // namespace tensorpress::model
