#include "codecs/dct_chop/parameters.h"

#include <array>

#include "base/errors.h"
#include "base/tensor/planes.h"
#include "codecs/parameter_values.h"

namespace tensorpress::dct_chop {
Result<Parameters> parse_parameters(std::span<const Parameter> parameters) {
  ENSURE(parameters.size() == kParameters.size());
  const auto choice = [&](std::size_t i) { return one_of(kParameters[i], parameters[i].value); };
  Parameters result;
  TRY(const int triangle, choice(1));
  TRY(const int transform, choice(2));
  TRY(const int coefficients, choice(3));
  TRY(const int form, choice(4));
  result.triangle = triangle == 1;
  result.transform = transform == 1 ? kernels::Transform::zfp : kernels::Transform::dct;
  constexpr std::array kCoefficients = {DType::f32, DType::bf16, DType::f16};
  result.coefficients = kCoefficients[static_cast<std::size_t>(coefficients)];
  result.matmul = form == 1;
  const int points = kernels::points_of(result.transform);
  const auto chop_factor = whole_number("the chop factor (cf)", parameters[0].value, 1, points);
  if (!chop_factor.ok() && points == 4) {
    return bad_argument(chop_factor.error().message,
                        " because `transform` zfp works on 4 x 4 blocks");
  }
  TRY(result.chop_factor, chop_factor);
  TRY(result.serialize, whole_number("serialize", parameters[5].value, 1, 64));
  if (result.serialize > 1 && !result.matmul) {
    return bad_argument("serialize ", result.serialize,
                        " only makes sense with form matmul; add `form` matmul");
  }
  return result;
}

Geometry Geometry::of(const Shape& shape, const Parameters& parameters) {
  Geometry geometry;
  geometry.points = parameters.points();
  const std::size_t rank = shape.rank();
  const auto blocks_for = [&](std::uint64_t extent) {
    return (extent + geometry.points - 1) / geometry.points;
  };
  if (rank < 2) {
    geometry.layout = kernels::Layout::linear;
    geometry.planes = 1;
    geometry.width = rank == 0 ? 1 : shape[0];
  } else {
    geometry.layout = parameters.triangle ? kernels::Layout::triangle : kernels::Layout::square;
    geometry.height = shape[rank - 2];
    geometry.width = shape[rank - 1];
    geometry.block_rows = blocks_for(geometry.height);
    geometry.planes = plane_count(shape);
  }
  geometry.blocks = blocks_for(geometry.width);
  geometry.values_per_block =
      static_cast<std::uint64_t>(kernels::kept_values(geometry.layout, parameters.chop_factor));
  return geometry;
}

}  // namespace tensorpress::dct_chop
