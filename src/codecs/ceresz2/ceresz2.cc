// Codec ceresz2: blocks of 32 values, each prequantized, predicted within the block and written
// with a Huffman code that is known beforehand (Song et al., the CereSZ-II paper). A chunk is
//
//   u64       bits 0 to 7: slack (make_quantizer)
//             bits 8 to 15: how many bits a difference without a code takes; 32 for f32, else 1 to
//             64, as two's complement
//             bits 16 to 63: the number of outliers
//   u32[...]  the ceil(values / 32) blocks (kernels/huffman/huffman.h), nothing between them
//   u32[...]  positions of the outliers in the chunk, ascending
//   T[...]    their values as they are
//
// all little-endian. Outliers are values that would not come back within the bound; in their block
// they repeat the quantum before them. The last block is filled up with copies of the last value.
//
// f32 is the paper's format. For f64 the encoder takes the fewest bits that hold all differences of
// the chunk: at 64, fields would not shrink under the tight bounds that f64 is for.
//
// The encoder works as the wafer does: blocks are coded side by side in memory of their own, then
// their places are computed in three stages (block_offsets.h) and they are moved there.
#include "codecs/ceresz2/ceresz2.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/bytes.h"
#include "base/errors.h"
#include "codecs/ceresz/chunk_shape.h"
#include "codecs/ceresz/chunk_slack.h"
#include "codecs/ceresz2/batches.h"
#include "codecs/ceresz2/escape_width.h"
#include "kernels/huffman/huffman.h"
#include "kernels/stream_copy/stream_copy.h"

