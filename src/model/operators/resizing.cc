// upsample(x, factor, mode), pad(x, [left, right, top, bottom], value): values are moved or
// repeated, and the gradients are moved back or summed; nothing is stored. What is larger than x is
// made again from x where backward reads it.
#include <cmath>

#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/windows.h"

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
    if (factor < 1 || factor > 64) {
      return bad_argument("'factor' is ", factor, "; it must be 1 to 64");
    }
    if (mode != "nearest" && mode != "bilinear") {
      return bad_argument("'mode' is \"", mode, "\"; there are \"nearest\" and \"bilinear\"");
    }
    TensorType y = arguments.inputs[0];
    y.shape[2].factor *= factor;
    y.shape[3].factor *= factor;
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear)};
  }
  bool rebuilds_slices(const NodeView& /*node*/) const override { return true; }
  bool is_lazy(const NodeView& /*node*/) const override { return true; }
  void forward(Site& s) const override { s.define_output(0, upsampled(s, s.in())); }
  void rebuild(Site& s) const override { forward(s); }
  Expression rebuilt_slices(Site& s) const override {
    return function("mapped_slices", s.in_slices().value(), lambda("x", upsampled(s, bound("x"))),
                    s.view().output().type.shape);
  }
  Expression gradient_sink(Site& s) const override {
    const Shape& x = s.view().input(0).type.shape;
    const Expression g = bound("g");
    const Expression shape = tuple_of({g.call("size", 0), spread(Shape(x.begin() + 1, x.end()))});
    return function("MappedSink", s.input_sink(0).value(), lambda("g", downsampled(s, g, shape)));
  }
  void backward(Site& s) const override {
    // A part of another gradient is copied first.
    const bool part = !s.may_overwrite_grad();
    s.give(0, downsampled(s, s.grad(), s.view().input(0).type.shape),
           part ? bytes(s.view().output().type, s.sizes()) : 0);
  }

 private:
  static Expression upsampled(const Site& s, const Expression& x) {
    const Attributes& a = s.attributes();
    Operands all =
        operands(x, keyword("scale_factor", a.integer("factor")), keyword("mode", a.word("mode")));
    if (!is_nearest(s)) all.push_back(keyword("align_corners", a.flag("align_corners")));
    return functional("interpolate", std::move(all));
  }
  static Expression downsampled(const Site& s, const Expression& gradient,
                                const Expression& shape) {
    const Shape& y = s.view().output().type.shape;
    const Expression factor = decimal(static_cast<double>(s.attributes().integer("factor")));
    const Operands all = operands(gradient, list_of({y[2], y[3]}), shape);
    if (is_nearest(s)) return aten("upsample_nearest2d_backward", all, factor, factor);
    return aten("upsample_bilinear2d_backward", all, s.attributes().flag("align_corners"), factor,
                factor);
  }
  static bool is_nearest(const Site& s) { return s.attributes().word("mode") == "nearest"; }
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
    TensorType y = arguments.inputs[0];
    const auto sides = arguments.attributes.integers("sides", 4);
    const std::size_t axes = sides.size() / 2;
    if (sides.size() != 4 && sides.size() != 2) {
      return bad_argument("'sides' is a list of ", sides.size(),
                          "; it is [left, right, top, bottom], [left, right] or one number");
    }
    if (y.sparse || y.shape.size() < axes) {
      return bad_argument(to_text(y), " does not have ", axes, axes == 1 ? " axis" : " axes");
    }
    if (!is_floating(y.element) &&
        std::floor(value(arguments.attributes)) != value(arguments.attributes)) {
      return bad_argument("'value' is ", value(arguments.attributes), ", which ",
                          name_of(y.element), " does not have");
    }
    for (std::size_t i = 0; i < sides.size(); ++i) {
      if (sides[i] < 0 || sides[i] > 65536) {
        return bad_argument("'sides' has ", sides[i], "; each must be 0 to 65536");
      }
      Dim& padded = y.shape[y.shape.size() - 1 - i / 2];
      if (!padded.known() && sides[i] > 0) {
        return bad_argument("an axis of ", to_text(y), " that is open cannot be padded");
      }
      padded.factor += sides[i];
    }
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    s.define_output(0, functional("pad", s.in(), s.attributes().integers("sides", 4),
                                  keyword("value", value(s.attributes()))));
  }
  void backward(Site& s) const override {
    auto sides = s.attributes().integers("sides", 4);
    for (std::int64_t& each : sides) each = -each;
    s.give(0, functional("pad", s.grad(), sides));
  }

 private:
  static double value(const Attributes& attributes) { return attributes.number("value"); }
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

}  // namespace tensorpress::model
