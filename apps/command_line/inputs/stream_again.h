// A .tpz stream as a tensor to compress again: its values, attributes and fill values, with its own
// step in the history.
#pragma once

#include <memory>
#include <string>

#include "files/rewriting/earlier_loss.h"
#include "tensorpress/streaming.h"

namespace tensorpress::cli {

/// Adds the stream's attributes, fill values and history to `write`, whose bound then counts from
/// the first values, as `loss` says.
Result<std::unique_ptr<TensorSource>> open_stream_again(const std::string& path,
                                                        const files::EarlierLoss& loss,
                                                        CompressOptions& write);

}  // namespace tensorpress::cli
