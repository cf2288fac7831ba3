// max_pool2d, avg_pool2d, adaptive_avg_pool2d. Maximum pooling keeps which element of its window
// won: PyTorch 8 bytes an output, a compact policy 2 to 8 bits. Averages keep nothing.
#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/batch_slices.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

/// For functions that read of the input only its shape.
Expression only_shape(const Expression& like, const Shape& shape) {
  return like.call("new_empty", Shape{}).shaped("expand", shape);
}

class MaxPool final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{"max_pool2d",
                                      1,
                                      1,
                                      {{"kernel", AttributeKind::integers, true},
                                       {"stride", AttributeKind::integers, false},
                                       {"padding", AttributeKind::integers, false, std::int64_t{0}},
                                       {"ceil_mode", AttributeKind::flag, false, false}}};
    return kSignature;
  }

  Result<Inferred> infer(const Arguments& arguments) const override {
    TRY(const TensorType y, pooled(arguments, arguments.attributes.flag("ceil_mode")));
    return Inferred{{y}};
  }

  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }

  void forward(Site& s) const override {
    const TensorType& y = s.view().output().type;
    const Expression index = s.local("index");
    if (const std::int64_t each = sample_bytes(s); each > 0) {
      const Slice slice = slice_of(s.view(), s.sizes());
      const Dim count = {each * y.shape[0].factor, y.shape[0].symbol};
      s.define_all(
          {{s.out(), y}, {index, {Element::u8, {count}}}},
          function("max_pool_slices", slice.samples, s.in(), tuple_of(geometry(s)), window(s)),
          slice.output + index_bytes(slice, y) + bytes({Element::u8, {count}}, s.sizes()));
      s.save("index", index);
      return;
    }
    s.define_all({{s.out(), y}, {index, {Element::i64, y.shape}}},
                 aten("max_pool2d_with_indices", s.in(), window(s)));
    if (const int bits = index_bits(s); bits > 0) {
      const std::int64_t count = elements(y.shape, s.sizes());
      s.save("index", function("pack_window", index, operands_of(geometry(s))),
             (count * bits + 7) / 8);
    } else {
      s.save("index", index);
    }
  }

  void backward(Site& s) const override {
    const TensorType& y = s.view().output().type;
    const Shape& x = s.view().input(0).type.shape;
    Expression index = s.saved("index");
    if (sample_bytes(s) > 0) {
      const Slice slice = slice_of(s.view(), s.sizes());
      s.give(0,
             function("max_pool_backward_slices", slice.samples, s.grad(), index, x,
                      tuple_of(geometry(s)), window(s)),
             index_bytes(slice, y));
      return;
    }
    if (const int bits = index_bits(s); bits > 0) {
      const Expression made = s.local("index");
      s.define({made, {Element::i64, y.shape}},
               function("unpack_window", index, y.shape, operands_of(geometry(s))));
      index = made;
    }
    const Expression g = s.grad();
    s.give(0, aten("max_pool2d_with_indices_backward", g, only_shape(g, x), window(s), index));
  }

  double flops(const NodeView& node, const Sizes& sizes) const override {
    const Pair kernel = node.attributes().integers("kernel", 2);
    return static_cast<double>(elements(node.output().type.shape, sizes)) *
           static_cast<double>(kernel[0] * kernel[1]);
  }

 private:
  static Pair stride_of(const Attributes& attributes) {
    return attributes.integers(attributes.has("stride") ? "stride" : "kernel", 2);
  }
  static Operands window(const Site& s) {
    const Attributes& a = s.attributes();
    return {a.integers("kernel", 2), stride_of(a), a.integers("padding", 2), Pair{1, 1},
            a.flag("ceil_mode")};
  }
  /// Extent of the input, then kernel, stride and padding.
  static std::vector<Expression> geometry(const Site& s) {
    const Attributes& a = s.attributes();
    const Shape& x = s.view().input(0).type.shape;
    const auto pair = [](const Pair& numbers) { return tuple_of({numbers[0], numbers[1]}); };
    return {tuple_of({x[2], x[3]}), pair(a.integers("kernel", 2)), pair(stride_of(a)),
            pair(a.integers("padding", 2))};
  }
  static Operands operands_of(const std::vector<Expression>& values) {
    return {values.begin(), values.end()};
  }
  /// PyTorch's indices of a slice.
  static std::int64_t index_bytes(const Slice& slice, const TensorType& y) {
    return slice.output / bytes_of(y.element) * bytes_of(Element::i64);
  }
  /// The packed places of one sample, if pooling runs slice by slice; 0 if not. Its results are the
  /// same either way.
  static std::int64_t sample_bytes(const Site& s) {
    const NodeView node = s.view();
    if (!s.step().sliced() || !exceeds_a_slice(node, s.sizes())) return 0;
    const std::optional<Dim> sample = product(node.output().type.shape, 1, 4);
    const std::int64_t bits = sample && sample->known() ? sample->factor * index_bits(s) : 0;
    return bits % 8 == 0 ? bits / 8 : 0;
  }
  /// For a place in the window, or 0 for PyTorch's own indices.
  static int index_bits(const Site& s) {
    const Pair kernel = s.attributes().integers("kernel", 2);
    const std::int64_t places = kernel[0] * kernel[1];
    if (!s.step().compact || places > 256) return 0;
    return places <= 2 ? 1 : places <= 4 ? 2 : places <= 16 ? 4 : 8;
  }
};

