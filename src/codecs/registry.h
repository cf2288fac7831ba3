// The list of codecs. Adding one: a folder here, and a line in registry.cc.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "codecs/chunk_codec.h"
#include "tensorpress/codec.h"

namespace tensorpress {

struct RegisteredCodec {
  CodecInfo info;
  /// Parameters are complete and in the order of info.parameters; the error says what is allowed.
  Result<std::unique_ptr<ChunkCodec>> (*create)(std::span<const Parameter> parameters);
};

std::span<const RegisteredCodec* const> registered_codecs();
/// Nothing when there is none of that name.
const RegisteredCodec* find_codec(std::string_view name);

/// The working codec behind a Codec value.
Result<std::unique_ptr<ChunkCodec>> create_chunk_codec(const Codec& codec);

}  // namespace tensorpress
