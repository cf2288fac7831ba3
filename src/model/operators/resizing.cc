// upsample(x, factor, mode), pad(x, [left, right, top, bottom], value), cat([a, b], axis): values
// are moved or repeated, and the gradients are moved back or summed; nothing is stored.
#include "base/errors.h"
#include "model/operators/windows.h"
#include "model/site.h"

namespace tensorpress::model {
namespace {

class Upsample final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"upsample",
                                      1,
                                      1,
                                      {{"factor", AttributeKind::integer, false, std::int64_t{2}},
                                       {"mode", AttributeKind::word, false, std::string("nearest")},
                                       {"align_corners", AttributeKind::flag, false, false}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    RETURN_IF_ERROR(expect_images(arguments.inputs[0]));
    const std::int64_t factor = arguments.attributes.integer("factor");
    const std::string& mode = arguments.attributes.word("mode");
    if (factor < 1 || factor > 64) return bad_argument("'factor' is ", factor);
    if (mode != "nearest" && mode != "bilinear") {
      return bad_argument("'mode' is \"", mode, "\"; there are \"nearest\" and \"bilinear\"");
    }
    TensorType y = arguments.inputs[0];
    y.shape[2].factor *= factor;
    y.shape[3].factor *= factor;
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    const std::int64_t factor = s.attributes().integer("factor");
    const bool nearest = s.attributes().word("mode") == "nearest";
    s.define_output(0, text("F.interpolate(", s.in(), ", scale_factor=", factor, ", mode=\"",
                            s.attributes().word("mode"), "\"",
                            nearest ? "" : text(", align_corners=", corners(s)), ")"));
  }
  void backward(Site& s) const override {
    const Shape& x = s.view().input(0).type.shape;
    const Shape& y = s.view().output().type.shape;
    const std::int64_t factor = s.attributes().integer("factor");
    const bool nearest = s.attributes().word("mode") == "nearest";
    s.give(0, text("aten.upsample_", nearest ? "nearest" : "bilinear", "2d_backward(", s.grad(),
                   ", [", y[2].factor, ", ", y[3].factor, "], ", to_python(x), ", ",
                   nearest ? "" : text(corners(s), ", "), factor, ".0, ", factor, ".0)"));
  }

 private:
  static const char* corners(const Site& s) {
    return s.attributes().flag("align_corners") ? "True" : "False";
  }
};

class Pad final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "pad",
        1,
        1,
        {{"sides", AttributeKind::integers, true}, {"value", AttributeKind::number, false, 0.0}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    RETURN_IF_ERROR(expect_images(arguments.inputs[0]));
    const auto sides = arguments.attributes.integers("sides", 4);
    if (sides.size() != 4)
      return bad_argument("'sides' is [left, right, top, bottom] or one number");
    TensorType y = arguments.inputs[0];
    for (std::size_t i = 0; i < 4; ++i) {
      if (sides[i] < 0 || sides[i] > 65536) return bad_argument("a side of ", sides[i]);
      y.shape[i < 2 ? 3 : 2].factor += sides[i];
    }
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    s.define_output(0, text("F.pad(", s.in(), ", ", list_text(s.attributes().integers("sides", 4)),
                            ", value=", s.attributes().number("value"), ")"));
  }
  void backward(Site& s) const override {
    auto sides = s.attributes().integers("sides", 4);
    for (std::int64_t& each : sides) each = -each;
    s.give(0, text("F.pad(", s.grad(), ", ", list_text(sides), ")"));
  }
};

class Cat final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "cat", 2, 64, {{"axis", AttributeKind::integer, false, std::int64_t{1}}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TensorType y = arguments.inputs[0];
    const std::int64_t axis = arguments.attributes.integer("axis");
    if (axis < 0 || static_cast<std::size_t>(axis) >= y.shape.size()) {
      return bad_argument("there is no axis ", axis, " in ", to_text(y));
    }
    const auto at = static_cast<std::size_t>(axis);
    for (std::size_t i = 1; i < arguments.inputs.size(); ++i) {
      TensorType other = arguments.inputs[i];
      const bool known = at < other.shape.size() && other.shape[at].symbol == y.shape[at].symbol;
      const std::int64_t extent = known ? other.shape[at].factor : 0;
      if (known) other.shape[at] = y.shape[at];
      if (!known || other != y) {
        return bad_argument(to_text(arguments.inputs[0]), " and ", to_text(arguments.inputs[i]),
                            " do not fit together along axis ", axis);
      }
      y.shape[at].factor += extent;
    }
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    std::string parts;
    for (std::size_t i = 0; i < s.view().input_count(); ++i) {
      parts += text(i == 0 ? "" : ", ", s.in(i));
    }
    s.define_output(0, text("torch.cat([", parts, "], ", s.attributes().integer("axis"), ")"));
  }
  void backward(Site& s) const override {
    const std::int64_t axis = s.attributes().integer("axis");
    Dim start = dim(0);
    for (std::size_t i = 0; i < s.view().input_count(); ++i) {
      const Dim extent = s.view().input(i).type.shape[static_cast<std::size_t>(axis)];
      start.symbol = extent.symbol;
      s.give_shared(
          i, s.grad(),
          text(s.grad(), ".narrow(", axis, ", ", to_text(start), ", ", to_text(extent), ")"));
      start.factor += extent.factor;
    }
  }
};

}  // namespace

const Operator& upsample_operator() {
  static const Upsample kOperator;
  return kOperator;
}
const Operator& pad_operator() {
  static const Pad kOperator;
  return kOperator;
}
const Operator& cat_operator() {
  static const Cat kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