namespace tensorpress {
namespace {

using ceresz2::Codebook;
using ceresz2::EscapeWidth;
using ceresz2::for_each_batch;
using ceresz2::kBatch;
using ceresz2::kMesh;
using kernels::huffman::BlockCoding;
using kernels::huffman::kBlockValues;
using kernels::huffman::kMaxBlockBits;
using kernels::huffman::kMaxEscapeBits;
using kernels::huffman::kPackedRoom;
using kernels::huffman::PackedBlock;
using kernels::huffman::Quantizer;
using kernels::huffman::Word;

constexpr std::uint64_t kChunkValues = std::uint64_t{1} << 16;
constexpr std::size_t kHeadBytes = 8;

/// The copies that fill the last block are no outliers of the chunk.
void drop_padding(std::size_t values, std::vector<std::uint32_t>& outliers) {
  while (!outliers.empty() && outliers.back() >= values) outliers.pop_back();
}

/// What a chunk's escapes take. Differences are computed for this alone and again to be packed:
/// that is less work than going out of the cache with them.
template <class T>
unsigned escape_bits_of(std::span<const T> values, const Quantizer<T>& quantizer,
                        const BlockCoding<T>& kernel, std::span<Word<T>> differences) {
  if (sizeof(T) == 4) return kMaxEscapeBits<T>;
  EscapeWidth<T> width;
  std::vector<std::uint32_t> outliers;
  for_each_batch(values, [&](const T* from, std::size_t, std::size_t blocks) {
    outliers.clear();
    kernel.predict(from, blocks, quantizer, differences.data(), 0, outliers);
    width.see(differences.first(blocks * kBlockValues));
    return true;
  });
  return width.bits();
}

template <class T>
struct alignas(64) EncoderMemory {
  Word<T> differences[kBatch * kBlockValues];
  std::byte packed[kBatch * kPackedRoom<T>];
  std::uint32_t words[kBatch];
  std::uint64_t sums[kBatch];
  std::uint64_t offsets[kBatch];
};

template <class T>
std::optional<std::size_t> encode_chunk(std::span<const T> values, double bound,
                                        const Codebook& book, std::span<std::byte> output,
                                        ChunkWorkspace& workspace) {
  if (values.size() > UINT32_MAX - kBlockValues || output.size() < kHeadBytes) return std::nullopt;
  const unsigned slack = ceresz::choose_slack(values, bound);
  const auto quantizer = kernels::bitplane::make_quantizer<T>(bound, slack);
  const auto table = book.pack_table();
  const BlockCoding<T> kernel = kernels::huffman::block_coding<T>(workspace.isa);
  auto& memory = workspace.memory.of<EncoderMemory<T>>();
  const unsigned escape_bits = escape_bits_of<T>(values, quantizer, kernel, memory.differences);
  std::vector<std::uint32_t> outliers;
  std::size_t used = kHeadBytes;
  const bool fits = for_each_batch(values, [&](const T* from, std::size_t at, std::size_t blocks) {
    kernel.predict(from, blocks, quantizer, memory.differences, static_cast<std::uint32_t>(at),
                   outliers);
    kernel.pack(memory.differences, blocks, table, escape_bits, memory.packed, memory.words);
    const std::size_t bytes = 4 * ceresz2::block_offsets(std::span(memory.words).first(blocks),
                                                         kMesh, memory.sums, memory.offsets);
    if (bytes > output.size() - used) return false;
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::byte* const packed = memory.packed + block * kPackedRoom<T>;
      std::byte* const place = output.data() + used + 4 * memory.offsets[block];
      // Most blocks are short: a copy of fixed size may spill over what follows, never the output.
      constexpr std::size_t kShort = 64;
      const std::size_t length = 4 * memory.words[block];
      if (length <= kShort && place + kShort <= output.data() + output.size()) {
        std::memcpy(place, packed, kShort);
      } else {
        std::memcpy(place, packed, length);
      }
    }
    used += bytes;
    return true;
  });
  drop_padding(values.size(), outliers);
  if (!fits || outliers.size() * (4 + sizeof(T)) > output.size() - used) return std::nullopt;
  store_le(output.data(), std::uint64_t{outliers.size()} << 16 | escape_bits << 8 | slack);
  for (const std::uint32_t position : outliers) {
    store_le(output.data() + used, position);
    used += 4;
  }
  for (const std::uint32_t position : outliers) {
    store_le(output.data() + used, std::bit_cast<Word<T>>(values[position]));
    used += sizeof(T);
  }
  return used;
}

/// The chunk's parts, with their sizes checked.
struct Parts {
  unsigned slack = 0;
  unsigned escape_bits = 0;
  std::span<const std::byte> blocks;
  std::span<const std::byte> positions;
  std::span<const std::byte> values;
};

Result<Parts> split(std::span<const std::byte> input, std::size_t values,
                    std::size_t element_bytes) {
  if (input.size() < kHeadBytes) return truncated("ceresz2: the chunk ends in its first 8 bytes");
  const auto head = load_le<std::uint64_t>(input.data());
  Parts parts;
  parts.slack = static_cast<unsigned>(head & 0xFF);
  parts.escape_bits = static_cast<unsigned>(head >> 8 & 0xFF);
  const std::uint64_t outliers = head >> 16;
  if (parts.slack >= kernels::bitplane::kSlacks) {
    return corrupt("ceresz2: there is no slack ", parts.slack);
  }
  const unsigned most = static_cast<unsigned>(8 * element_bytes);
  const unsigned fewest = element_bytes == 4 ? most : 1;
  if (parts.escape_bits < fewest || parts.escape_bits > most) {
    return corrupt("ceresz2: differences without a code are said to take ", parts.escape_bits,
                   " bits");
  }
  const auto rest = input.subspan(kHeadBytes);
  if (outliers > values || outliers > rest.size() / (4 + element_bytes)) {
    return corrupt("ceresz2: ", outliers, " outliers in a chunk of ", values, " values and ",
                   input.size(), " bytes");
  }
  const auto count = static_cast<std::size_t>(outliers);
  const std::size_t block_bytes = rest.size() - count * (4 + element_bytes);
  parts.blocks = rest.first(block_bytes);
  parts.positions = rest.subspan(block_bytes, 4 * count);
  parts.values = rest.subspan(block_bytes + 4 * count);
  return parts;
}

template <class T>
struct alignas(64) DecoderMemory {
  Word<T> differences[kBatch * kBlockValues];
  T values[kBatch * kBlockValues];
  std::byte tail[2 * kPackedRoom<T>];
};

/// Walks from block to block by their counts.
template <class T>
class BlockWalk {
 public:
  /// The last bytes are read from a copy with zeros behind it: look-ups reach further than blocks.
  BlockWalk(std::span<const std::byte> bytes, std::byte* tail) : bytes_(bytes), tail_(tail) {
    const std::size_t length = std::min(bytes.size(), kPackedRoom<T>);
    tail_start_ = bytes.size() - length;
    if (length > 0) std::memcpy(tail, bytes.data() + tail_start_, length);
    std::memset(tail + length, 0, kPackedRoom<T>);
  }

  /// Blocks of which some are zero; those are left out of what is returned.
  struct Batch {
    PackedBlock blocks[kBatch];
    std::size_t count = 0;
    std::size_t in_tail = 0;  // the last ones, whose bits start in the tail
    bool whole = true;        // else the walk has ended in front of block `next`
    std::size_t next = 0;
  };

