// Decompression on the mesh: every PE has the words of its blocks in its SRAM, is launched, and
// decodes them with the codec's own block function. The host cuts the chunk into blocks beforehand
// and puts the outliers in afterwards, as it keeps the container.
#include <algorithm>
#include <bit>
#include <memory>

#include "base/errors.h"
#include "wafer/programs/coding_pe.h"

namespace tensorpress::wafer::programs {
namespace {

/// A block's bytes, without the width of ceresz.
struct CodedPart {
  std::span<const std::byte> bytes;
  std::uint8_t width = 0;
};

struct Chunk {
  unsigned slack = 0;
  std::vector<CodedPart> blocks;
  std::span<const std::byte> positions, values;  // of the outliers
};

Result<Chunk> cut_ceresz2(std::span<const std::byte> payload, std::size_t count) {
  Chunk chunk;
  if (payload.size() < 8) return truncated("ceresz2: the chunk ends in its first 8 bytes");
  const auto head = load_le<std::uint64_t>(payload.data());
  chunk.slack = static_cast<unsigned>(head & 0xFF);
  const std::uint64_t outliers = head >> 16;
  if ((head >> 8 & 0xFF) != 32 || chunk.slack >= kernels::bitplane::kSlacks ||
      outliers > (payload.size() - 8) / 8) {
    return corrupt("ceresz2: the head ", hex(head), " of the chunk is not one of f32");
  }
  std::size_t at = 8;
  const std::size_t end = payload.size() - static_cast<std::size_t>(outliers) * 8;
  const std::size_t blocks = (count + kBlockValues - 1) / kBlockValues;
  for (std::size_t i = 0; i < blocks; ++i) {
    if (end - at < 4) return truncated("ceresz2: the chunk ends before block ", i);
    const auto bits = load_le<std::uint32_t>(payload.data() + at);
    const std::size_t bytes = 4 + (std::size_t{bits} + 31) / 32 * 4;
    if (bits > kernels::huffman::kMaxBlockBits<float> || bytes > end - at) {
      return corrupt("ceresz2: block ", i, " claims ", bits, " bits");
    }
    chunk.blocks.push_back({payload.subspan(at, bytes), 0});
    at += bytes;
  }
  if (at != end) return corrupt("ceresz2: ", end - at, " bytes follow the last block");
  chunk.positions = payload.subspan(end, static_cast<std::size_t>(outliers) * 4);
  chunk.values = payload.subspan(end + chunk.positions.size());
  return chunk;
}

Result<Chunk> cut_ceresz(std::span<const std::byte> payload, std::size_t count) {
  Chunk chunk;
  const std::size_t blocks = (count + kBlockValues - 1) / kBlockValues;
  if (payload.size() < 1 + blocks) return truncated("ceresz: the chunk ends in its widths");
  chunk.slack = static_cast<unsigned>(payload[0]);
  if (chunk.slack >= kernels::bitplane::kSlacks) return corrupt("ceresz: no slack ", chunk.slack);
  std::size_t at = 1 + blocks;
  for (std::size_t i = 0; i < blocks; ++i) {
    const auto width = static_cast<std::uint8_t>(payload[1 + i]);
    const std::size_t bytes = kernels::bitplane::payload_bytes<float>(width);
    if (!kernels::bitplane::is_width<float>(width) || bytes > payload.size() - at) {
      return corrupt("ceresz: block ", i, " claims ", unsigned{width}, " planes");
    }
    chunk.blocks.push_back({payload.subspan(at, bytes), width});
    at += bytes;
  }
  return chunk;
}

struct DecodingPlan {
  kernels::bitplane::Quantizer<float> quantizer;
  const ceresz2::Codebook* book = nullptr;
  BlockCosts costs;
  Mapping mapping = Mapping::ceresz2;
  Color launch = 0;
};

class DecodingPe final : public PeProgram {
 public:
  DecodingPe(const DecodingPlan& plan, std::span<const CodedPart> parts)
      : plan_(plan), parts_(parts) {}

  std::vector<MemoryItem> memory() const override {
    std::size_t coded = 0;
    for (const CodedPart& part : parts_) coded += part.bytes.size() + 1;
    std::vector<MemoryItem> items = {{"code", kCodeBytes},
                                     {"queues and descriptors", kQueueBytes},
                                     {"coded blocks", coded},
                                     {"blocks", parts_.size() * sizeof(BlockValues)}};
    if (plan_.mapping == Mapping::ceresz2) {
      items.push_back({"codebook", kCodebookEntryBytes * plan_.book->symbols()});
    }
    return items;
  }
  void start(Pe& pe) override { pe.receive(plan_.launch, std::span(&word_, 1), 0); }
  void on_task(Pe& pe, Task) override {
    began_ = pe.now();
    for (const CodedPart& part : parts_) cycles_ += decode(part);
    pe.spend(cycles_, kDecodeStage);
    pe.finish();
  }

  const std::vector<BlockValues>& values() const { return values_; }
  bool bad() const { return bad_; }
  std::uint64_t began() const { return began_; }
  std::uint64_t cycles() const { return cycles_; }

