// Operators that may store their normalized values (a hidden output) instead of their input:
// backward reads those, and the output is rebuilt from them.
#pragma once

#include <vector>

#include "model/graph/operator.h"

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

}  // namespace tensorpress::model
