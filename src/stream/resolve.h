// From what a user asked of an error-bounded codec to the number that the stream keeps: the value
// range for a relative bound, a search for a PSNR or a ratio.
#pragma once

#include "base/cpu.h"
#include "codecs/chunk_codec.h"
#include "stream/tensor_io.h"
#include "stream/writer.h"
#include "tensorpress/codec.h"

namespace tensorpress::stream {

/// What the parameters that come from the data add to a header at most.
inline constexpr std::uint64_t kResolvedParameterBytes = 8192;

struct ResolvedCodec {
  Codec codec;
  std::vector<ChunkHint> hints = {};  // of every chunk, when all were looked at
};

/// The codec with every parameter that the data decides. Codecs without a bound come back as they
/// are. Reads the source, which must then have random access, unless the bound needs no look at it.
Result<ResolvedCodec> resolve_codec(const Codec& codec, TensorSource& source,
                                    const WriteOptions& options, Isa isa);

/// Whether resolve_codec has to read the source.
bool needs_the_data(const Codec& codec, const BoundOptions& options);

}  // namespace tensorpress::stream
