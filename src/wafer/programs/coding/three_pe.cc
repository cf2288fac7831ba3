#include "wafer/programs/coding/three_pe.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/errors.h"
#include "wafer/engine/run.h"
#include "wafer/programs/coding/assembly.h"

namespace tensorpress::wafer::programs {
namespace {

enum : Task { kLaunched, kNext, kUnload };

constexpr std::size_t kPassed = 2 + kBlockValues;  // width or flag, whether it holds, the block

/// One of the three, by `part`: 0 quantizes, 1 predicts, 2 makes planes.
class PipelinePe final : public PeProgram {
 public:
  PipelinePe(const CodingJob& job, std::uint32_t part, std::uint64_t first, std::uint32_t count)
      : job_(job), part_(part), first_(first), count_(count), words_(kPassed), out_(kPassed) {}

  std::vector<MemoryItem> memory() const override {
    return {{"code", kCodeBytes / 3},
            {"queues and descriptors", kQueueBytes},
            {"a block in and a block out", 2 * 4 * kPassed},
            {"blocks", part_ == 1 ? 0 : std::size_t{count_} * 4 * (kBlockValues + 1)}};
  }
  void start(Pe& pe) override {
    if (part_ > 0) return await(pe);
    input_.resize(job_.dealt_words());
    pe.receive(job_.in, input_, kLaunched);
  }
  void on_task(Pe& pe, Task task) override {
    if (task == kLaunched) began_ = pe.now();
    if (task == kUnload) return unload(pe);
    part_ == 0 ? quantize(pe) : part_ == 1 ? predict(pe) : encode(pe);
  }

  PeOutput output() const { return {0, planes_, widths_}; }
  std::uint64_t began() const { return began_; }
  std::uint64_t ended() const { return ended_; }
  std::uint32_t cycles() const { return cycles_; }

 private:
  void await(Pe& pe) {
    if (done_ < count_) pe.receive(job_.stages.in(part_), words_, kNext);
  }
  void work(Pe& pe, std::uint64_t cycles, Stage stage) {
    pe.spend(cycles, stage);
    cycles_ += static_cast<std::uint32_t>(cycles);
    ended_ = pe.now();
    pe.finish();
  }
  void pass_on(Pe& pe) {
    // The next block waits for this one to have left its buffer.
    pe.send(job_.stages.out(part_), out_, false, kNext);
  }
  void quantize(Pe& pe) {
    if (done_ == count_) return;
    const BlockValues values = block(done_++);
    ceresz::Block<float> quanta;
    const bool holds = ceresz::quantize_block(values.data(), job_.quantizer, quanta);
    out_[1] = holds ? 1 : 0;
    for (std::size_t i = 0; i < kBlockValues; ++i) {
      out_[2 + i] = holds ? quanta[i] : std::bit_cast<std::uint32_t>(values[i]);
    }
    work(pe, job_.costs.ceresz(0).total() / 2, kQuantizeStage);
    pass_on(pe);
  }
  void predict(Pe& pe) {
    if (sending_) {  // the send is done
      sending_ = false;
      await(pe);
      return;
    }
    ++done_;
    out_ = words_;
    std::uint64_t cycles = 1;
    if (words_[1] != 0) {
      ceresz::Block<float> block;
      std::copy_n(words_.begin() + 2, kBlockValues, block.begin());
      ceresz::predict_block(block);
      for (auto& code : block) code = ceresz::zigzag(code);
      out_[0] = static_cast<std::uint32_t>(ceresz::width_of_block(block));
      std::ranges::copy(block, out_.begin() + 2);
      const std::uint64_t fixed = job_.costs.ceresz(0).total();
      cycles = fixed - fixed / 2;  // with sign and maximum
    }
    work(pe, cycles, kPredictStage);
    sending_ = true;
    pass_on(pe);
  }
  void encode(Pe& pe) {
    ++done_;
    std::uint64_t cycles = kBlockValues;
    if (words_[1] != 0) {
      ceresz::Block<float> block;
      std::copy_n(words_.begin() + 2, kBlockValues, block.begin());
      const auto width = words_[0];
      const std::size_t at = planes_.size();
      planes_.resize(at + width);
      ceresz::planes_of_block(block, static_cast<int>(width), planes_.data() + at);
      widths_.push_back(width);
      cycles = job_.costs.ceresz(width).total() - job_.costs.ceresz(0).total();
    } else {
      planes_.insert(planes_.end(), words_.begin() + 2, words_.end());
      widths_.push_back(ceresz::kRawBlock);
    }
    work(pe, cycles, kEncodeStage);
    await(pe);
    if (done_ == count_ && job_.io == MeshIo::edge) pe.activate(kUnload);
  }
  void unload(Pe& pe) {
    out_ = {0, static_cast<std::uint32_t>(planes_.size()),
            static_cast<std::uint32_t>(widths_.size())};
    out_.insert(out_.end(), planes_.begin(), planes_.end());
    out_.insert(out_.end(), widths_.begin(), widths_.end());
    pe.send(job_.out, out_, true);
  }
  BlockValues block(std::uint32_t i) const {
    if (job_.io == MeshIo::sram) return job_.block(first_ + i);
    BlockValues values;
    const auto begin =
        input_.begin() + std::ptrdiff_t{i} * static_cast<std::ptrdiff_t>(kBlockValues);
    std::transform(begin, begin + kBlockValues, values.begin(),
                   std::bit_cast<float, std::uint32_t>);
    return values;
  }

