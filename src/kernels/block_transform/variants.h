// The translation units the block transform is split into, so that they compile side by side.
#pragma once

#include "kernels/block_transform/block_transform.h"

namespace tensorpress::kernels {

BlockTransform dct_low(Layout layout, int chop_factor, Isa isa);
BlockTransform dct_high(Layout layout, int chop_factor, Isa isa);
BlockTransform zfp(Layout layout, int chop_factor, Isa isa);

/// Plain scalar code, block by block: what every instruction set is compared with, and what runs
/// where there is none.
BlockTransform reference_block_transform(Transform transform, Layout layout, int chop_factor);

}  // namespace tensorpress::kernels
