#include "codecs/dense/interpolation.h"
#include "codecs/dense/interpolation_forward.h"
namespace tensorpress::dense {
template <class T>
InterpolationEstimate estimate_interpolation(const bounded::Field<T>&, double, ChunkWorkspace&) {
  return {};
}
template InterpolationEstimate estimate_interpolation(const bounded::Field<float>&, double,
                                                      ChunkWorkspace&);
template InterpolationEstimate estimate_interpolation(const bounded::Field<double>&, double,
                                                      ChunkWorkspace&);
}  // namespace tensorpress::dense
