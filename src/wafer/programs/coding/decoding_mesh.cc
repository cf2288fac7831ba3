// Decompression on the mesh: every PE decodes its blocks with the codec's own block function. Their
// words come in from the west edge, as many for every PE as the longest needs (the vendor's
// memcpy deals equal parts, too), and the values leave there; or both stay in SRAM and a word
// launches the PE. The host cuts the chunk into blocks beforehand and puts the outliers in
// afterwards, as it keeps the container.
#include <algorithm>
#include <bit>
#include <memory>

#include "base/errors.h"
#include "wafer/programs/coding/coded_chunk.h"
#include "wafer/programs/coding/coding_pe.h"

namespace tensorpress::wafer::programs {
namespace {

struct DecodingJob {
  kernels::bitplane::Quantizer<float> quantizer;
  const ceresz2::Codebook* book = nullptr;
  BlockCosts costs;
  Mapping mapping = Mapping::ceresz2;
  MeshIo io = MeshIo::edge;
  std::uint32_t words = 1;  // that come to every PE
  Color in = 0, out = 0;
};

/// A PE's blocks as words: for ceresz the widths, then what the blocks are made of.
std::vector<std::uint32_t> words_of(std::span<const CodedPart> parts, Mapping mapping) {
  std::vector<std::uint32_t> words;
  if (mapping == Mapping::ceresz) {
    for (const CodedPart& part : parts) words.push_back(part.width);
  }
  for (const CodedPart& part : parts) {
    for (std::size_t i = 0; i < part.bytes.size(); i += 4) {
      words.push_back(load_le<std::uint32_t>(part.bytes.data() + i));
    }
  }
  return words;
}

class DecodingPe final : public PeProgram {
 public:
  DecodingPe(const DecodingJob& job, std::span<const CodedPart> parts) : job_(job), parts_(parts) {}

  std::vector<MemoryItem> memory() const override {
    std::size_t coded = 0;
    for (const CodedPart& part : parts_) coded += part.bytes.size() + 1;
    std::vector<MemoryItem> items = {{"code", kCodeBytes},
                                     {"queues and descriptors", kQueueBytes},
                                     {"coded blocks", std::max(coded, std::size_t{4} * job_.words)},
                                     {"blocks", parts_.size() * sizeof(BlockValues)}};
    if (job_.mapping == Mapping::ceresz2) {
      items.push_back({"codebook", kCodebookEntryBytes * job_.book->symbols()});
    }
    return items;
  }
  void start(Pe& pe) override {
    input_.resize(job_.words);
    pe.receive(job_.in, input_, kLoaded);
  }
  void on_task(Pe& pe, Task task) override {
    if (task == kUnload) {
      pe.send(job_.out, output_, true);
      return;
    }
    began_ = pe.now();
    if (job_.io == MeshIo::edge) {
      decode_input();
    } else {
      for (const CodedPart& part : parts_) decode(part);
    }
    pe.spend(cycles_, kDecodeStage);
    pe.finish();
    if (job_.io == MeshIo::sram) return;
    for (const BlockValues& block : values_) {
      for (const float value : block) output_.push_back(std::bit_cast<std::uint32_t>(value));
    }
    if (output_.empty()) output_.push_back(0);  // that it is the next one's turn
    values_ = {};
    pe.activate(kUnload);
  }

  const std::vector<BlockValues>& values() const { return values_; }
  std::size_t block_count() const { return parts_.size(); }
  bool bad() const { return bad_; }
  std::uint64_t began() const { return began_; }
  std::uint64_t cycles() const { return cycles_; }

 private:
  enum : Task { kLoaded, kUnload };

