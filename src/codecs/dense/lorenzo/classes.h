// The classes of a chunk's blocks in the coder's order: 16 at a time, each in the context of the
// class about one row above it. Where a row has at least 16 blocks, 16 consecutive ones go
// together; else lane l has the l-th sixteenth of the blocks, so that the 16 never depend on each
// other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codecs/dense/lorenzo/model.h"
#include "codecs/dense/lorenzo/rows.h"

namespace tensorpress::dense {

class ClassOrder {
 public:
  ClassOrder(const Fold& fold, int log2_block)
      : blocks_((fold.count() + (std::size_t{1} << log2_block) - 1) >> log2_block),
        groups_((blocks_ + 15) / 16),
        distance_(blocks_across(fold, log2_block)),
        raster_(distance_ >= 16) {}

  std::size_t blocks() const { return blocks_; }
  std::size_t groups() const { return groups_; }

  /// Which block lane `lane` of group `group` is; blocks() or more for none.
  std::size_t block(std::size_t group, std::size_t lane) const {
    return raster_ ? group * 16 + lane : lane * groups_ + group;
  }
  /// The table of class_contexts() for that block, when the classes of earlier groups are known.
  std::uint8_t table(std::size_t group, std::size_t lane, const std::uint8_t* classes) const {
    const std::size_t at = block(group, lane);
    if (at >= blocks_) return 0;
    std::uint8_t context = kNoContext;
    if ((raster_ ? at : group) >= distance_) {
      context = class_context(classes[at - distance_]);
    } else if (!raster_ && group > 0) {
      context = class_context(classes[at - 1]);
    }
    return static_cast<std::uint8_t>(1 + context);
  }

 private:
  static std::size_t blocks_across(const Fold& fold, int log2_block) {
    const std::size_t across = (fold.nx + (std::size_t{1} << (log2_block - 1))) >> log2_block;
    return fold.rows() == 1 || across == 0 ? 1 : across;
  }

  std::size_t blocks_;
  std::size_t groups_;
  std::size_t distance_;
  bool raster_;
};

}  // namespace tensorpress::dense
