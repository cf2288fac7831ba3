// One pass over a stream that cannot seek. Everything is checked as it comes by; a chunk that turns
// out corrupt late leaves a sink that was already written to, which the caller throws away.
#include "base/errors.h"
#include "stream/container/compact/reading.h"
#include "stream/container/framed/reading.h"
#include "tensorpress/streaming.h"

namespace tensorpress {

Result<StreamInfo> read_sequentially(
    ByteInput& input,
    const std::function<Result<std::unique_ptr<TensorSink>>(const StreamInfo&)>& make_sink,
    const DecompressOptions& options) {
  stream::StreamInput bytes(input, 0);
  TRY(const unsigned version, bytes.read_prologue());
  TRY(StreamInfo info, version == 1 ? stream::framed::read_in_order(bytes, make_sink, options)
                                    : stream::compact::read_in_order(bytes, make_sink, options));
  RETURN_IF_ERROR(bytes.expect_end());
  return info;
}

}  // namespace tensorpress