class AvgPool final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "avg_pool2d",
        1,
        1,
        {{"kernel", AttributeKind::integers, true},
         {"stride", AttributeKind::integers, false},
         {"padding", AttributeKind::integers, false, std::int64_t{0}}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    TRY(const TensorType y, pooled(arguments, false));
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    s.define_output(0, functional("avg_pool2d", s.in(), window(s)));
  }
  void backward(Site& s) const override {
    const Expression g = s.grad();
    s.give(0, aten("avg_pool2d_backward", g, only_shape(g, s.view().input(0).type.shape), window(s),
                   false, true, none()));
  }

 private:
  static Operands window(const Site& s) {
    const Attributes& a = s.attributes();
    return {a.integers("kernel", 2), a.integers(a.has("stride") ? "stride" : "kernel", 2),
            a.integers("padding", 2)};
  }
};

class AdaptiveAvgPool final : public Operator {
 public:
  const Signature& signature() const override {
    static const Signature kSignature{
        "adaptive_avg_pool2d", 1, 1, {{"size", AttributeKind::integers, false, std::int64_t{1}}}};
    return kSignature;
  }
  Result<Inferred> infer(const Arguments& arguments) const override {
    RETURN_IF_ERROR(expect_images(arguments.inputs[0]));
    TRY(const Pair size, window_pair(arguments.attributes, "size", 1));
    TensorType y = arguments.inputs[0];
    y.shape[2] = dim(size[0]);
    y.shape[3] = dim(size[1]);
    return Inferred{{y}};
  }
  std::vector<Need> needs(const NodeView& /*node*/, bool /*split*/) const override { return {}; }
  void forward(Site& s) const override {
    s.define_output(0,
                    functional("adaptive_avg_pool2d", s.in(), s.attributes().integers("size", 2)));
  }
  /// An average over everything is PyTorch's mean.
  void backward(Site& s) const override {
    const Shape& x = s.view().input(0).type.shape;
    const Expression g = s.grad();
    if (s.attributes().integers("size", 2) == Pair{1, 1}) {
      s.give(0, g.shaped("expand", x) / (x[2].factor * x[3].factor));
    } else {
      s.give(0, aten("_adaptive_avg_pool2d_backward", g, only_shape(g, x)));
    }
  }
};

}  // namespace

const Operator& max_pool2d_operator() {
  static const MaxPool kOperator;
  return kOperator;
}
const Operator& avg_pool2d_operator() {
  static const AvgPool kOperator;
  return kOperator;
}
const Operator& adaptive_avg_pool2d_operator() {
  static const AdaptiveAvgPool kOperator;
  return kOperator;
}

}  // namespace tensorpress::model