  const CodingJob& job_;
  std::uint32_t part_;
  std::uint64_t first_;
  std::uint32_t count_;
  std::uint32_t done_ = 0;
  bool sending_ = false;
  std::vector<std::uint32_t> input_, words_, out_;
  std::vector<std::uint32_t> planes_, widths_;
  std::uint64_t began_ = 0, ended_ = 0;
  std::uint32_t cycles_ = 0;
};

constexpr std::uint32_t kParts = 3;

/// Pipelines of a row that have blocks: the first ones.
std::uint32_t busy_pipelines(const CodingJob& job, std::uint32_t width, std::uint32_t height,
                             std::uint32_t y) {
  const std::uint64_t needed = (job.blocks + job.blocks_per_pe - 1) / job.blocks_per_pe;
  const std::uint64_t in_row = needed > y ? (needed - y + height - 1) / height : 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(in_row, width / kParts));
}

/// Those of a row, the n-th of which has the blocks of place n * height + y.
Result<void> lay_row(Layout& layout, const CodingJob& job, std::uint32_t y,
                     std::uint32_t pipelines) {
  if (pipelines == 0) return {};
  RETURN_IF_ERROR(route_dealing(layout, {0, y}, Port::west, pipelines * kParts, job.in,
                                {.first = kParts - 1, .every = kParts}));
  if (job.io == MeshIo::edge) {
    // From the east edge inwards: the routers of idle PEs, then the last pipeline's third PE.
    const std::size_t beyond = layout.width() - pipelines * kParts;
    RETURN_IF_ERROR(route_collecting(layout, {layout.width() - 1, y}, Port::east, layout.width(),
                                     job.out, {.first = beyond + kParts - 1, .every = kParts}));
  }
  std::vector<std::uint32_t> words;
  for (std::uint32_t n = 0; n < pipelines; ++n) {
    const std::uint64_t first = (std::uint64_t{n} * layout.height() + y) * job.blocks_per_pe;
    const auto count =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(job.blocks_per_pe, job.blocks - first));
    job.deal(first, words);
    const PeAt head{n * kParts + kParts - 1, y};
    RETURN_IF_ERROR(route_chain(layout, head, Port::west, kParts, job.stages));
    for (std::uint32_t part = 0; part < kParts; ++part) {
      RETURN_IF_ERROR(layout.place(step(head, Port::west, part),
                                   std::make_unique<PipelinePe>(job, part, first, count)));
    }
  }
  return layout.edge_input({.pe = {0, y},
                            .color = job.in,
                            .words = std::move(words),
                            .advance_every = job.dealt_words(),
                            .alone = true});
}

}  // namespace

Result<std::optional<MeshRun>> compress_in_threes(CodingJob& job, const MeshOptions& options,
                                                  const RunOptions& run_options, MeshRun run) {
  TRY(Layout layout, Layout::make(run.width, run.height));
  TRY(job.in, layout.new_color("words in"));
  TRY(job.out, layout.new_color("words out"));
  TRY(job.stages, new_chain_colors(layout, "pipeline"));
  RETURN_IF_ERROR(layout.stage_name(kQuantizeStage, "prequantization"));
  RETURN_IF_ERROR(layout.stage_name(kPredictStage, "Lorenzo prediction"));
  RETURN_IF_ERROR(layout.stage_name(kEncodeStage, "encoding"));
  const bool edge = job.io == MeshIo::edge;
  if (edge) RETURN_IF_ERROR(layout.edge_output(job.out, true));
  const auto busy = [&](std::uint32_t y) { return busy_pipelines(job, run.width, run.height, y); };
  for (std::uint32_t y = 0; y < run.height; ++y) {
    RETURN_IF_ERROR(lay_row(layout, job, y, busy(y)));
  }
  run.sram_bytes = layout.largest_memory();
  run.colors = static_cast<unsigned>(std::popcount(layout.used_colors()));
  TRY(std::optional<Report> report, engine::run_if_alone(layout, run_options));
  if (!report) return std::optional<MeshRun>();
  run.report = *std::move(report);
  if (options.inspect) options.inspect(layout, run.report);

  Assembly assembly(std::uint64_t{run.width / kParts} * run.height);
  for (const EdgeOutput& row : run.report.edge_outputs) {
    std::vector<std::uint64_t> numbers;  // the last pipeline is next to the edge
    for (std::uint32_t n = busy(row.pe.y); n-- > 0;) {
      numbers.push_back(std::uint64_t{n} * run.height + row.pe.y);
    }
    RETURN_IF_ERROR(assembly.cut(row, numbers));
  }
  std::uint64_t began = UINT64_MAX, ended = 0;
  for (std::uint32_t y = 0; y < run.height; ++y) {
    for (std::uint32_t x = 0; x < run.width; ++x) {
      const auto* const pe = static_cast<const PipelinePe*>(layout.program({x, y}));
      run.pe_cycles.push_back(pe == nullptr ? 0 : pe->cycles());
      if (pe == nullptr) continue;
      run.coding_cycles = std::max<std::uint64_t>(run.coding_cycles, pe->cycles());
      if (pe->began() > 0) began = std::min(began, pe->began());
      ended = std::max(ended, pe->ended());
      if (!edge && x % kParts == 0) {
        assembly.add(std::uint64_t{x / kParts} * run.height + y, pe->output());
      }
    }
  }
  run.payload = assembly.ceresz(job.slack);
  run.kernel_cycles = ended - began;
  run.cycles = run.report.cycles;
  return std::optional(std::move(run));
}

}  // namespace tensorpress::wafer::programs
