#include "kernels/block_transform/block_transform.h"

#include "kernels/block_transform/variants.h"

namespace tensorpress::kernels {

BlockTransform block_transform(Transform transform, Layout layout, int chop_factor, Isa isa) {
  if (isa == Isa::scalar) return reference_block_transform(transform, layout, chop_factor);
  if (transform == Transform::zfp) return zfp(layout, chop_factor, isa);
  return chop_factor <= 4 ? dct_low(layout, chop_factor, isa) : dct_high(layout, chop_factor, isa);
}

}  // namespace tensorpress::kernels
