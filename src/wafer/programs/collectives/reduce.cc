#include <bit>
#include <memory>

#include "base/errors.h"
#include "wafer/programs/coding/chain.h"
#include "wafer/programs/collectives/collectives.h"

namespace tensorpress::wafer::programs {
namespace {

/// The PE at `turn` in the order of the flow, which goes west.
class Adder final : public PeProgram {
 public:
  Adder(ChainColors colors, std::size_t turn, std::size_t turns, std::span<const float> values)
      : colors_(colors), turn_(turn), turns_(turns) {
    for (const float value : values) words_.push_back(std::bit_cast<std::uint32_t>(value));
  }
  std::vector<MemoryItem> memory() const override { return {{"vector", 4 * words_.size()}}; }
  void start(Pe& pe) override {
    if (turns_ == 1) {
      pe.finish();
    } else if (turn_ == 0) {
      pe.send(colors_.out(0), words_);
    } else if (turn_ + 1 < turns_) {
      pe.forward_add(colors_.in(turn_), colors_.out(turn_), words_, kNoTask, Arithmetic::f32);
    } else {
      pe.receive_add(colors_.in(turn_), words_, 0, Arithmetic::f32);
    }
  }
  void on_task(Pe& pe, Task) override { pe.finish(); }
  const std::vector<std::uint32_t>& words() const { return words_; }

 private:
  ChainColors colors_;
  std::size_t turn_, turns_;
  std::vector<std::uint32_t> words_;
};

}  // namespace

Result<ReduceRun> run_reduce(std::uint32_t width, std::span<const float> vectors,
                             const RunOptions& options, const Inspect& inspect) {
  TRY(Layout layout, Layout::make(width, 1));
  if (vectors.size() % width != 0) {
    return bad_argument(vectors.size(), " numbers are no equal vectors for ", width, " PEs");
  }
  const std::size_t length = vectors.size() / width;
  TRY(const ChainColors colors, new_chain_colors(layout, "reduce"));
  RETURN_IF_ERROR(route_chain(layout, {width - 1, 0}, Port::west, width, colors));
  for (std::uint32_t x = 0; x < width; ++x) {
    RETURN_IF_ERROR(
        layout.place({x, 0}, std::make_unique<Adder>(colors, width - 1 - x, width,
                                                     vectors.subspan(x * length, length))));
  }
  ReduceRun run;
  TRY(run.report, wafer::run(layout, options));
  if (inspect) inspect(layout, run.report);
  run.cycles = run.report.finish[0] - (width > 1 ? options.machine.task_activation : 0);
  for (const std::uint32_t word : static_cast<const Adder*>(layout.program({0, 0}))->words()) {
    run.sum.push_back(std::bit_cast<float>(word));
  }
  return run;
}

}  // namespace tensorpress::wafer::programs
