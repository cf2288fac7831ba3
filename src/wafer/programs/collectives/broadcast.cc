#include <memory>

#include "base/errors.h"
#include "wafer/programs/collectives/collectives.h"

namespace tensorpress::wafer::programs {
namespace {

class Sender final : public PeProgram {
 public:
  Sender(Color color, std::span<const std::uint32_t> words) : color_(color), words_(words) {}
  std::vector<MemoryItem> memory() const override { return {{"words", words_.size_bytes()}}; }
  void start(Pe& pe) override { pe.send(color_, words_); }

 private:
  Color color_;
  std::span<const std::uint32_t> words_;
};

class Receiver final : public PeProgram {
 public:
  Receiver(Color color, std::size_t count) : color_(color), words_(count) {}
  std::vector<MemoryItem> memory() const override { return {{"words", 4 * words_.size()}}; }
  void start(Pe& pe) override { pe.receive(color_, words_, 0); }
  void on_task(Pe& pe, Task) override { pe.finish(); }
  const std::vector<std::uint32_t>& words() const { return words_; }

 private:
  Color color_;
  std::vector<std::uint32_t> words_;
};

}  // namespace

Result<BroadcastRun> run_broadcast(std::uint32_t width, std::uint32_t height,
                                   std::span<const std::uint32_t> words, const RunOptions& options,
                                   const Inspect& inspect) {
  TRY(Layout layout, Layout::make(width, height));
  TRY(const Color color, layout.new_color("broadcast"));
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const bool origin = x == 0 && y == 0;
      Position position;
      position.from.add(origin ? Port::ramp : y > 0 ? Port::north : Port::west);
      if (!origin) position.to.add(Port::ramp);
      if (y == 0 && x + 1 < width) position.to.add(Port::east);
      if (y + 1 < height) position.to.add(Port::south);
      if (position.to.empty()) continue;  // a PE by itself has no PE to send to
      RETURN_IF_ERROR(layout.route({x, y}, color, {{position}, false}));
      if (origin) {
        RETURN_IF_ERROR(layout.place({x, y}, std::make_unique<Sender>(color, words)));
      } else {
        RETURN_IF_ERROR(layout.place({x, y}, std::make_unique<Receiver>(color, words.size())));
      }
    }
  }
  BroadcastRun run;
  TRY(run.report, wafer::run(layout, options));
  if (inspect) inspect(layout, run.report);
  for (std::uint32_t y = 0; y < height; ++y) {
    for (std::uint32_t x = 0; x < width; ++x) {
      if (x == 0 && y == 0) {
        run.received.emplace_back(words.begin(), words.end());
        run.arrival.push_back(0);
        continue;
      }
      run.received.push_back(static_cast<const Receiver*>(layout.program({x, y}))->words());
      run.arrival.push_back(run.report.finish[layout.index({x, y})] -
                            options.machine.task_activation);
    }
  }
  return run;
}

}  // namespace tensorpress::wafer::programs