  void take(std::size_t blocks, Batch& batch) {
    batch.count = batch.in_tail = 0;
    for (batch.next = 0; batch.next < blocks; ++batch.next) {
      batch.whole = bytes_.size() - at_ >= 4;
      if (!batch.whole) return;
      const auto bits = load_le<std::uint32_t>(bytes_.data() + at_);
      const std::size_t length = 4 * ((std::size_t{bits} + 31) / 32);
      const std::size_t start = at_ + 4;
      batch.whole = bits <= kMaxBlockBits<T> && length <= bytes_.size() - start;
      if (!batch.whole) return;
      at_ = start + length;
      if (bits == 0) continue;
      const bool in_tail = start >= tail_start_;
      batch.blocks[batch.count++] = {8 * std::uint64_t{in_tail ? start - tail_start_ : start}, bits,
                                     static_cast<std::uint32_t>(batch.next)};
      batch.in_tail += in_tail ? 1 : 0;
    }
  }

  /// Differences of the batch's blocks; how many were right.
  std::size_t unpack(const Batch& batch, const BlockCoding<T>& kernel,
                     const kernels::huffman::UnpackTable& table, unsigned escape_bits,
                     Word<T>* differences) const {
    const std::size_t before = batch.count - batch.in_tail;
    const std::size_t right =
        kernel.unpack(bytes_.data(), batch.blocks, before, table, escape_bits, differences);
    if (right < before || batch.in_tail == 0) return right;
    return right + kernel.unpack(tail_, batch.blocks + before, batch.in_tail, table, escape_bits,
                                 differences + before * kBlockValues);
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::span<const std::byte> bytes_;
  std::byte* tail_;
  std::size_t tail_start_ = 0;
  std::size_t at_ = 0;
};

/// The values of a batch, zero blocks among them, to their place; past the cache if wanted.
template <class T>
void place_values(const typename BlockWalk<T>::Batch& batch, const Quantizer<T>& quantizer,
                  const BlockCoding<T>& kernel, const ChunkWorkspace& workspace,
                  DecoderMemory<T>& memory, std::span<T> values) {
  const bool whole = values.size() == batch.next * kBlockValues;
  const bool aligned = reinterpret_cast<std::uintptr_t>(values.data()) % 64 == 0;
  const bool direct = whole && (!workspace.stream_stores || aligned);
  T* const to = direct ? values.data() : memory.values;
  if (batch.count < batch.next) std::fill_n(to, batch.next * kBlockValues, T{0});
  const auto reconstruct =
      direct && workspace.stream_stores ? kernel.reconstruct_streaming : kernel.reconstruct;
  reconstruct(memory.differences, batch.blocks, batch.count, quantizer, to);
  if (direct) return;
  if (workspace.stream_stores) {
    kernels::stream_copy(workspace.isa)(reinterpret_cast<const std::byte*>(to),
                                        reinterpret_cast<std::byte*>(values.data()),
                                        values.size_bytes());
  } else {
    std::copy_n(to, values.size(), values.data());
  }
}

template <class T>
Result<void> put_outliers(const Parts& parts, std::span<T> values) {
  std::uint64_t next = 0;
  for (std::size_t i = 0; i < parts.positions.size() / 4; ++i) {
    const auto position = load_le<std::uint32_t>(parts.positions.data() + 4 * i);
    if (position < next || position >= values.size()) {
      return corrupt("ceresz2: outlier ", i, " is said to be value ", position, " of ",
                     values.size());
    }
    next = std::uint64_t{position} + 1;
    values[position] = std::bit_cast<T>(load_le<Word<T>>(parts.values.data() + sizeof(T) * i));
  }
  return {};
}

template <class T>
Result<void> decode_chunk(std::span<const std::byte> input, double bound, const Codebook& book,
                          std::span<T> values, ChunkWorkspace& workspace) {
  TRY(const Parts parts, split(input, values.size(), sizeof(T)));
  const auto quantizer = kernels::bitplane::make_quantizer<T>(bound, parts.slack);
  const BlockCoding<T> kernel = kernels::huffman::block_coding<T>(workspace.isa);
  auto& memory = workspace.memory.of<DecoderMemory<T>>();
  BlockWalk<T> walk(parts.blocks, memory.tail);
  const std::size_t blocks = (values.size() + kBlockValues - 1) / kBlockValues;
  typename BlockWalk<T>::Batch batch;
  const auto& table = book.unpack_table(8 * static_cast<double>(parts.blocks.size()) /
                                        static_cast<double>(values.size()));
  for (std::size_t first = 0; first < blocks; first += kBatch) {
    walk.take(std::min(kBatch, blocks - first), batch);
    if (!batch.whole) {
      return corrupt("ceresz2: block ", first + batch.next, " of ", blocks,
                     " ends beyond the chunk");
    }
    const std::size_t right =
        walk.unpack(batch, kernel, table, parts.escape_bits, memory.differences);
    if (right < batch.count) {
      return corrupt("ceresz2: the bits of block ", first + batch.blocks[right].slot,
                     " are not those of 32 values");
    }
    const std::size_t at = first * kBlockValues;
    place_values(batch, quantizer, kernel, workspace, memory,
                 values.subspan(at, std::min(batch.next * kBlockValues, values.size() - at)));
  }
  if (walk.left() != 0) {
    return corrupt("ceresz2: ", walk.left(), " bytes follow the last block");
  }
  return put_outliers(parts, values);
}

template <class T>
void count_chunk(std::span<const T> values, double bound, ceresz2::DeltaCounts& counts) {
  const auto quantizer =
      kernels::bitplane::make_quantizer<T>(bound, ceresz::choose_slack(values, bound));
  const BlockCoding<T> kernel = kernels::huffman::block_coding<T>(detected_isa());
  const auto symbols = static_cast<Word<T>>(counts.counts.size());
  const Word<T> first = symbols / 2;
  std::vector<Word<T>> differences(kBatch * kBlockValues);
  std::vector<std::uint32_t> outliers;
  std::uint64_t coded_values = 0;
  EscapeWidth<T> width;
  for_each_batch(values, [&](const T* from, std::size_t at, std::size_t blocks) {
    kernel.predict(from, blocks, quantizer, differences.data(), static_cast<std::uint32_t>(at),
                   outliers);
    for (std::size_t block = 0; block < blocks; ++block) {
      const auto of_block = std::span(differences).subspan(block * kBlockValues, kBlockValues);
      ++counts.blocks;
      if (std::ranges::all_of(of_block, [](Word<T> d) { return d == 0; })) {
        ++counts.zero_blocks;
        continue;
      }
      coded_values += kBlockValues;
      width.see(of_block);
      for (const Word<T> difference : of_block) {
        const Word<T> symbol = difference + first;
        ++(symbol < symbols ? counts.counts[static_cast<std::size_t>(symbol)] : counts.escapes);
      }
    }
    return true;
  });
  drop_padding(values.size(), outliers);
  counts.outliers += outliers.size();
  counts.bits_as_escapes += coded_values * width.bits();
}

class Ceresz2 final : public bounded::TypedFieldCoder<Ceresz2> {
 public:
  explicit Ceresz2(std::shared_ptr<const Codebook> book) : book_(std::move(book)) {}

