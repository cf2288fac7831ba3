// What the readers of both versions of the format hand to those who read tensors.
#pragma once

#include <functional>
#include <memory>

#include "base/errors.h"
#include "stream/chunks/chunk_decoder.h"
#include "stream/container/stream_input.h"
#include "tensorpress/streaming.h"

namespace tensorpress::stream {

struct OpenedStream {
  ChunkDecoder decoder;
  StreamInfo info;
  std::unique_ptr<const ChunkDirectory> chunks;
};

/// The sink of a stream that is read in one pass, once it is known what comes.
using MakeSink = std::function<Result<std::unique_ptr<TensorSink>>(const StreamInfo&)>;

/// Streams without a footer with more chunks are not searched: they claim what nothing proves.
inline Result<void> check_searchable(std::uint64_t chunk_count) {
  constexpr std::uint64_t kMostChunks = std::uint64_t{1} << 22;
  if (chunk_count <= kMostChunks) return {};
  return too_large("the stream has ", chunk_count, " chunks; without its footer up to ",
                   kMostChunks, " are looked for");
}

/// For a chunk that a search did not find.
inline Error not_found(std::uint64_t number) {
  return corrupt("chunk ", number, " is not in what is left of the stream");
}

}  // namespace tensorpress::stream
