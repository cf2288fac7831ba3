// embedding(ids, count, features): rows of a table. Backward reads the ids.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Embedding final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "embedding",
        1,
        1,
        {{"count", AttributeKind::integer, true}, {"features", AttributeKind::integer, true}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& ids = arguments.inputs[0];
    const std::int64_t count = arguments.attributes.integer("count");
    const std::int64_t features = arguments.attributes.integer("features");
    if (ids.element != Element::i64 && ids.element != Element::i32) {
      return bad_argument("the ids must be i64 or i32, but are ", to_text(ids));
    }
    if (count < 1 || features < 1 || count > (1 << 28) || features > (1 << 20)) {
      return bad_argument("a table of ", count, " rows of ", features, " is not possible");
    }
    Inferred inferred{{{Element::f32, ids.shape}}};
    inferred.outputs[0].shape.push_back(dim(features));
    inferred.parameters = {
        {"weight", {Element::f32, {dim(count), dim(features)}}, "init.normal_({})"}};
    return inferred;
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::exact)};
  }
  void forward(Site& s) const override {
    s.define_output(0, functional("embedding", s.in(), s.parameter("weight")));
  }
  void backward(Site& s) const override {
    s.give_parameter("weight", aten("embedding_dense_backward", s.grad(), s.in(),
                                    s.attributes().integer("count"), -1, false));
  }
};

}  // namespace

const Operator& embedding_operator() {
  static const Embedding kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