  Shape preferred_chunk_shape(const Shape& shape, DType) const override {
    return ceresz::consecutive_chunk_shape(shape, kChunkValues);
  }

 private:
  friend TypedFieldCoder;

  template <class T>
  std::optional<std::size_t> encode_as(const bounded::Field<T>& field, double bound,
                                       std::span<std::byte> output,
                                       ChunkWorkspace& workspace) const {
    return encode_chunk(field.values, bound, *book_, output, workspace);
  }
  template <class T>
  Result<void> decode_as(std::span<const std::byte> input, const Shape&, double bound,
                         std::span<T> output, ChunkWorkspace& workspace) const {
    return decode_chunk(input, bound, *book_, output, workspace);
  }

  std::shared_ptr<const Codebook> book_;
};

}  // namespace

Result<std::unique_ptr<bounded::FieldCoder>> make_ceresz2(std::string_view codebook) {
  TRY(auto book, ceresz2::shared_codebook(codebook));
  return std::unique_ptr<bounded::FieldCoder>(std::make_unique<Ceresz2>(std::move(book)));
}

namespace ceresz2 {

Result<std::shared_ptr<const Codebook>> shared_codebook(std::string_view codebook) {
  if (codebook == "default") {
    return std::shared_ptr<const Codebook>(&Codebook::standard(), [](const Codebook*) {});
  }
  TRY(Codebook read, Codebook::from_text(codebook));
  return std::shared_ptr<const Codebook>(std::make_shared<const Codebook>(std::move(read)));
}

void count_deltas(const bounded::Field<float>& field, double bound, DeltaCounts& counts) {
  count_chunk(field.values, bound, counts);
}
void count_deltas(const bounded::Field<double>& field, double bound, DeltaCounts& counts) {
  count_chunk(field.values, bound, counts);
}

}  // namespace ceresz2
}  // namespace tensorpress
