// expand(x, shape): axes of one element repeated, in the memory of x; -1 keeps an extent of x, and
// more axes may stand in front. expand(x, like, shape): 0 takes the extent that `like` has at that
// place, such as an open batch size; without a shape all of them. The gradient is summed over what
// was repeated; nothing is stored.
#include "base/errors.h"
#include "model/operators/axes.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

class Expand final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"expand", 1, 2, {{"shape", AttributeKind::integers}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    const TensorType& x = arguments.inputs[0];
    if (x.sparse) return bad_argument(to_text(x), " cannot be repeated");
    TRY(Shape shape, wanted(arguments));
    const std::size_t added = shape.size() < x.shape.size() ? 0 : shape.size() - x.shape.size();
    for (std::size_t i = 0; i < shape.size() && shape.size() >= x.shape.size(); ++i) {
      if (shape[i] == dim(-1) && i >= added) shape[i] = x.shape[i - added];
      const bool repeats = i < added || x.shape[i - added] == dim(1);
      if (shape[i].factor < 1 || (!repeats && shape[i] != x.shape[i - added])) {
        return bad_argument(to_text(x), " cannot be repeated to ", to_text(shape));
      }
    }
    if (shape.size() < x.shape.size()) {
      return bad_argument(to_text(x), " cannot be repeated to ", to_text(shape));
    }
    return Inferred{{{x.element, std::move(shape)}}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  bool is_view() const override { return true; }
  void forward(Site& s) const override {
    s.define_output(0, s.in().shaped("expand", s.view().output().type.shape));
  }
  void backward(Site& s) const override { give_summed(s, 0, s.grad()); }

 private:
  static Result<Shape> wanted(const Arguments& arguments) {
    const bool beside = arguments.inputs.size() == 2;
    if (!arguments.attributes.has("shape")) {
      if (beside) return arguments.inputs[1].shape;
      return bad_argument("a 'shape' or a second tensor says what to repeat to");
    }
    Shape shape;
    for (const std::int64_t each : arguments.attributes.integers("shape")) {
      if (each != 0) {
        shape.push_back(dim(each));
      } else if (beside && shape.size() < arguments.inputs[1].shape.size()) {
        shape.push_back(arguments.inputs[1].shape[shape.size()]);
      } else {
        return bad_argument("the extent 0 at place ", shape.size(),
                            " stands for that of a second tensor, which has none there");
      }
    }
    return shape;
  }
};

}  // namespace

const Operator& expand_operator() {
  static const Expand kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
