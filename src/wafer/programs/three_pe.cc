#include "wafer/programs/three_pe.h"

#include <algorithm>
#include <bit>
#include <memory>

#include "base/errors.h"

namespace tensorpress::wafer::programs {
namespace {

enum : Task { kLaunched, kNext };

constexpr std::size_t kPassed = 2 + kBlockValues;  // width or flag, whether it holds, the block

/// One of the three, by `part`: 0 quantizes, 1 predicts, 2 makes planes.
class PipelinePe final : public PeProgram {
 public:
  PipelinePe(const CodingPlan& plan, std::uint32_t part, std::uint64_t first, std::uint32_t count)
      : plan_(plan), part_(part), first_(first), count_(count), words_(kPassed), out_(kPassed) {}

  std::vector<MemoryItem> memory() const override {
    return {{"code", kCodeBytes / 3},
            {"queues and descriptors", kQueueBytes},
            {"a block in and a block out", 2 * 4 * kPassed},
            {"blocks", part_ == 1 ? 0 : std::size_t{count_} * 4 * (kBlockValues + 1)}};
  }
  void start(Pe& pe) override { pe.receive(plan_.in, std::span(&launch_, 1), kLaunched); }
  void on_task(Pe& pe, Task task) override {
    if (task == kLaunched) began_ = pe.now();
    if (part_ == 0) {
      quantize(pe);
    } else if (task == kLaunched) {
      await(pe);
    } else {
      part_ == 1 ? predict(pe) : encode(pe);
    }
  }

  PeOutput output() const { return {0, planes_, widths_}; }
  std::uint64_t began() const { return began_; }
  std::uint64_t ended() const { return ended_; }
  std::uint32_t cycles() const { return cycles_; }

 private:
  void await(Pe& pe) {
    if (done_ < count_) pe.receive(plan_.stages.in(part_), words_, kNext);
  }
  void work(Pe& pe, std::uint64_t cycles, Stage stage) {
    pe.spend(cycles, stage);
    cycles_ += static_cast<std::uint32_t>(cycles);
    ended_ = pe.now();
    pe.finish();
  }
  void pass_on(Pe& pe) {
    // The next block waits for this one to have left its buffer.
    pe.send(plan_.stages.out(part_), out_, false, kNext);
  }
  void quantize(Pe& pe) {
    if (done_ == count_) return;
    const BlockValues values = plan_.block(first_ + done_++);
    ceresz::Block<float> quanta;
    const bool holds = ceresz::quantize_block(values.data(), plan_.quantizer, quanta);
    out_[1] = holds ? 1 : 0;
    for (std::size_t i = 0; i < kBlockValues; ++i) {
      out_[2 + i] = holds ? quanta[i] : std::bit_cast<std::uint32_t>(values[i]);
    }
    work(pe, plan_.costs.ceresz(0).total() / 2, kQuantizeStage);
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
      const std::uint64_t fixed = plan_.costs.ceresz(0).total();
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
      cycles = plan_.costs.ceresz(width).total() - plan_.costs.ceresz(0).total();
    } else {
      planes_.insert(planes_.end(), words_.begin() + 2, words_.end());
      widths_.push_back(ceresz::kRawBlock);
    }
    work(pe, cycles, kEncodeStage);
    await(pe);
  }

  const CodingPlan& plan_;
  std::uint32_t part_;
  std::uint64_t first_;
  std::uint32_t count_;
  std::uint32_t done_ = 0;
  std::uint32_t launch_ = 0;
  bool sending_ = false;
  std::vector<std::uint32_t> words_, out_;
  std::vector<std::uint32_t> planes_, widths_;
  std::uint64_t began_ = 0, ended_ = 0;
  std::uint32_t cycles_ = 0;
};

}  // namespace

Result<void> compress_in_threes(CodingPlan& plan, const MeshOptions& options, MeshRun& run) {
  TRY(Layout layout, Layout::make(run.width, run.height));
  plan.io = MeshIo::sram;
  TRY(plan.in, layout.new_color("launch"));
  TRY(plan.stages, new_chain_colors(layout, "pipeline"));
  RETURN_IF_ERROR(layout.stage_name(kQuantizeStage, "prequantization"));
  RETURN_IF_ERROR(layout.stage_name(kPredictStage, "Lorenzo prediction"));
  RETURN_IF_ERROR(layout.stage_name(kEncodeStage, "encoding"));
  for (std::uint32_t y = 0; y < run.height; ++y) {
    RETURN_IF_ERROR(route_dealing(layout, {0, y}, Port::west, run.width, plan.in));
    RETURN_IF_ERROR(layout.edge_input({.pe = {0, y},
                                       .color = plan.in,
                                       .words = std::vector<std::uint32_t>(run.width, 1),
                                       .advance_every = 1}));
    for (std::uint32_t x = 0; x < run.width; x += 3) {
      const std::uint64_t number = std::uint64_t{x / 3} * run.height + y;
      const std::uint64_t first = std::min(plan.blocks, number * plan.blocks_per_pe);
      const auto count = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(plan.blocks_per_pe, plan.blocks - first));
      RETURN_IF_ERROR(route_chain(layout, {x, y}, Port::east, 3, plan.stages));
      for (std::uint32_t part = 0; part < 3; ++part) {
        RETURN_IF_ERROR(
            layout.place({x + part, y}, std::make_unique<PipelinePe>(plan, part, first, count)));
      }
    }
  }
  run.sram_bytes = layout.largest_memory();
  run.colors = static_cast<unsigned>(std::popcount(layout.used_colors()));
  TRY(run.report, wafer::run(layout, options.run));
  if (options.inspect) options.inspect(layout, run.report);
  std::uint64_t began = UINT64_MAX, ended = 0;
  run.payload = {static_cast<std::byte>(plan.slack)};
  std::vector<std::uint32_t> planes;
  for (std::uint32_t x = 0; x < run.width; x += 3) {
    for (std::uint32_t y = 0; y < run.height; ++y) {
      const auto* const last = static_cast<const PipelinePe*>(layout.program({x + 2, y}));
      for (const std::uint32_t width : last->output().further) {
        run.payload.push_back(static_cast<std::byte>(width));
      }
      planes.insert(planes.end(), last->output().words.begin(), last->output().words.end());
    }
  }
  for (const std::uint32_t word : planes) {
    const std::size_t at = run.payload.size();
    run.payload.resize(at + 4);
    store_le(run.payload.data() + at, word);
  }
  for (std::uint32_t y = 0; y < run.height; ++y) {
    for (std::uint32_t x = 0; x < run.width; ++x) {
      const auto* const pe = static_cast<const PipelinePe*>(layout.program({x, y}));
      run.pe_cycles.push_back(pe->cycles());
      run.coding_cycles = std::max<std::uint64_t>(run.coding_cycles, pe->cycles());
      if (pe->cycles() == 0) continue;
      began = std::min(began, pe->began());
      ended = std::max(ended, pe->ended());
    }
  }
  run.kernel_cycles = ended - began;
  run.cycles = run.report.cycles;
  return {};
}

}  // namespace tensorpress::wafer::programs
