#include "wafer/programs/offsets/offsets.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/errors.h"
#include "wafer/programs/offsets/look_back.h"
#include "wafer/programs/trains_if_alone.h"

namespace tensorpress::wafer::programs {
namespace {

enum : Task { kLaunched, kFirstOffsetTask };

class OffsetsPe final : public PeProgram {
 public:
  OffsetsPe(const MeshLines& lines, OffsetsBy by, Color launch, PeAt at)
      : lines_(lines),
        by_(by),
        launch_(launch),
        listens_(by == OffsetsBy::look_back ? LookBack::listens(lines, at) : 0) {}

  std::vector<MemoryItem> memory() const override {
    return {{"code", 1024}, {"length, sum and offset", 12}, {"timestamps", 16}};
  }
  void start(Pe& pe) override { pe.receive(launch_, std::span(&length_, 1), kLaunched); }
  void on_task(Pe& pe, Task task) override {
    if (task == kLaunched) {
      begin_ = pe.timestamp();
      if (by_ == OffsetsBy::mesh) {
        stages_.begin(pe, lines_, length_);
      } else if (look_back_.begin(pe, lines_, length_)) {
        end(pe);
      }
    } else if (stages_.on_task(pe, lines_, task)) {
      end(pe);
    }
  }
  std::uint32_t data_tasks() const override { return listens_; }
  void on_wavelet(Pe& pe, Color, std::uint32_t state) override {
    if (look_back_.on_wavelet(pe, lines_, state)) end(pe);
  }

  std::uint64_t cycles() const { return end_ - begin_; }
  std::uint32_t length() const { return length_; }
  std::uint32_t offset() const {
    return by_ == OffsetsBy::mesh ? stages_.offset() : look_back_.offset();
  }

 private:
  void end(Pe& pe) {
    end_ = pe.timestamp();
    pe.finish();
  }

  const MeshLines& lines_;
  OffsetsBy by_;
  Color launch_;
  std::uint32_t listens_;
  std::uint32_t length_ = 0;
  OffsetStages stages_;
  LookBack look_back_;
  std::uint64_t begin_ = 0, end_ = 0;
};

Result<std::optional<OffsetsRun>> run_once(std::uint32_t width, std::uint32_t height,
                                           std::span<const std::uint32_t> lengths,
                                           const OffsetsOptions& options,
                                           const RunOptions& run_options) {
  TRY(Layout layout, Layout::make(width, height));
  OffsetsRun run;
  run.order = options.order.value_or(choose_order(width, height));
  if (lengths.size() > layout.pe_count()) {
    return bad_argument(lengths.size(), " lengths for ", layout.pe_count(), " PEs");
  }
  TRY(const Color launch, layout.new_color("launch"));
  const bool looks_back = options.by == OffsetsBy::look_back;
  if (looks_back &&
      std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{0}) >= kLookBackLengths) {
    return too_large("look-back adds up lengths below ", kLookBackLengths, " in all");
  }
  TRY(const MeshLines lines, looks_back ? route_look_back(layout, run.order, 0)
                                        : route_offsets(layout, run.order, kFirstOffsetTask, 0));
  RETURN_IF_ERROR(layout.stage_name(0, "offsets"));
  for (std::uint32_t y = 0; y < height; ++y) {
    EdgeInput input{.pe = {0, y}, .color = launch, .words = {}, .advance_every = 1, .alone = true};
    for (std::uint32_t x = 0; x < width; ++x) {
      const std::uint64_t number = lines.number_of({x, y});
      input.words.push_back(number < lengths.size() ? lengths[number] : 0);
      RETURN_IF_ERROR(
          layout.place({x, y}, std::make_unique<OffsetsPe>(lines, options.by, launch, PeAt{x, y})));
    }
    RETURN_IF_ERROR(route_dealing(layout, {0, y}, Port::west, width, launch));
    RETURN_IF_ERROR(layout.edge_input(std::move(input)));
  }
  TRY(std::optional<Report> report, engine::run_if_alone(layout, run_options));
  if (!report) return std::optional<OffsetsRun>();
  run.report = *std::move(report);
  if (options.inspect) options.inspect(layout, run.report);
  const auto program = [&](PeAt pe) { return static_cast<const OffsetsPe*>(layout.program(pe)); };
  run.origin_cycles = program({0, 0})->cycles();
  // The first PE is launched after a hop and the ramp; its task begins then.
  const std::uint64_t launched = run_options.machine.hop + run_options.machine.ramp;
  run.makespan_cycles = run.report.last_finish - launched;
  run.offsets.resize(layout.pe_count());
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      run.offsets[lines.number_of({x, y})] = program({x, y})->offset();
      run.total += program({x, y})->length();
    }
  }
  return std::optional(std::move(run));
}

}  // namespace

Result<OffsetsRun> run_offsets(std::uint32_t width, std::uint32_t height,
                               std::span<const std::uint32_t> lengths,
                               const OffsetsOptions& options) {
  if (options.by == OffsetsBy::host) return bad_argument("the host's offsets need no mesh");
  // Where a short line's scan overtakes the launch, the launch is not alone.
  return with_trains_if_alone<OffsetsRun>(options.run, [&](const RunOptions& run_options) {
    return run_once(width, height, lengths, options, run_options);
  });
}

}  // namespace tensorpress::wafer::programs
