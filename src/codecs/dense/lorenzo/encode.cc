#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "codecs/dense/lorenzo/buffers.h"
#include "codecs/dense/lorenzo/classes.h"
#include "codecs/dense/lorenzo/differences.h"
#include "codecs/dense/lorenzo/lorenzo.h"
#include "codecs/dense/lorenzo/plan.h"
#include "codecs/dense/varint.h"

namespace tensorpress::dense {
namespace {

void pack_low_bits(std::span<const std::int64_t> d, int shift, SpanWriter& writer) {
  std::uint64_t held = 0;
  int bits = 0;
  const std::uint64_t mask = (std::uint64_t{1} << shift) - 1;
  for (const std::int64_t value : d) {
    const std::uint64_t low = static_cast<std::uint64_t>(value) & mask;
    held |= low << bits;
    bits += shift;
    if (bits < 64) continue;
    writer.word(held);
    bits -= 64;
    held = bits == 0 ? 0 : low >> (shift - bits);
  }
  for (; bits > 0; bits -= 8, held >>= 8) writer.byte(static_cast<std::uint8_t>(held));
}

template <class T>
void write_outliers(const bounded::Field<T>& field, std::span<std::uint32_t> outliers,
                    SpanWriter& writer) {
  // Holes need no outliers.
  auto hole = field.holes.begin();
  std::size_t kept = 0;
  for (const std::uint32_t index : outliers) {
    while (hole != field.holes.end() && hole->start + hole->length <= index) ++hole;
    if (hole == field.holes.end() || hole->start > index) outliers[kept++] = index;
  }
  outliers = outliers.first(kept);
  writer.number(kept);
  std::uint32_t before = 0;
  for (const std::uint32_t index : outliers) writer.number(index - std::exchange(before, index));
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (const std::uint32_t index : outliers) {
    writer.word(std::bit_cast<Bits>(field.values[index]));
  }
}

// Classes and differences; moves the result to the front of `output`.
std::optional<std::size_t> encode_blocks(std::span<const std::int32_t> d, const ClassOrder& order,
                                         int log2_block, std::size_t vectors,
                                         std::span<const std::uint8_t> classes,
                                         std::span<std::byte> output, ChunkWorkspace& workspace) {
  const LorenzoModel& model = LorenzoModel::standard();
  const auto rans = kernels::rans_kernels(workspace.isa);
  const std::size_t groups = order.blocks() << (log2_block - 4);
  kernels::RansEncoder encoder;
  encoder.start(output, vectors, order.groups() + groups);
  if (log2_block == 4) {
    rans.encode_groups(encoder, model.values(), classes.data(), groups, d.data());
  } else {
    constexpr std::size_t kBatch = 256;  // blocks, each of two groups
    std::uint8_t ids[2 * kBatch];
    for (std::size_t end = order.blocks(); end > 0;) {
      const std::size_t start = (end - 1) / kBatch * kBatch;
      for (std::size_t i = start; i < end; ++i) {
        ids[2 * (i - start)] = ids[2 * (i - start) + 1] = classes[i];
      }
      rans.encode_groups(encoder, model.values(), ids, 2 * (end - start), d.data() + 32 * start);
      end = start;
    }
  }
  for (std::size_t group = order.groups(); group-- > 0;) {
    std::uint8_t ids[16];
    std::int32_t values[16];
    for (std::size_t lane = 0; lane < 16; ++lane) {
      const std::size_t block = order.block(group, lane);
      ids[lane] = order.table(group, lane, classes.data());
      values[lane] = block < order.blocks() ? classes[block] : 0;
    }
    rans.encode_values(encoder, model.class_contexts(), ids, 1, values);
  }
  const auto bytes = encoder.finish();
  if (!bytes) return std::nullopt;
  std::memmove(output.data(), bytes->data(), bytes->size());
  return bytes->size();
}

// States cost 64 bytes a vector: few for small chunks, enough to hide latency in large ones.
int vector_code(double expected_bytes) {
  return expected_bytes < 6000 ? 1 : expected_bytes < 24000 ? 2 : 3;
}

}  // namespace

template <class T>
std::optional<std::size_t> encode_lorenzo(const bounded::Field<T>& field, double bound,
                                          const LorenzoPlan& plan, std::span<std::byte> output,
                                          ChunkWorkspace& workspace) {
  const LorenzoModel& model = LorenzoModel::standard();
  const std::size_t count = field.values.size();
  if (count > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  const auto differences = lorenzo_differences(field, bound, plan, workspace);
  if (!differences) return std::nullopt;
  const ClassOrder order(fold_of(field.shape), plan.log2_block);
  const std::span<const std::int32_t> d = differences->values;

  auto& buffers = workspace.memory.of<LorenzoBuffers>();
  const auto cells = buffers.cells.reserve_as<std::uint16_t>(order.blocks());
  kernels::lorenzo_kernels(workspace.isa)
      .cells(d.data(), order.blocks(), plan.log2_block, cells.data());
  const auto classes = buffers.classes.reserve_as<std::uint8_t>(order.blocks());
  bool any = false;
  for (std::size_t block = 0; block < order.blocks(); ++block) {
    classes[block] = model.class_of_cell(cells[block]);
    any |= classes[block] != 0;
  }

  const int vectors = any ? vector_code(plan.bits * static_cast<double>(count) / 8) : 0;
  SpanWriter writer(output);
  writer.byte(static_cast<std::uint8_t>(plan.axes.x_order | int{plan.axes.y} << 2 |
                                        int{plan.axes.z} << 3 | (plan.log2_block - 4) << 4 |
                                        vectors << 5 | int{plan.wide} << 7));
  writer.byte(plan.shrink);
  writer.number(zigzag64(differences->first));
  write_outliers(field, differences->outliers, writer);
  if (plan.wide) {
    writer.byte(static_cast<std::uint8_t>(differences->shift));
    if (differences->shift > 0) pack_low_bits(differences->wide, differences->shift, writer);
  }
  if (!writer.fits()) return std::nullopt;
  if (!any) return writer.size();
  const auto coded = encode_blocks(d, order, plan.log2_block, std::size_t{1} << (vectors - 1),
                                   classes, writer.rest(), workspace);
  if (!coded) return std::nullopt;
  return writer.size() + *coded;
}

double expected_bits(const LorenzoPlan& plan, std::size_t count) {
  const auto values = static_cast<double>(count);
  const int vectors = 1 << (vector_code(plan.bits * values / 8) - 1);
  return plan.bits + (64 * vectors + 8) * 8 / values;
}

template std::optional<std::size_t> encode_lorenzo(const bounded::Field<float>&, double,
                                                   const LorenzoPlan&, std::span<std::byte>,
                                                   ChunkWorkspace&);
template std::optional<std::size_t> encode_lorenzo(const bounded::Field<double>&, double,
                                                   const LorenzoPlan&, std::span<std::byte>,
                                                   ChunkWorkspace&);

}  // namespace tensorpress::dense
