#include "wafer/programs/offsets.h"

#include <algorithm>
#include <memory>

#include "base/errors.h"

namespace tensorpress::wafer::programs {
namespace {

enum : Task { kLaunched, kFirstOffsetTask };

class OffsetsPe final : public PeProgram {
 public:
  OffsetsPe(const OffsetPlan& plan, Color launch) : plan_(plan), launch_(launch) {}

  std::vector<MemoryItem> memory() const override {
    return {{"code", 1024}, {"length, sum and offset", 12}, {"timestamps", 16}};
  }
  void start(Pe& pe) override { pe.receive(launch_, std::span(&length_, 1), kLaunched); }
  void on_task(Pe& pe, Task task) override {
    if (task == kLaunched) {
      begin_ = pe.timestamp();
      stages_.begin(pe, plan_, length_);
    } else if (stages_.on_task(pe, plan_, task)) {
      end_ = pe.timestamp();
      pe.finish();
    }
  }

  std::uint64_t cycles() const { return end_ - begin_; }
  const OffsetStages& stages() const { return stages_; }

 private:
  const OffsetPlan& plan_;
  Color launch_;
  std::uint32_t length_ = 0;
  OffsetStages stages_;
  std::uint64_t begin_ = 0, end_ = 0;
};

}  // namespace

Result<OffsetsRun> run_offsets(std::uint32_t width, std::uint32_t height,
                               std::optional<OffsetOrder> order,
                               std::span<const std::uint32_t> lengths, const RunOptions& options) {
  TRY(Layout layout, Layout::make(width, height));
  OffsetsRun run;
  run.order = order.value_or(choose_order(width, height));
  if (lengths.size() > layout.pe_count()) {
    return bad_argument(lengths.size(), " lengths for ", layout.pe_count(), " PEs");
  }
  TRY(const Color launch, layout.new_color("launch"));
  TRY(const OffsetPlan plan, plan_offsets(layout, run.order, kFirstOffsetTask, 0));
  RETURN_IF_ERROR(layout.stage_name(0, "offsets"));
  for (std::uint32_t y = 0; y < height; ++y) {
    EdgeInput input{.pe = {0, y}, .color = launch, .words = {}, .advance_every = 1, .alone = true};
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint64_t number = plan.number_of({x, y});
      input.words.push_back(number < lengths.size() ? lengths[number] : 0);
      RETURN_IF_ERROR(layout.place({x, y}, std::make_unique<OffsetsPe>(plan, launch)));
    }
    RETURN_IF_ERROR(route_dealing(layout, {0, y}, Port::west, width, launch));
    RETURN_IF_ERROR(layout.edge_input(std::move(input)));
  }
  TRY(run.report, wafer::run(layout, options));
  const auto program = [&](PeAt pe) { return static_cast<const OffsetsPe*>(layout.program(pe)); };
  run.origin_cycles = program({0, 0})->cycles();
  // The first PE is launched after a hop and the ramp; its task begins then.
  const std::uint64_t launched = options.machine.hop + options.machine.ramp;
  run.makespan_cycles = run.report.last_finish - launched;
  run.offsets.resize(layout.pe_count());
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const OffsetStages& stages = program({x, y})->stages();
      run.offsets[plan.number_of({x, y})] = stages.offset();
      run.total += stages.length();
    }
  }
  return run;
}

}  // namespace tensorpress::wafer::programs
