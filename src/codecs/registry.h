// The list of codecs. Adding one: a folder here, and a line in registry.cc.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "codecs/chunk_codec.h"
#include "tensorpress/codec.h"

namespace tensorpress {

/// A first pass over the data for a codec with parameters that come from it: every chunk is
/// compressed with `codec`, whose output is thrown away, and then `parameters` knows.
class Learner {
 public:
  virtual ~Learner() = default;
  virtual const ChunkCodec& codec() const = 0;
  /// All it has learned. Processes that saw some of the chunks each may put the sums of theirs
  /// here.
  virtual std::span<std::uint64_t> counts() = 0;
  virtual Result<std::vector<Parameter>> parameters() const = 0;
};

struct RegisteredCodec {
  CodecInfo info;
  /// Parameters are complete and in the order of info.parameters; the error says what is allowed.
  Result<std::unique_ptr<ChunkCodec>> (*create)(std::span<const Parameter> parameters);
  /// Gives nothing when these parameters leave nothing to learn; absent for most codecs.
  Result<std::unique_ptr<Learner>> (*learn)(std::span<const Parameter> parameters) = nullptr;
};

std::span<const RegisteredCodec* const> registered_codecs();
/// Nothing when there is none of that name.
const RegisteredCodec* find_codec(std::string_view name);

/// The working codec behind a Codec value.
Result<std::unique_ptr<ChunkCodec>> create_chunk_codec(const Codec& codec);

}  // namespace tensorpress