  /// From the words that came, which say themselves where a block ends.
  void decode_input() {
    std::vector<std::byte> bytes(4 * input_.size());
    for (std::size_t i = 0; i < input_.size(); ++i) store_le(bytes.data() + 4 * i, input_[i]);
    std::span<const std::byte> rest = bytes;
    if (job_.mapping == Mapping::ceresz) rest = rest.subspan(4 * parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const auto width = static_cast<std::uint8_t>(input_[i]);
      const std::size_t size =
          job_.mapping == Mapping::ceresz
              ? kernels::bitplane::payload_bytes<float>(width)
              : 4 + (std::size_t{load_le<std::uint32_t>(rest.data())} + 31) / 32 * 4;
      decode({rest.first(size), width});
      rest = rest.subspan(size);
    }
  }
  void decode(const CodedPart& part) {
    BlockValues& values = values_.emplace_back();
    if (job_.mapping == Mapping::ceresz2) {
      ceresz2::CodedBlock<float> block;
      std::ranges::copy(part.bytes, block.bytes.begin());
      bad_ = bad_ || !ceresz2::decode_block<float>(block, job_.quantizer, *job_.book, values);
      cycles_ += job_.costs.decode_ceresz2(static_cast<std::uint32_t>(8 * part.bytes.size()));
      return;
    }
    ceresz::CodedBlock<float> block;
    block.width = part.width;
    block.bytes = part.bytes.size();
    std::ranges::copy(part.bytes, block.payload.begin());
    bad_ = bad_ || !ceresz::decode_block<float>(block, job_.quantizer, values);
    cycles_ += job_.costs.decode_ceresz(part.width == ceresz::kRawBlock ? 0 : part.width);
  }

