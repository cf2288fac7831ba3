// Codec ceresz: blocks of 32 values, each prequantized, predicted within the block and stored as
// bit planes of its own width (Song et al., "CereSZ", HPDC 2024). A chunk is
//
//   u8      slack: how far the step stays below twice the bound (make_quantizer)
//   u8[b]   a width for each of the b = ceil(values / 32) blocks: 0 to 32 (64 for f64), or 255
//   ...     the blocks' payloads in the same order, nothing between them:
//             width w    w planes of 32 bits, little-endian; plane p has bit p of every code
//                        (value_of_bit says which bit is whose)
//             width 0    nothing: the block is zero
//             width 255  the 32 values themselves, little-endian
//
// so that the place of every block is a sum over bytes that stand together. The last block is
// filled up with copies of the last value. A block with a value that would not come back within the
// bound is stored with width 255.
#include "codecs/ceresz/ceresz.h"

#include <algorithm>
#include <cstring>

#include "base/errors.h"
#include "codecs/ceresz/block.h"
#include "codecs/ceresz/chunk_shape.h"
#include "codecs/ceresz/chunk_slack.h"
#include "kernels/stream_copy/stream_copy.h"

namespace tensorpress {
namespace {

using kernels::bitplane::BlockCoding;
using kernels::bitplane::is_width;
using kernels::bitplane::kBlockBytes;
using kernels::bitplane::kBlockValues;
using kernels::bitplane::Progress;
using kernels::bitplane::Quantizer;

// 256 KiB of f32: fits a second-level cache together with its compressed form.
constexpr std::uint64_t kChunkValues = std::uint64_t{1} << 16;
constexpr std::size_t kStagedBlocks = 64;

template <class T>
BlockCoding<T> coding(Isa isa) {
  if constexpr (sizeof(T) == 4) {
    return kernels::bitplane::f32_blocks(isa);
  } else {
    return kernels::bitplane::f64_blocks(isa);
  }
}

template <class T>
std::optional<std::size_t> encode_chunk(std::span<const T> values, double bound,
                                        std::span<std::byte> output, Isa isa) {
  const std::size_t whole = values.size() / kBlockValues;
  const std::size_t blocks = (values.size() + kBlockValues - 1) / kBlockValues;
  if (output.size() < 1 + blocks) return std::nullopt;
  const unsigned slack = ceresz::choose_slack(values, bound);
  const Quantizer<T> quantizer = kernels::bitplane::make_quantizer<T>(bound, slack);
  const BlockCoding<T> kernel = coding<T>(isa);
  output[0] = static_cast<std::byte>(slack);
  auto* const widths = reinterpret_cast<std::uint8_t*>(output.data() + 1);
  const std::span<std::byte> payload = output.subspan(1 + blocks);
  Progress done =
      kernel.encode(values.data(), whole, quantizer, widths, payload.data(), payload.size());
  // The last blocks, where the room is short or the values are: one by one.
  while (done.blocks < blocks) {
    T padded[kBlockValues];
    const auto rest = values.subspan(done.blocks * kBlockValues);
    const std::size_t count = std::min(rest.size(), kBlockValues);
    std::copy_n(rest.data(), count, padded);
    std::fill(padded + count, padded + kBlockValues, rest[count - 1]);
    std::byte coded[kBlockBytes<T>];
    const std::size_t bytes =
        kernel.encode(padded, 1, quantizer, widths + done.blocks, coded, sizeof coded).bytes;
    if (bytes > payload.size() - done.bytes) return std::nullopt;
    std::memcpy(payload.data() + done.bytes, coded, bytes);
    ++done.blocks;
    done.bytes += bytes;
  }
  return 1 + blocks + done.bytes;
}

struct DecoderBuffers {
  AlignedBuffer stage;  // blocks on their way past the cache
};

/// Decodes whole blocks straight into `values`, past the cache if wanted.
template <class T>
Progress decode_whole(const std::uint8_t* widths, std::span<const std::byte> payload,
                      const Quantizer<T>& quantizer, std::span<T> values,
                      ChunkWorkspace& workspace) {
  const BlockCoding<T> kernel = coding<T>(workspace.isa);
  const std::size_t blocks = values.size() / kBlockValues;
  if (!workspace.stream_stores) {
    return kernel.decode(widths, blocks, payload.data(), payload.size(), quantizer, values.data());
  }
  if (reinterpret_cast<std::uintptr_t>(values.data()) % 64 == 0) {
    return kernel.decode_streaming(widths, blocks, payload.data(), payload.size(), quantizer,
                                   values.data());
  }
  const auto copy = kernels::stream_copy(workspace.isa);
  const auto stage =
      workspace.memory.of<DecoderBuffers>().stage.reserve_as<T>(kStagedBlocks * kBlockValues);
  Progress done;
  while (done.blocks < blocks) {
    const std::size_t wanted = std::min(kStagedBlocks, blocks - done.blocks);
    const auto rest = payload.subspan(done.bytes);
    const Progress step = kernel.decode(widths + done.blocks, wanted, rest.data(), rest.size(),
                                        quantizer, stage.data());
    copy(reinterpret_cast<const std::byte*>(stage.data()),
         reinterpret_cast<std::byte*>(values.data() + done.blocks * kBlockValues),
         step.blocks * kBlockBytes<T>);
    done.blocks += step.blocks;
    done.bytes += step.bytes;
    if (step.blocks < wanted) break;
  }
  return done;
}

template <class T>
Result<void> decode_chunk(std::span<const std::byte> input, double bound, std::span<T> values,
                          ChunkWorkspace& workspace) {
  const std::size_t blocks = (values.size() + kBlockValues - 1) / kBlockValues;
  if (input.size() < 1 + blocks) {
    return truncated("ceresz: ", input.size(), " bytes are too few for ", blocks, " blocks");
  }
  const auto slack = static_cast<unsigned>(input[0]);
  if (slack >= kernels::bitplane::kSlacks) return corrupt("ceresz: there is no slack ", slack);
  const Quantizer<T> quantizer = kernels::bitplane::make_quantizer<T>(bound, slack);
  const auto* const widths = reinterpret_cast<const std::uint8_t*>(input.data() + 1);
  const std::span<const std::byte> payload = input.subspan(1 + blocks);
  Progress done = decode_whole(widths, payload, quantizer, values, workspace);
  const BlockCoding<T> kernel = coding<T>(workspace.isa);
  while (done.blocks < blocks) {
    const std::uint8_t width = widths[done.blocks];
    if (!is_width<T>(width)) {
      return corrupt("ceresz: block ", done.blocks, " claims ", unsigned{width}, " planes");
    }
    const std::size_t bytes = kernels::bitplane::payload_bytes<T>(width);
    if (bytes > payload.size() - done.bytes) {
      return truncated("ceresz: the chunk ends inside block ", done.blocks, " of ", blocks);
    }
    std::byte coded[kBlockBytes<T>] = {};
    std::memcpy(coded, payload.data() + done.bytes, bytes);
    T block[kBlockValues];
    kernel.decode(&width, 1, coded, sizeof coded, quantizer, block);
    const auto rest = values.subspan(done.blocks * kBlockValues);
    std::copy_n(block, std::min(rest.size(), kBlockValues), rest.data());
    ++done.blocks;
    done.bytes += bytes;
  }
  if (done.bytes != payload.size()) {
    return corrupt("ceresz: ", payload.size() - done.bytes, " bytes follow the last block");
  }
  return {};
}

class Ceresz final : public bounded::TypedFieldCoder<Ceresz> {
 public:
  Shape preferred_chunk_shape(const Shape& shape, DType) const override {
    return ceresz::consecutive_chunk_shape(shape, kChunkValues);
  }

 private:
  friend TypedFieldCoder;

  template <class T>
  std::optional<std::size_t> encode_as(const bounded::Field<T>& field, double bound,
                                       std::span<std::byte> output,
                                       ChunkWorkspace& workspace) const {
    return encode_chunk(field.values, bound, output, workspace.isa);
  }
  template <class T>
  Result<void> decode_as(std::span<const std::byte> input, const Shape&, double bound,
                         std::span<T> output, ChunkWorkspace& workspace) const {
    return decode_chunk(input, bound, output, workspace);
  }
};

}  // namespace

std::unique_ptr<bounded::FieldCoder> make_ceresz() {
  return std::make_unique<Ceresz>();
}

}  // namespace tensorpress
