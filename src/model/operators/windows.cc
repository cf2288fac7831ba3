#include "model/operators/windows.h"

#include <cmath>

#include "base/errors.h"

namespace tensorpress::model {

Result<Pair> window_pair(const Attributes& attributes, const char* name, std::int64_t least) {
  Pair pair = attributes.integers(name, 2);
  if (pair.size() != 2) {
    return bad_argument("'", name, "' is a list of ", pair.size(), "; it is one number or two");
  }
  for (const std::int64_t each : pair) {
    if (each < least || each > 65536) {
      return bad_argument("'", name, "' is ", each, "; it must be ", least, " to 65536");
    }
  }
  return pair;
}

std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string out = "[";
  for (const std::int64_t each : numbers) out += text(out.size() > 1 ? ", " : "", each);
  return out + "]";
}

Result<void> expect_images(const TensorType& type) {
  if (type.shape.size() != 4 || !is_floating(type.element) || type.sparse) {
    return bad_argument("the input must be floating [batch, channels, height, width], but is ",
                        to_text(type));
  }
  for (std::size_t i = 1; i < 4; ++i) {
    if (!type.shape[i].known() || type.shape[i].factor == 0) {
      return bad_argument("channels, height and width must be numbers above 0, but the input is ",
                          to_text(type));
    }
  }
  return {};
}

Result<std::int64_t> window_extent(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                                   std::int64_t padding, std::int64_t dilation, bool ceil_mode) {
  const std::int64_t reach = dilation * (kernel - 1) + 1;
  const std::int64_t room = extent + 2 * padding - reach;
  if (room < 0) {
    return bad_argument("a window of ", reach, " does not fit into ", extent, " with padding ",
                        padding, "; take a smaller kernel or dilation, or more padding");
  }
  std::int64_t steps = room / stride;
  if (ceil_mode && room % stride != 0 && (steps + 1) * stride < extent + padding) ++steps;
  return steps + 1;
}

Result<TensorType> pooled(const Arguments& arguments, bool ceil_mode) {
  const TensorType& x = arguments.inputs[0];
  RETURN_IF_ERROR(expect_images(x));
  TRY(const Pair kernel, window_pair(arguments.attributes, "kernel", 1));
  Pair stride = kernel;
  if (arguments.attributes.has("stride")) {
    TRY(stride, window_pair(arguments.attributes, "stride", 1));
  }
  TRY(const Pair padding, window_pair(arguments.attributes, "padding", 0));
  TensorType y = x;
  for (std::size_t i = 0; i < 2; ++i) {
    if (2 * padding[i] > kernel[i]) {
      return bad_argument("'padding' is ", padding[i], ", more than half of the kernel's ",
                          kernel[i]);
    }
    TRY(const std::int64_t size,
        window_extent(x.shape[i + 2].factor, kernel[i], stride[i], padding[i], 1, ceil_mode));
    y.shape[i + 2] = dim(size);
  }
  return y;
}

Result<std::int64_t> output_channels(const TensorType& x, const Attributes& attributes) {
  const std::int64_t groups = attributes.integer("groups");
  const std::int64_t in = x.shape[1].factor;
  const std::int64_t out = attributes.integer("channels");
  constexpr std::int64_t kMost = 1 << 24;
  if (out < 1 || out > kMost) {
    return bad_argument("'channels' is ", out, "; it must be 1 to ", kMost);
  }
  if (groups < 1 || in % groups != 0 || out % groups != 0) {
    return bad_argument("'groups' is ", groups, ", which does not divide ", in, " and ", out,
                        " channels");
  }
  return out;
}

std::string kaiming_init() {
  return "init.kaiming_uniform_({}, a=math.sqrt(5))";
}

std::string fan_in_bias_init(std::int64_t fan_in) {
  const std::string bound = text("1 / math.sqrt(", fan_in, ")");
  return text("init.uniform_({}, -", bound, ", ", bound, ")");
}

}  // namespace tensorpress::model
