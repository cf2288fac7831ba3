#include "kernels/rans/rans.h"

namespace tensorpress::kernels {

RansKernels rans_kernels(Isa) {
  return rans_reference();
}

}  // namespace tensorpress::kernels
