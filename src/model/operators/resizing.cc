// upsample(x, factor, mode), pad(x, [left, right, top, bottom], value): values are moved or
// repeated, and the gradients are moved back or summed; nothing is stored. What is larger than x is
// made again from x where backward reads it.
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
  std::string rebuilt_slices(Site& s) const override {
    return text("mapped_slices(", s.in_slices(), ", lambda x: ", upsampled(s, "x"), ", ",
                to_python(s.view().output().type.shape), ")");
  }
  std::string gradient_sink(Site& s) const override {
    Shape x = s.view().input(0).type.shape;
    const std::string sample = to_python(Shape(x.begin() + 1, x.end()));
    return text("MappedSink(", s.input_sink(0),
                ", lambda g: ", downsampled(s, "g", text("(g.size(0), *", sample, ")")), ")");
  }
  void backward(Site& s) const override {
    // A part of another gradient is copied first.
    const bool part = !s.may_overwrite_grad();
    s.give(0, downsampled(s, s.grad(), to_python(s.view().input(0).type.shape)),
           part ? bytes(s.view().output().type, s.sizes()) : 0);
  }

 private:
  static std::string upsampled(const Site& s, const std::string& x) {
    const std::string& mode = s.attributes().word("mode");
    return text("F.interpolate(", x, ", scale_factor=", s.attributes().integer("factor"),
                ", mode=\"", mode, "\"",
                mode == "nearest" ? "" : text(", align_corners=", corners(s)), ")");
  }
  static std::string downsampled(const Site& s, const std::string& gradient,
                                 const std::string& shape) {
    const Shape& y = s.view().output().type.shape;
    const std::int64_t factor = s.attributes().integer("factor");
    const bool nearest = s.attributes().word("mode") == "nearest";
    return text("aten.upsample_", nearest ? "nearest" : "bilinear", "2d_backward(", gradient, ", [",
                y[2].factor, ", ", y[3].factor, "], ", shape, ", ",
                nearest ? "" : text(corners(s), ", "), factor, ".0, ", factor, ".0)");
  }
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
    if (sides.size() != 4) {
      return bad_argument("'sides' is a list of ", sides.size(),
                          "; it is [left, right, top, bottom] or one number");
    }
    TensorType y = arguments.inputs[0];
    for (std::size_t i = 0; i < 4; ++i) {
      if (sides[i] < 0 || sides[i] > 65536) {
        return bad_argument("'sides' has ", sides[i], "; each must be 0 to 65536");
      }
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
