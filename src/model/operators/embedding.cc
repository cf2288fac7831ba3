// embedding(ids, count, features, padding = -1, type = "f32"): rows of a table. Backward reads the
// ids; the row `padding` gets no gradient.
#include "base/errors.h"
#include "model/lowering/site.h"

namespace tensorpress::model {
namespace {

class Embedding final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"embedding",
                                      1,
                                      1,
                                      {{"count", AttributeKind::integer, true},
                                       {"features", AttributeKind::integer, true},
                                       {"padding", AttributeKind::integer, false, std::int64_t{-1}},
                                       {"type", AttributeKind::word, false, std::string("f32")}}};
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
    const std::int64_t padding = arguments.attributes.integer("padding");
    if (padding < -1 || padding >= count) {
      return bad_argument("'padding' is ", padding, "; the table has rows 0 to ", count - 1);
    }
    const auto element = parse_element(arguments.attributes.word("type"));
    if (!element || !is_floating(*element)) {
      return bad_argument("'type' is \"", arguments.attributes.word("type"),
                          "\"; there are f32, f64, f16 and bf16");
    }
    Inferred inferred{{{*element, ids.shape}}};
    inferred.outputs[0].shape.push_back(dim(features));
    inferred.parameters = {{"weight", {*element, {dim(count), dim(features)}}, "init.normal_({})"}};
    return inferred;
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::exact)};
  }
  void forward(Site& s) const override {
    s.define_output(0, functional("embedding", s.in(), s.parameter("weight")));
  }
  void backward(Site& s) const override {
    s.give_parameter(
        "weight", aten("embedding_dense_backward", s.grad(), s.in(),
                       s.attributes().integer("count"), s.attributes().integer("padding"), false));
  }
};

}  // namespace

const Operator& embedding_operator() {
  static const Embedding kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
