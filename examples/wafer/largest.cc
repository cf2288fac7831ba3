// The largest of one number a PE, found on a row of PEs of the simulated wafer: each waits for its
// eastern neighbour, takes the larger one and passes it west. Prints the result and the cycles.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>

#include "tensorpress/wafer/wafer.h"

namespace wafer = tensorpress::wafer;
using wafer::Port;
using wafer::Route;

namespace {

/// Neighbours take turns with two colors, because a router has one route for a color.
struct Colors {
  wafer::Color even = 0, odd = 0;
  wafer::Color out(std::uint32_t x) const { return x % 2 == 0 ? even : odd; }
  wafer::Color in(std::uint32_t x) const { return out(x + 1); }
};

class Largest final : public wafer::PeProgram {
 public:
  Largest(Colors colors, std::uint32_t width, std::uint32_t number)
      : colors_(colors), width_(width), number_(number) {}

  std::vector<wafer::MemoryItem> memory() const override { return {{"code", 256}, {"numbers", 8}}; }

  void start(wafer::Pe& pe) override {
    if (pe.at().x + 1 == width_) {
      pass_on(pe);
    } else {
      pe.receive(colors_.in(pe.at().x), std::span(&came_, 1), kCame);
    }
  }
  void on_task(wafer::Pe& pe, wafer::Task) override {
    pe.spend(2);  // compare and select
    number_ = std::max(number_, came_);
    pass_on(pe);
  }
  std::uint32_t number() const { return number_; }

 private:
  enum : wafer::Task { kCame };
  void pass_on(wafer::Pe& pe) {
    if (pe.at().x > 0) pe.send(colors_.out(pe.at().x), number_);
    pe.finish();
  }
  Colors colors_;
  std::uint32_t width_, number_, came_ = 0;
};

tensorpress::Result<std::uint32_t> find_largest(std::uint32_t width, std::uint64_t& cycles) {
  auto layout = wafer::Layout::make(width, 1);
  if (!layout.ok()) return layout.error();
  const auto even = layout->new_color("even"), odd = layout->new_color("odd");
  if (!even.ok() || !odd.ok()) return even.ok() ? odd.error() : even.error();
  const Colors colors{*even, *odd};
  for (std::uint32_t x = 0; x < width; ++x) {
    const Route send = Route::fixed({Port::ramp}, {Port::west});
    const Route receive = Route::fixed({Port::east}, {Port::ramp});
    if (x > 0) {
      if (auto set = layout->route({x, 0}, colors.out(x), send); !set.ok()) return set.error();
    }
    if (x + 1 < width) {
      if (auto set = layout->route({x, 0}, colors.in(x), receive); !set.ok()) return set.error();
    }
    auto program = std::make_unique<Largest>(colors, width, x * 37 % 101);
    if (auto placed = layout->place({x, 0}, std::move(program)); !placed.ok()) {
      return placed.error();
    }
  }
  const auto report = wafer::run(*layout);
  if (!report.ok()) return report.error();
  cycles = report->cycles;
  return static_cast<const Largest*>(layout->program({0, 0}))->number();
}

}  // namespace

int main() {
  std::uint64_t cycles = 0;
  const auto largest = find_largest(60, cycles);
  if (!largest.ok()) {
    std::fprintf(stderr, "%s\n", largest.error().message.c_str());
    return 1;
  }
  std::printf("the largest is %u, found in %llu cycles\n", *largest,
              static_cast<unsigned long long>(cycles));
  return *largest == 100 ? 0 : 1;  // of x * 37 % 101
}
