#include "model/operators/convolutions.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/errors.h"
#include "model/lowering/site.h"
#include "model/operators/batch_slices.h"
#include "model/operators/windows.h"

namespace tensorpress::model {
namespace {

std::int64_t weight_bytes(const Site& s) {
  return bytes(s.view().parameter("weight")->type, s.sizes());
}

/// The bytes of what a convolution works on: whole maps, or a slice or some channels of them.
struct Maps {
  std::int64_t input;
  std::int64_t output;
  std::int64_t input_channels;
  std::int64_t output_channels;
};

Maps whole_maps(const Site& s) {
  const TensorType& x = s.view().input(0).type;
  const TensorType& y = s.view().output().type;
  return {bytes(x, s.sizes()), bytes(y, s.sizes()), x.shape[1].factor, y.shape[1].factor};
}

/// A map in oneDNN's layout: channels in blocks, the last one filled up.
std::int64_t blocked(std::int64_t bytes, std::int64_t channels, std::int64_t block) {
  const std::int64_t each = bytes / std::max<std::int64_t>(channels, 1);
  return each * ((channels + block - 1) / block * block);
}

/// Channels of a block: as many as a vector has values.
std::int64_t block_of(const Site& s) {
  return s.step().options.avx512 ? 16 : 8;
}

/// Besides its output, measured. oneDNN works on copies in its own layout: of the input, unless its
/// channels fill no block, of the weight and of the output, which is copied back when the other two
/// are gone.
std::int64_t forward_scratch(const Site& s, const Maps& maps) {
  const std::int64_t block = block_of(s);
  const bool plain = maps.input_channels < block;
  const std::int64_t x = plain ? 0 : blocked(maps.input, maps.input_channels, block);
  const std::int64_t y = blocked(maps.output, maps.output_channels, block);
  return std::max(x + weight_bytes(s) + y - maps.output, y);
}

/// Besides the two gradients, measured. The gradient of the input is made from copies of the others
/// and copied back, and is there a third time if there are strides. Then that of the weight is made
/// from copies of both maps, in blocks of 8 if they have few channels, and copied back when these
/// are gone. Without AVX-512 a map of fewer rows than the kernel has goes through matrix products
/// with four times the weight.
std::int64_t backward_scratch(const Site& s, const Maps& maps) {
  constexpr std::int64_t kImage = 3;  // channels that need no copy
  constexpr std::int64_t kFew = 8;
  const NodeView node = s.view();
  const std::int64_t block = block_of(s);
  const std::int64_t weight = weight_bytes(s);
  const std::int64_t held = s.wants() ? maps.input : 0;
  std::int64_t most = held + 2 * weight;
  if (s.wants()) {
    const auto strides = node.attributes().integers("stride", 2);
    const bool strided = strides[0] > 1 || strides[1] > 1;
    const std::int64_t x = blocked(maps.input, maps.input_channels, block);
    const std::int64_t y = blocked(maps.output, maps.output_channels, block);
    most = std::max({most, x + y + weight, x + (strided ? 2 : 1) * maps.input});
  }
  const bool image = maps.input_channels <= kImage;
  const bool few = !image && maps.input_channels <= kFew;
  const std::int64_t x = image ? 0 : blocked(maps.input, maps.input_channels, few ? kFew : block);
  const std::int64_t y = blocked(maps.output, maps.output_channels,
                                 few && maps.output_channels <= kFew ? kFew : block);
  most = std::max(most, held + x + y + weight);
  const std::int64_t rows = node.input(0).type.shape[2].factor;
  const std::int64_t kernel = node.parameter("weight")->type.shape[2].factor;
  if (!s.step().options.avx512 && rows < kernel) most = std::max(most, held + 5 * weight);
  return most - held - weight;
}

/// A slice of x is decoded, and its gradient and that of the weight are made, besides the sums if
/// there is more than one slice.
std::int64_t slice_scratch(const Site& s, const Slice& slice) {
  const Maps whole = whole_maps(s);
  // What is concatenated in x is worked on piece by piece.
  const double piece =
      static_cast<double>(s.largest_piece_bytes()) / static_cast<double>(whole.input);
  const auto share = [&](std::int64_t of) {
    return static_cast<std::int64_t>(std::llround(static_cast<double>(of) * piece));
  };
  const std::int64_t part = share(slice.input);
  const Maps maps{part, slice.output, share(whole.input_channels), whole.output_channels};
  const bool one = slice.input == whole.input && part == slice.input;
  return 2 * part + backward_scratch(s, maps) + (one ? 0 : weight_bytes(s));
}

/// A memory of twice the size or more would live on.
bool is_much_smaller_than_grad(const Site& s) {
  return 2 * bytes(s.view().input(0).type, s.sizes()) <= bytes(s.view().output().type, s.sizes());
}

bool fits_in_grad(const Site& s) {
  return elements(s.view().input(0).type.shape, s.sizes()) <=
         elements(s.view().output().type.shape, s.sizes());
}

/// The first elements of grad() in the shape of input 0.
Expression grad_shaped_as_in(Site& s) {
  const Shape& in = s.view().input(0).type.shape;
  if (in == s.view().output().type.shape) return s.grad();
  const std::optional<Dim> each = product(in, 1, in.size());
  const Expression count = Expression(in[0]) * (each ? each->factor : 1);
  return s.grad().call("reshape", -1)[{range_to(count)}].shaped("view", in);
}

/// Where slices of the gradient of x go.
struct Target {
  Expression place = none();  // a new tensor
  bool defines = false;       // the line defines the gradient of x
  bool adds = false;          // to what is there
};

Target target_of(Site& s, const std::optional<Expression>& decoded) {
  if (!s.wants()) return {};
  if (const std::optional<Expression> sink = s.input_sink(0)) return {*sink};
  if (!is_much_smaller_than_grad(s) && s.may_overwrite_grad() && fits_in_grad(s)) {
    return {grad_shaped_as_in(s), true};
  }
  if (const std::optional<Local> sum = s.gradient_to_add_to(0)) {
    return {.place = *sum, .adds = true};
  }
  if (decoded) return {*decoded, true};
  return {.defines = true};
}

}  // namespace

Result<ConvolutionSizes> convolution_sizes(const TensorType& x, const Attributes& attributes) {
  RETURN_IF_ERROR(expect_images(x));
  ConvolutionSizes sizes;
  TRY(sizes.kernel, window_pair(attributes, "kernel", 1));
  TRY(sizes.stride, window_pair(attributes, "stride", 1));
  TRY(sizes.padding, window_pair(attributes, "padding", 0));
  TRY(sizes.dilation, window_pair(attributes, "dilation", 1));
  sizes.groups = attributes.integer("groups");
  sizes.in = x.shape[1].factor;
  TRY(sizes.out, output_channels(x, attributes));
  return sizes;
}

Inferred inferred_convolution(TensorType y, const ConvolutionSizes& sizes, std::int64_t rows,
                              std::int64_t columns, bool bias) {
  const std::int64_t height = sizes.kernel[0], width = sizes.kernel[1];
  y.shape[1] = dim(sizes.out);
  const Element element = y.element;
  Inferred inferred{{std::move(y)}};
  inferred.parameters.push_back(
      {"weight", {element, {dim(rows), dim(columns), dim(height), dim(width)}}, kaiming_init()});
  if (bias) {
    inferred.parameters.push_back(
        {"bias", {element, {dim(sizes.out)}}, fan_in_bias_init(columns * height * width)});
  }
  return inferred;
}

bool ConvolutionOperator::reads_slices(const NodeView& node, const Sizes& sizes) const {
  return exceeds_a_slice(node, sizes);
}

void convolution_forward(Site& s, const char* name, const Operands& geometry) {
  const Callee convolution{Callee::Space::functional, name};
  const Slice slice = slice_of(s.view(), s.sizes());
  const Maps whole = whole_maps(s);
  const std::int64_t scratch =
      slice.output +
      forward_scratch(s, {slice.input, slice.output, whole.input_channels, whole.output_channels});
  const Operands whole_operands =
      operands(s.in(), s.parameter("weight"), s.parameter("bias"), geometry);
  const Operands sliced = operands(convolution, slice.samples, whole_operands);
  const bool same = s.view().input(0).type == s.view().output().type;
  if (!s.step().sliced() || !exceeds_a_slice(s.view(), s.sizes())) {
    s.define_output(0, call_of(convolution, whole_operands), forward_scratch(s, whole));
  } else if (same && s.may_overwrite()) {
    s.define_output(0, function("conv_slices_", sliced), scratch);
  } else if (const std::optional<Local> place = s.place_for_output()) {
    s.define_output(0, function("conv_slices", sliced, keyword("y", *place)),
                    slice.input + scratch);
  } else {
    s.define_output(0, function("conv_slices", sliced),
                    scratch + (s.in_is_lazy() ? slice.input : 0));
  }
}

void convolution_backward(Site& s, const Operands& geometry) {
  const bool bias = s.wants_parameter("bias");
  const TensorType& weight = s.view().parameter("weight")->type;
  const std::int64_t channels = s.view().output().type.shape[1].factor;
  // Slice by slice of the batch x is decoded, and what oneDNN reorders meanwhile is that of a
  // slice. The gradient of x takes the place of the output's gradient, or of a decoded copy of x.
  // What is kept whole is read in slices too.
  const std::optional<Expression> slices = s.in_slices();
  const Expression x = slices ? *slices : s.in();
  const bool decoded = !slices && s.may_overwrite();
  const bool sliced =
      decoded || slices || (s.step().sliced() && exceeds_a_slice(s.view(), s.sizes()));
  Target target{.defines = s.wants()};
  if (sliced) target = target_of(s, decoded ? std::optional(x) : std::nullopt);
  const std::vector<Definition> made = {
      {target.defines ? s.grad_name_of(0) : unused(), s.view().input(0).type},
      {s.grad_name_of_parameter("weight"), weight},
      {bias ? s.grad_name_of_parameter("bias") : unused(), {weight.element, {dim(channels)}}}};
  const Slice slice = slice_of(s.view(), s.sizes());
  Operands all =
      sliced ? operands(slice.samples, s.grad(), x, target.place) : operands(s.grad(), x);
  const Expression bias_sizes = bias ? Expression(Pair{channels}) : none();
  all = operands(std::move(all), s.parameter("weight"), bias_sizes, geometry,
                 list_of({s.wants(), true, bias}));
  if (target.adds) all.push_back(keyword("add", true));
  s.define_all(made,
               sliced ? function("conv_backward_slices", std::move(all))
                      : aten("convolution_backward", std::move(all)),
               sliced ? slice_scratch(s, slice) : backward_scratch(s, whole_maps(s)));
  s.give_parameter("weight", made[1].variable);
  if (bias) s.give_parameter("bias", made[2].variable);
  if (target.defines) s.give(0, made[0].variable);
  if (target.adds) s.added(0);
  s.sinks_filled();
}

}  // namespace tensorpress::model
