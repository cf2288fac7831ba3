#include <algorithm>
#include <type_traits>

#include "codecs/dense/lorenzo/buffers.h"
#include "codecs/dense/lorenzo/classes.h"
#include "codecs/dense/lorenzo/lorenzo.h"
#include "codecs/dense/lorenzo/plan.h"
#include "codecs/dense/varint.h"
#include "kernels/lorenzo/lorenzo_row.h"

namespace tensorpress::dense {
namespace {

struct Header {
  LorenzoAxes axes;
  int log2_block = 4;
  int vectors = 0;  // V, 0 when nothing is coded
  bool wide = false;
  double step = 0;
  std::int64_t first = 0;
};

template <class T>
Result<Header> read_header(ByteReader& reader, double bound) {
  TRY(const auto mode, reader.read<std::uint8_t>());
  TRY(const auto shrink, reader.read<std::uint8_t>());
  TRY(const auto first, reader.read_varint());
  Header header;
  header.axes = {mode & 3, (mode & 4) != 0, (mode & 8) != 0};
  header.log2_block = 4 + (mode >> 4 & 1);
  const int vectors = mode >> 5 & 3;
  header.vectors = vectors == 0 ? 0 : 1 << (vectors - 1);
  header.wide = (mode & 0x80) != 0;
  if (header.axes.x_order > 2) {
    return corrupt("a Lorenzo chunk has the mode ", int{mode}, ", which does not exist");
  }
  header.step = step_of<T>(bound, shrink, header.wide);
  header.first = unzigzag64(first);
  return header;
}

struct OutlierBytes {
  std::uint64_t count = 0;
  ByteReader distances{{}};
  std::span<const std::byte> values;
};

// Finds their extent; they are put in at the very end.
template <class T>
Result<OutlierBytes> read_outliers(ByteReader& reader, std::size_t count) {
  OutlierBytes outliers;
  TRY(outliers.count, reader.read_varint());
  if (outliers.count > count)
    return corrupt("a chunk of ", count, " values has ", outliers.count, " outliers");
  outliers.distances = reader;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < outliers.count; ++i) {
    TRY(const auto distance, reader.read_varint());
    at += std::min<std::uint64_t>(distance, count);
    if (at >= count) {
      return corrupt("an outlier lies outside of its chunk");
    }
  }
  TRY(outliers.values, reader.take(outliers.count * sizeof(T)));
  return outliers;
}

template <class T>
Result<void> put_outliers(OutlierBytes outliers, std::span<T> output) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < outliers.count; ++i) {
    TRY(const auto distance, outliers.distances.read_varint());
    at += distance;
    output[at] = std::bit_cast<T>(load_le<Bits>(outliers.values.data() + i * sizeof(T)));
  }
  return {};
}

// Decodes the blocks of a chunk from front to back.
class BlockDecoder {
 public:
  BlockDecoder(const Fold& fold, int log2_block, ChunkWorkspace& workspace)
      : order_(fold, log2_block),
        rans_(kernels::rans_kernels(workspace.isa)),
        classes_(workspace.memory.of<LorenzoBuffers>().classes.reserve_as<std::uint8_t>(
            order_.blocks())),
        log2_block_(log2_block) {}

  std::size_t padded_count() const { return order_.blocks() << log2_block_; }

  Result<void> start(std::span<const std::byte> bytes, std::size_t vectors) {
    if (!decoder_.start(bytes, vectors)) return corrupt("a Lorenzo chunk has no coder states");
    const auto& tables = LorenzoModel::standard().class_contexts();
    for (std::size_t group = 0; group < order_.groups(); ++group) {
      std::uint8_t ids[16];
      std::int32_t values[16];
      for (std::size_t lane = 0; lane < 16; ++lane) {
        ids[lane] = order_.table(group, lane, classes_.data());
      }
      if (!rans_.decode_values(decoder_, tables, ids, 1, values)) return ends_early();
      for (std::size_t lane = 0; lane < 16; ++lane) {
        const std::size_t block = order_.block(group, lane);
        if (block >= order_.blocks()) continue;
        if (values[lane] < 0 || values[lane] >= static_cast<std::int32_t>(kClasses)) {
          return corrupt("block ", block, " has class ", values[lane], " of ", kClasses);
        }
        classes_[block] = static_cast<std::uint8_t>(values[lane]);
      }
    }
    return {};
  }

  /// Decodes on until at least `count` differences of the chunk are in `d`.
  Result<void> decode_to(std::size_t count, std::int32_t* d) {
    constexpr std::size_t kBatch = 512;  // groups
    std::uint8_t ids[kBatch];
    const int groups_shift = log2_block_ - 4;
    const std::size_t wanted = ((count + (std::size_t{1} << log2_block_) - 1) >> log2_block_)
                               << groups_shift;
    while (group_ < wanted) {
      const std::size_t groups = std::min(kBatch, wanted - group_);
      for (std::size_t i = 0; i < groups; ++i) ids[i] = classes_[(group_ + i) >> groups_shift];
      if (!rans_.decode_groups(decoder_, LorenzoModel::standard().values(), ids, groups,
                               d + group_ * 16)) {
        return ends_early();
      }
      group_ += groups;
    }
    return {};
  }

  Result<void> finish() const {
    if (!decoder_.finished()) return corrupt("the coder of a Lorenzo chunk ends in a wrong state");
    return {};
  }

 private:
  static Error ends_early() { return truncated("the words of a Lorenzo chunk end too early"); }

  kernels::RansDecoder decoder_;
  std::size_t group_ = 0;
  ClassOrder order_;
  kernels::RansKernels rans_;
  std::span<std::uint8_t> classes_;
  int log2_block_;
};

