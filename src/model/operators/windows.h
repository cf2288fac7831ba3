// What convolutions and pools share: windows that move over the last two dimensions.
#pragma once

#include <string>
#include <vector>

#include "model/graph/operator.h"

namespace tensorpress::model {

using Pair = std::vector<std::int64_t>;

/// An attribute as two numbers, or what is wrong with it: each is at least `least`.
Result<Pair> window_pair(const Attributes& attributes, const char* name, std::int64_t least);

/// "[1, 2]"
std::string list_text(const std::vector<std::int64_t>& numbers);

/// Refuses anything but four floating dimensions [batch, channels, height, width].
Result<void> expect_images(const TensorType& type);

/// The extent after a window of `kernel` moved over `extent`; an error if it does not fit once.
Result<std::int64_t> window_extent(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                                   std::int64_t padding, std::int64_t dilation, bool ceil_mode);

/// What a pool makes of its input: attributes kernel, stride (as the kernel if not given), padding.
Result<TensorType> pooled(const Arguments& arguments, bool ceil_mode);

/// The attribute `channels`, which `groups` must divide as it does the channels of x.
Result<std::int64_t> output_channels(const TensorType& x, const Attributes& attributes);

/// PyTorch's default initialization of convolutions and linear layers.
std::string kaiming_init();
std::string fan_in_bias_init(std::int64_t fan_in);

}  // namespace tensorpress::model
