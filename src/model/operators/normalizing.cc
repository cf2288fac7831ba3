#include "model/operators/normalizing.h"

#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {

Result<void> expect_features(const TensorType& x) {
  if (x.shape.size() >= 2 && is_floating(x.element) && x.shape.back().known()) return {};
  return bad_argument("the input must be floating [..., features], but is ", to_text(x));
}

std::vector<Definition> normalizing_gradients(Site& s) {
  const TensorType& weight = s.view().parameter("weight")->type;
  return {{s.wants() ? s.grad_name_of(0) : unused(), s.view().input(0).type},
          {s.grad_name_of_parameter("weight"), weight},
          {s.grad_name_of_parameter("bias"), weight}};
}

void give_normalizing_gradients(Site& s, const std::vector<Definition>& made) {
  s.give_parameter("weight", made[1].variable);
  s.give_parameter("bias", made[2].variable);
  if (s.wants()) s.give(0, made[0].variable);
}

}  // namespace tensorpress::model