template <class T>
Result<void> decode_narrow(const Header& header, std::span<const std::byte> coded, const Fold& fold,
                           std::span<T> output, ChunkWorkspace& workspace) {
  const auto kernels = kernels::lorenzo_kernels(workspace.isa);
  BlockDecoder blocks(fold, header.log2_block, workspace);
  const auto q = workspace.memory.of<PredictorBuffers>().values.reserve_as<std::int32_t>(
      blocks.padded_count());
  RETURN_IF_ERROR(blocks.start(coded, static_cast<std::size_t>(header.vectors)));
  const std::size_t strip = std::max<std::size_t>(1, kStripValues / fold.nx);
  for (std::size_t row = 0; row < fold.rows(); row += strip) {
    const std::size_t rows = std::min(strip, fold.rows() - row);
    const std::size_t at = row * fold.nx;
    RETURN_IF_ERROR(blocks.decode_to(at + rows * fold.nx, q.data()));
    if (row == 0) q[0] = static_cast<std::int32_t>(header.first);
    for (std::size_t r = row; r < row + rows; ++r) {
      std::int32_t* const start = q.data() + r * fold.nx;
      kernels.integrate(start, fold.nx, neighbours(fold, header.axes, r, start));
    }
    kernels::conversions_of<T>(kernels).scale(q.data() + at, output.data() + at, rows * fold.nx,
                                              static_cast<T>(header.step));
  }
  return blocks.finish();
}

template <class T>
Result<void> decode_wide(const Header& header, int shift, std::span<const std::byte> low,
                         std::span<const std::byte> coded, const Fold& fold, std::span<T> output,
                         ChunkWorkspace& workspace) {
  BlockDecoder blocks(fold, header.log2_block, workspace);
  const auto d = workspace.memory.of<PredictorBuffers>().residuals.reserve_as<std::int32_t>(
      blocks.padded_count());
  if (header.vectors != 0) {
    RETURN_IF_ERROR(blocks.start(coded, static_cast<std::size_t>(header.vectors)));
    RETURN_IF_ERROR(blocks.decode_to(fold.count(), d.data()));
    RETURN_IF_ERROR(blocks.finish());
  } else {
    std::fill(d.begin(), d.end(), 0);
  }
  const auto q =
      workspace.memory.of<PredictorBuffers>().values.reserve_as<std::int64_t>(fold.count());
  const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
  std::uint64_t held = 0;
  int bits = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < q.size(); ++i) {
    std::uint64_t value = static_cast<std::uint64_t>(std::int64_t{d[i]}) << shift;
    // Up to 64 + 7 bits may be held; what does not fit comes from the byte read last.
    std::uint64_t part = held & mask;
    if (bits >= shift) {
      held = shift == 0 ? held : held >> shift;
      bits -= shift;
    } else {
      int have = bits;
      held = 0;
      bits = 0;
      while (have < shift) {
        const auto byte = static_cast<std::uint64_t>(low[next++]);
        part |= byte << have;
        const int used = std::min(8, shift - have);
        have += used;
        held = byte >> used;
        bits = 8 - used;
      }
      part &= mask;
    }
    value |= part;
    q[i] = static_cast<std::int64_t>(value);
  }
  q[0] = header.first;
  for (std::size_t row = 0; row < fold.rows(); ++row) {
    std::int64_t* const start = q.data() + row * fold.nx;
    kernels::lorenzo::integrate_row(start, 0, fold.nx, neighbours(fold, header.axes, row, start));
    for (std::size_t i = 0; i < fold.nx; ++i) {
      output[row * fold.nx + i] = static_cast<T>(wide_value(start[i], header.step));
    }
  }
  return {};
}

}  // namespace

template <class T>
Result<void> decode_lorenzo(std::span<const std::byte> input, const Shape& shape, double bound,
                            std::span<T> output, ChunkWorkspace& workspace) {
  const Fold fold = fold_of(shape);
  ENSURE(fold.count() == output.size() && !output.empty());
  ByteReader reader(input);
  TRY(const auto header, read_header<T>(reader, bound));
  TRY(const auto outliers, read_outliers<T>(reader, output.size()));
  int shift = 0;
  std::span<const std::byte> low;
  if (header.wide) {
    TRY(const auto stored, reader.read<std::uint8_t>());
    if (stored > 63) return corrupt("a Lorenzo chunk has ", int{stored}, " low bits");
    shift = stored;
    TRY(low, reader.take((static_cast<std::uint64_t>(output.size()) * stored + 7) / 8));
  }
  TRY(const auto coded, reader.take(reader.remaining()));
  if (header.vectors == 0 && !coded.empty())
    return corrupt("bytes follow a chunk without differences");
  if (header.wide) {
    RETURN_IF_ERROR(decode_wide(header, shift, low, coded, fold, output, workspace));
  } else {
    if (header.vectors == 0) {
      const auto q = static_cast<std::int32_t>(header.first);
      std::fill(output.begin(), output.end(), static_cast<T>(q) * static_cast<T>(header.step));
    } else {
      RETURN_IF_ERROR(decode_narrow(header, coded, fold, output, workspace));
    }
  }
  return put_outliers(outliers, output);
}

template Result<void> decode_lorenzo(std::span<const std::byte>, const Shape&, double,
                                     std::span<float>, ChunkWorkspace&);
template Result<void> decode_lorenzo(std::span<const std::byte>, const Shape&, double,
                                     std::span<double>, ChunkWorkspace&);

}  // namespace tensorpress::dense
