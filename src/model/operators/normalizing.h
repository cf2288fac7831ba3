// What normalizations share, and operators that may store their normalized values (a hidden output)
// instead of their input: backward reads those, and the output is rebuilt from them.
#pragma once

#include <vector>

#include "model/graph/operator.h"
#include "model/lowering/line_builder.h"

namespace tensorpress::model {

class NormalizingOperator : public Operator {
 public:
  std::vector<Need> needs(const NodeView& /*node*/, bool split) const override {
    if (split) return {need_output(1, Tolerance::linear)};
    return {need_input(0, Tolerance::exact)};
  }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool split) const override {
    if (split) return {need_output(1, Tolerance::linear)};
    return {};
  }
};

/// Refuses anything but floating [..., features].
Result<void> expect_features(const TensorType& x);

/// Gradients of the input, of `weight` and of `bias`, which one function makes together.
std::vector<Definition> normalizing_gradients(Site& s);
void give_normalizing_gradients(Site& s, const std::vector<Definition>& made);

}  // namespace tensorpress::model