 private:
  std::uint64_t decode(const CodedPart& part) {
    BlockValues& values = values_.emplace_back();
    if (plan_.mapping == Mapping::ceresz2) {
      ceresz2::CodedBlock<float> block;
      std::ranges::copy(part.bytes, block.bytes.begin());
      bad_ = bad_ || !ceresz2::decode_block<float>(block, plan_.quantizer, *plan_.book, values);
      return plan_.costs.decode_ceresz2(static_cast<std::uint32_t>(8 * part.bytes.size()));
    }
    ceresz::CodedBlock<float> block;
    block.width = part.width;
    block.bytes = part.bytes.size();
    std::ranges::copy(part.bytes, block.payload.begin());
    bad_ = bad_ || !ceresz::decode_block<float>(block, plan_.quantizer, values);
    return plan_.costs.decode_ceresz(part.width == ceresz::kRawBlock ? 0 : part.width);
  }

  const DecodingPlan& plan_;
  std::span<const CodedPart> parts_;
  std::uint32_t word_ = 0;
  std::vector<BlockValues> values_;
  bool bad_ = false;
  std::uint64_t began_ = 0, cycles_ = 0;
};

}  // namespace

Result<MeshRun> decompress_on_mesh(std::span<const std::byte> payload, std::size_t count,
                                   double bound, const ceresz2::Codebook& book,
                                   const Calibration& calibration, const MeshOptions& options) {
  const bool two = options.mapping == Mapping::ceresz2;
  if (count == 0) return bad_argument("a field without values needs no wafer");
  TRY(const Chunk chunk, two ? cut_ceresz2(payload, count) : cut_ceresz(payload, count));
  MeshRun run;
  run.blocks = chunk.blocks.size();
  const MeshSize2 mesh = options.shrink ? mesh_for(run.blocks, options.width, options.height)
                                        : MeshSize2{options.width, options.height};
  run.width = mesh.width;
  run.height = mesh.height;
  run.order = options.order.value_or(choose_order(run.width, run.height));
  const OffsetPlan numbering = number_blocks(run.width, run.height, run.order);
  TRY(Layout layout, Layout::make(run.width, run.height));
  const std::uint64_t places = layout.pe_count();
  run.blocks_per_pe = static_cast<std::uint32_t>((run.blocks + places - 1) / places);
  DecodingPlan plan{.quantizer = kernels::bitplane::make_quantizer<float>(bound, chunk.slack),
                    .book = &book,
                    .costs = BlockCosts(calibration, options.uniform_cost, options.transpose),
                    .mapping = two ? Mapping::ceresz2 : Mapping::ceresz};
  RETURN_IF_ERROR(layout.stage_name(kDecodeStage, "decoding"));
  TRY(plan.launch, layout.new_color("launch"));
  for (std::uint32_t y = 0; y < run.height; ++y) {
    RETURN_IF_ERROR(route_dealing(layout, {0, y}, Port::west, run.width, plan.launch));
    RETURN_IF_ERROR(layout.edge_input({.pe = {0, y},
                                       .color = plan.launch,
                                       .words = std::vector<std::uint32_t>(run.width, 1),
                                       .advance_every = 1,
                                       .alone = true}));
    for (std::uint32_t x = 0; x < run.width; ++x) {
      const std::uint64_t first =
          std::min(run.blocks, numbering.number_of({x, y}) * run.blocks_per_pe);
      const auto parts = std::span(chunk.blocks)
                             .subspan(static_cast<std::size_t>(first),
                                      static_cast<std::size_t>(std::min<std::uint64_t>(
                                          run.blocks_per_pe, run.blocks - first)));
      RETURN_IF_ERROR(layout.place({x, y}, std::make_unique<DecodingPe>(plan, parts)));
    }
  }
  run.sram_bytes = layout.largest_memory();
  run.colors = static_cast<unsigned>(std::popcount(layout.used_colors()));
  TRY(run.report, wafer::run(layout, options.run));
  run.values.resize(count);
  std::uint64_t began = UINT64_MAX;
  for (std::uint32_t y = 0; y < run.height; ++y) {
    for (std::uint32_t x = 0; x < run.width; ++x) {
      const auto* const pe = static_cast<const DecodingPe*>(layout.program({x, y}));
      if (pe->bad()) return corrupt("a block of PE (", x, ", ", y, ") is no block of 32 values");
      std::size_t at =
          static_cast<std::size_t>(numbering.number_of({x, y})) * run.blocks_per_pe * kBlockValues;
      for (const BlockValues& block : pe->values()) {
        std::copy_n(block.begin(), std::min(kBlockValues, count - at), run.values.data() + at);
        at += kBlockValues;
      }
      run.pe_cycles.push_back(static_cast<std::uint32_t>(pe->cycles()));
      run.coding_cycles = std::max(run.coding_cycles, pe->cycles());
      began = std::min(began, pe->began());
    }
  }
  for (std::size_t i = 0; i < chunk.positions.size(); i += 4) {
    const auto position = load_le<std::uint32_t>(chunk.positions.data() + i);
    if (position >= count) return corrupt("an outlier at ", position, " of ", count, " values");
    run.values[position] = std::bit_cast<float>(load_le<std::uint32_t>(chunk.values.data() + i));
  }
  run.kernel_cycles = run.report.last_finish - began;
  run.cycles = run.report.cycles;
  return run;
}

}  // namespace tensorpress::wafer::programs
