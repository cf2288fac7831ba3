// The list of codecs. Adding one: a folder here that defines kCodec, and a line in registry.cc.
#pragma once

#include <array>
#include <cstdint>
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

/// One parameter of a codec as bits of a 32-bit word (word 5 of docs/hdf5.md). The first choice is
/// 0; numbers stand for themselves.
struct PackedParameter {
  std::string_view name;
  unsigned shift = 0;
  std::uint32_t mask = 0;
  std::array<std::string_view, 3> choices = {};  // none: a number
};

/// How the HDF5 filter writes a codec down. Numbers in files never change.
struct Hdf5Words {
  std::uint32_t number = 0;  // 0: the filter does not offer it
  std::span<const PackedParameter> parameters = {};
};

struct RegisteredCodec {
  CodecInfo info;
  /// Parameters are complete and in the order of info.parameters; the error says what is allowed.
  Result<std::unique_ptr<ChunkCodec>> (*create)(std::span<const Parameter> parameters);
  /// Gives nothing when these parameters leave nothing to learn; absent for most codecs.
  Result<std::unique_ptr<Learner>> (*learn)(std::span<const Parameter> parameters) = nullptr;
  Hdf5Words hdf5 = {};
};

std::span<const RegisteredCodec* const> registered_codecs();
/// Nothing when there is none of that name.
const RegisteredCodec* find_codec(std::string_view name);

/// Nothing when there is none with that number in HDF5 files.
const RegisteredCodec* find_hdf5_codec(std::uint32_t number);

/// The working codec behind a Codec value.
const std::shared_ptr<const ChunkCodec>& chunk_codec_of(const Codec& codec);
/// An error-bounded codec with this bound instead of its own, or of none.
Result<Codec> with_kept_bound(const Codec& codec, const KeptBound& bound);

}  // namespace tensorpress
