// hardtanh(x, low = -1, high = 1) and relu6(x): x cut to a range, 0 to 6 for relu6. Backward reads
// whether each element is inside of the range: one bit, exactly. The output is rebuilt from a
// stored input: where the bit is set it is that input, which is not cut again (that would make a
// lossy copy biased); elsewhere it is the end of the range that is nearer.
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/signs.h"

namespace tensorpress::model {
namespace {

class Hardtanh final : public Operator {
 public:
  explicit Hardtanh(bool relu6) : relu6_(relu6) {}
  const Signature& signature() const override {
    static const Signature kRelu6{"relu6"};
    static const Signature kHardtanh{
        "hardtanh",
        1,
        1,
        {{"low", AttributeKind::number, false, -1.0}, {"high", AttributeKind::number, false, 1.0}}};
    return relu6_ ? kRelu6 : kHardtanh;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    RETURN_IF_ERROR(expect_floating(arguments.inputs[0]));
    const auto [low, high] = ends(arguments.attributes);
    if (low >= high) {
      return bad_argument("'low' is ", low, " and 'high' is ", high, "; low must be below high");
    }
    return Inferred{{arguments.inputs[0]}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_signs(0)};
  }
  Expression packed_signs(const NodeView& node, const Expression& output) const override {
    return function("pack_inside", output, range(node.attributes()));
  }
  std::vector<Need> rebuild_needs(const NodeView& /*node*/, bool /*split*/) const override {
    return {need_input(0, Tolerance::linear), need_signs(0)};
  }
  void forward(Site& s) const override {
    const char* name = s.may_overwrite() ? "hardtanh_" : "hardtanh";
    s.define_output(0, functional(name, s.in(), range(s.attributes())));
  }
  void rebuild(Site& s) const override {
    s.define_output(0, function("cut_outside", s.in(), s.signs(), range(s.attributes())),
                    bytes(s.view().output().type, s.sizes()));
  }
  bool rebuilds_slices(const NodeView& /*node*/) const override { return true; }
  Expression rebuilt_slices(Site& s) const override {
    return function("cut_slices", s.in_slices().value(), s.signs(), range(s.attributes()));
  }
  void backward(Site& s) const override {
    if (s.only_signs()) return give_by_signs(s);
    const Expression g = s.grad();
    s.give(0, aten("hardtanh_backward", g, s.out(), range(s.attributes())));
  }

 private:
  std::pair<double, double> ends(const Attributes& attributes) const {
    if (relu6_) return {0, 6};
    return {attributes.number("low"), attributes.number("high")};
  }
  Operands range(const Attributes& attributes) const {
    const auto [low, high] = ends(attributes);
    return {low, high};
  }
  bool relu6_;
};

}  // namespace

const Operator& relu6_operator() {
  static const Hardtanh kOperator(true);
  return kOperator;
}
const Operator& hardtanh_operator() {
  static const Hardtanh kOperator(false);
  return kOperator;
}

}  // namespace tensorpress::model