  const DecodingJob& job_;
  std::span<const CodedPart> parts_;
  std::vector<std::uint32_t> input_, output_;
  std::vector<BlockValues> values_;
  bool bad_ = false;
  std::uint64_t began_ = 0, cycles_ = 0;
};

/// The blocks of the PE with this number.
std::span<const CodedPart> parts_of(const CodedChunk& chunk, std::uint32_t blocks_per_pe,
                                    std::uint64_t number) {
  const auto first = static_cast<std::size_t>(
      std::min<std::uint64_t>(chunk.blocks.size(), number * blocks_per_pe));
  return std::span(chunk.blocks)
      .subspan(first, std::min<std::size_t>(blocks_per_pe, chunk.blocks.size() - first));
}

Result<void> lay_row(Layout& layout, const DecodingJob& job, const MeshLines& lines,
                     const CodedChunk& chunk, std::uint32_t blocks_per_pe, std::uint32_t y) {
  const std::uint32_t width = layout.width();
  RETURN_IF_ERROR(route_dealing(layout, {0, y}, Port::west, width, job.in));
  if (job.io == MeshIo::edge) {
    RETURN_IF_ERROR(route_collecting(layout, {0, y}, Port::west, width, job.out));
  }
  std::vector<std::uint32_t> dealt;
  for (std::uint32_t x = 0; x < width; ++x) {
    const auto parts = parts_of(chunk, blocks_per_pe, lines.number_of({x, y}));
    if (job.io == MeshIo::edge) {
      const auto words = words_of(parts, job.mapping);
      dealt.insert(dealt.end(), words.begin(), words.end());
    }
    dealt.resize(std::size_t{job.words} * (x + 1));
    RETURN_IF_ERROR(layout.place({x, y}, std::make_unique<DecodingPe>(job, parts)));
  }
  return layout.edge_input({.pe = {0, y},
                            .color = job.in,
                            .words = std::move(dealt),
                            .advance_every = job.words,
                            .alone = true});
}

/// The values that left a row, one PE after the other.
Result<void> take_row(const EdgeOutput& row, const MeshLines& lines, const Layout& layout,
                      std::uint32_t blocks_per_pe, std::span<float> values) {
  std::span<const std::uint32_t> rest = row.words;
  for (std::uint32_t x = 0; x < layout.width(); ++x) {
    const auto* const pe = static_cast<const DecodingPe*>(layout.program({x, row.pe.y}));
    const std::size_t words = std::max<std::size_t>(pe->block_count() * kBlockValues, 1);
    if (rest.size() < words) return internal_error("row ", row.pe.y, " ends before PE ", x);
    const std::size_t at = std::min<std::size_t>(
        values.size(), lines.number_of({x, row.pe.y}) * blocks_per_pe * kBlockValues);
    const std::size_t kept = std::min(pe->block_count() * kBlockValues, values.size() - at);
    std::ranges::transform(rest.first(kept), values.begin() + static_cast<std::ptrdiff_t>(at),
                           std::bit_cast<float, std::uint32_t>);
    rest = rest.subspan(words);
  }
  return {};
}

Result<void> put_outliers(const CodedChunk& chunk, std::span<float> values) {
  for (std::size_t i = 0; i < chunk.positions.size(); i += 4) {
    const auto position = load_le<std::uint32_t>(chunk.positions.data() + i);
    if (position >= values.size()) {
      return corrupt("an outlier at ", position, " of ", values.size(), " values");
    }
    values[position] = std::bit_cast<float>(load_le<std::uint32_t>(chunk.values.data() + i));
  }
  return {};
}

}  // namespace

Result<MeshRun> decompress_on_mesh(std::span<const std::byte> payload, std::size_t count,
                                   double bound, const ceresz2::Codebook& book,
                                   const Calibration& calibration, const MeshOptions& options) {
  const bool two = options.mapping == Mapping::ceresz2;
  if (count == 0) return bad_argument("a field without values needs no wafer");
  TRY(const CodedChunk chunk, two ? cut_ceresz2(payload, count) : cut_ceresz(payload, count));
  MeshRun run;
  run.blocks = chunk.blocks.size();
  const MeshExtent mesh = options.shrink ? mesh_for(run.blocks, options.width, options.height)
                                         : MeshExtent{options.width, options.height};
  run.width = mesh.width;
  run.height = mesh.height;
  run.order = options.order.value_or(choose_order(run.width, run.height));
  const MeshLines lines = number_blocks(run.width, run.height, run.order);
  TRY(Layout layout, Layout::make(run.width, run.height));
  const std::uint64_t places = layout.pe_count();
  run.blocks_per_pe = static_cast<std::uint32_t>((run.blocks + places - 1) / places);
  DecodingJob job{.quantizer = kernels::bitplane::make_quantizer<float>(bound, chunk.slack),
                  .book = &book,
                  .costs = BlockCosts(calibration, options.uniform_cost, options.transpose),
                  .mapping = two ? Mapping::ceresz2 : Mapping::ceresz,
                  .io = options.io};
  const bool edge = job.io == MeshIo::edge;
  for (std::uint64_t i = 0; edge && i < places; ++i) {
    const auto words = words_of(parts_of(chunk, run.blocks_per_pe, i), job.mapping);
    job.words = std::max(job.words, static_cast<std::uint32_t>(words.size()));
  }
  RETURN_IF_ERROR(layout.stage_name(kDecodeStage, "decoding"));
  TRY(job.in, layout.new_color("words in"));
  TRY(job.out, layout.new_color("words out"));
  if (edge) RETURN_IF_ERROR(layout.edge_output(job.out, true));
  for (std::uint32_t y = 0; y < run.height; ++y) {
    RETURN_IF_ERROR(lay_row(layout, job, lines, chunk, run.blocks_per_pe, y));
  }
  run.sram_bytes = layout.largest_memory();
  run.colors = static_cast<unsigned>(std::popcount(layout.used_colors()));
  TRY(run.report, wafer::run(layout, options.run));
  if (options.inspect) options.inspect(layout, run.report);
  run.values.resize(count);
  std::uint64_t began = UINT64_MAX;
  for (std::uint32_t y = 0; y < run.height; ++y) {
    for (std::uint32_t x = 0; x < run.width; ++x) {
      const auto* const pe = static_cast<const DecodingPe*>(layout.program({x, y}));
      if (pe->bad()) return corrupt("a block of PE (", x, ", ", y, ") is not a block of 32 values");
      std::size_t at =
          static_cast<std::size_t>(lines.number_of({x, y})) * run.blocks_per_pe * kBlockValues;
      for (const BlockValues& block : pe->values()) {
        std::copy_n(block.begin(), std::min(kBlockValues, count - at), run.values.data() + at);
        at += kBlockValues;
      }
      run.pe_cycles.push_back(static_cast<std::uint32_t>(pe->cycles()));
      run.coding_cycles = std::max(run.coding_cycles, pe->cycles());
      began = std::min(began, pe->began());
    }
  }
  for (const EdgeOutput& row : run.report.edge_outputs) {
    RETURN_IF_ERROR(take_row(row, lines, layout, run.blocks_per_pe, run.values));
  }
  RETURN_IF_ERROR(put_outliers(chunk, run.values));
  run.kernel_cycles = run.report.last_finish - began;
  run.cycles = run.report.cycles;
  return run;
}

}  // namespace tensorpress::wafer::programs
