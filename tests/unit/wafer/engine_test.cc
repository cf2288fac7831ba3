// The engine against closed forms: how long a hop takes, what a link carries, who waits for whom.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>

#include "tensorpress/wafer/wafer.h"
#include "wafer/programs/collectives/collectives.h"

namespace tensorpress::wafer {
namespace {

/// A program made of two functions.
class Scripted final : public PeProgram {
 public:
  using Body = std::function<void(Pe&, Scripted&)>;
  explicit Scripted(Body begin, Body after = {}, std::uint32_t data_tasks = 0)
      : begin_(std::move(begin)), after_(std::move(after)), data_tasks_(data_tasks) {}
  void start(Pe& pe) override { begin_(pe, *this); }
  void on_task(Pe& pe, Task task) override {
    tasks.push_back(task);
    if (after_) after_(pe, *this);
  }
  void on_wavelet(Pe& pe, Color, std::uint32_t word) override {
    words.push_back(word);
    if (after_) after_(pe, *this);
  }
  std::uint32_t data_tasks() const override { return data_tasks_; }

  std::vector<std::uint32_t> words;
  std::vector<Task> tasks;

 private:
  Body begin_, after_;
  std::uint32_t data_tasks_;
};

constexpr Machine kMachine;
constexpr std::uint64_t kRamps = 2 * kMachine.ramp;

std::vector<std::uint32_t> counting(std::size_t count) {
  std::vector<std::uint32_t> words(count);
  std::iota(words.begin(), words.end(), 1u);
  return words;
}

Scripted::Body sends(Color color, std::span<const std::uint32_t> words) {
  return [=](Pe& pe, Scripted&) { pe.send(color, words); };
}
Scripted::Body receives(Color color, std::size_t count, std::uint64_t after = 0) {
  return [=](Pe& pe, Scripted& self) {
    self.words.resize(count);
    pe.spend(after);
    pe.receive(color, self.words, 0);
  };
}
void finishes(Pe& pe, Scripted&) {
  pe.finish();
}

/// A row in which the first PE's words of `color` go straight to the last.
void route_through(Layout& layout, Color color) {
  const std::uint32_t last = layout.width() - 1;
  ASSERT_TRUE(layout.route({0, 0}, color, Route::fixed({Port::ramp}, {Port::east})).ok());
  ASSERT_TRUE(
      layout.route({1, 0}, {last, 1}, color, Route::fixed({Port::west}, {Port::east})).ok());
  ASSERT_TRUE(layout.route({last, 0}, color, Route::fixed({Port::west}, {Port::ramp})).ok());
}

/// When the last of `count` words has come to the last PE of a row, which waits from `after` on.
std::uint64_t arrival(std::uint32_t width, std::size_t count, std::uint64_t after,
                      const Machine& machine = kMachine) {
  auto layout = Layout::make(width, 1);
  const Color color = *layout->new_color("through");
  route_through(*layout, color);
  const auto words = counting(count);
  EXPECT_TRUE(layout->place({0, 0}, std::make_unique<Scripted>(sends(color, words))).ok());
  EXPECT_TRUE(layout
                  ->place({width - 1, 0},
                          std::make_unique<Scripted>(receives(color, count, after), finishes))
                  .ok());
  const auto report = run(*layout, {.machine = machine});
  EXPECT_TRUE(report.ok()) << report.error().message;
  if (!report.ok()) return 0;
  EXPECT_EQ(static_cast<Scripted*>(layout->program({width - 1, 0}))->words, words);
  EXPECT_EQ(report->wavelets_sent, count);
  EXPECT_EQ(report->wavelets_received, count);
  EXPECT_EQ(report->wavelet_hops, count * (width - 1));
  return report->finish[width - 1] - machine.task_activation;
}

TEST(WaferEngine, AWaveletTakesTwoRampsAndACycleAHop) {
  for (const std::uint32_t width : {2u, 3u, 17u, 757u}) {
    EXPECT_EQ(arrival(width, 1, 0), kRamps + (width - 1)) << width;
  }
}

TEST(WaferEngine, ALinkCarriesOneWaveletACycle) {
  EXPECT_EQ(arrival(9, 1000, 0), kRamps + 8 + 999);
}

TEST(WaferEngine, QueuesOfOneSlotHalveTheRateOfALink) {
  // A slot is filled, freed a cycle later and known to be free a cycle after that.
  Machine machine;
  machine.router_queue = 1;
  machine.ramp = 1;
  EXPECT_EQ(arrival(9, 1001, 0, machine), 2 * machine.ramp + 8 + 2 * 1000);
}

TEST(WaferEngine, ALateReceiverStopsTheSenderAndLosesNothing) {
  // Once it begins, everything that waited comes at one word a cycle.
  EXPECT_EQ(arrival(5, 400, 2000), 2000 + 399);
}

TEST(WaferEngine, BackPressureReachesTheSender) {
  auto sent_at = [](std::uint64_t after) {
    auto layout = Layout::make(4, 1);
    const Color color = *layout->new_color("through");
    route_through(*layout, color);
    const auto words = counting(300);
    EXPECT_TRUE(layout
                    ->place({0, 0}, std::make_unique<Scripted>(
                                        [&](Pe& pe, Scripted&) { pe.send(color, words, false, 7); },
                                        finishes))
                    .ok());
    EXPECT_TRUE(
        layout->place({3, 0}, std::make_unique<Scripted>(receives(color, 300, after))).ok());
    return run(*layout)->finish[0] - kMachine.task_activation;
  };
  EXPECT_EQ(sent_at(0), 300);
  // All queues on the way are full; the rest leaves as fast as the receiver takes.
  const std::uint64_t queues = 4 * kMachine.router_queue + kMachine.input_queue;
  EXPECT_GE(sent_at(5000), 5000 + 300 - queues - 10);
  EXPECT_LE(sent_at(5000), 5000 + 300);
}

TEST(WaferEngine, TwoColorsShareALinkEvenly) {
  const auto words = counting(500);
  auto crossing = Layout::make(3, 1);
  const Color c = *crossing->new_color("c"), d = *crossing->new_color("d");
  ASSERT_TRUE(crossing->route({0, 0}, c, Route::fixed({Port::ramp}, {Port::east})).ok());
  ASSERT_TRUE(crossing->route({1, 0}, c, Route::fixed({Port::west}, {Port::east})).ok());
  ASSERT_TRUE(crossing->route({2, 0}, c, Route::fixed({Port::west}, {Port::ramp})).ok());
  ASSERT_TRUE(crossing->route({1, 0}, d, Route::fixed({Port::ramp}, {Port::east})).ok());
  ASSERT_TRUE(crossing->route({2, 0}, d, Route::fixed({Port::west}, {Port::ramp})).ok());
  ASSERT_TRUE(crossing->place({0, 0}, std::make_unique<Scripted>(sends(c, words))).ok());
  ASSERT_TRUE(crossing->place({1, 0}, std::make_unique<Scripted>(sends(d, words))).ok());
  std::vector<std::uint32_t> first(500), second(500);
  std::uint64_t first_done = 0, second_done = 0;
  ASSERT_TRUE(crossing
                  ->place({2, 0}, std::make_unique<Scripted>(
                                      [&](Pe& pe, Scripted&) {
                                        pe.receive(c, first, 0);
                                        pe.receive(d, second, 1);
                                      },
                                      [&](Pe& pe, Scripted& self) {
                                        (self.tasks.back() == 0 ? first_done : second_done) =
                                            pe.now();
                                      }))
                  .ok());
  const auto report = run(*crossing);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->link_wavelets[1][static_cast<int>(Port::east)], 1000);
  // A thousand words leave over one link without a gap, the last but one ending the first
  // receive; then both tasks run, one after the other.
  const std::uint64_t last_but_one = kMachine.ramp + 998 + 1 + kMachine.ramp;
  EXPECT_EQ(std::min(first_done, second_done), last_but_one + kMachine.task_activation);
  EXPECT_EQ(std::max(first_done, second_done), last_but_one + 2 * kMachine.task_activation);
}

TEST(WaferEngine, MulticastReachesEveryPeAfterItsDistance) {
  const auto words = counting(20);
  const auto run = programs::run_broadcast(11, 7, words);
  ASSERT_TRUE(run.ok()) << run.error().message;
  for (std::uint64_t y = 0; y < 7; ++y) {
    for (std::uint64_t x = 0; x < 11; ++x) {
      EXPECT_EQ(run->received[y * 11 + x], words);
      if (x + y > 0) {
        EXPECT_EQ(run->arrival[y * 11 + x], kRamps + x + y + 19);
      }
    }
  }
  EXPECT_EQ(run->report.wavelets_sent, 20);
  EXPECT_EQ(run->report.wavelets_sent + run->report.wavelets_copied, run->report.wavelets_received);
}

TEST(WaferEngine, AReduceTakesSevenCyclesAStepAndOneForEachFurtherWord) {
  for (const std::uint32_t width : {2u, 3u, 50u}) {
    for (const std::size_t length : {1u, 2u, 64u}) {
      std::vector<float> vectors(width * length);
      std::iota(vectors.begin(), vectors.end(), 0.0f);
      const auto run = programs::run_reduce(width, vectors);
      ASSERT_TRUE(run.ok()) << run.error().message;
      EXPECT_EQ(run->cycles, 7 * (width - 1) + length - 1) << width << " " << length;
      for (std::size_t i = 0; i < length; ++i) {
        float sum = 0;
        for (std::size_t x = width; x-- > 0;) sum += vectors[x * length + i];
        EXPECT_EQ(run->sum[i], sum);
      }
    }
  }
}

TEST(WaferEngine, GemvIsTheProductAndItsTimeThatOfItsParts) {
  std::vector<float> a(12 * 20), x(20);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
  std::iota(x.begin(), x.end(), -9.0f);
  const auto run = programs::run_gemv(5, 3, 12, 20, a, x);
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_EQ(run->y.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    float sum = 0;
    for (std::size_t j = 0; j < 20; ++j) sum += a[i * 20 + j] * x[j];
    EXPECT_EQ(run->y[i], sum);  // small whole numbers: exact in any order
  }
  // Four words of x reach the third row; four columns of four numbers, each an issue and two
  // cycles of writing; four steps west with four words; then out, with two more activations.
  const std::uint64_t x_there = 1 + 2 + 2 + 3;
  const std::uint64_t product = 4 * (1 + 2);
  const std::uint64_t sums = 7 * 4 + 3;
  const std::uint64_t out = 2 + 1 + 3;
  EXPECT_EQ(run->cycles, x_there + product + sums + out + 2 * kMachine.task_activation);
}

TEST(WaferEngine, DataTasksRunOnceForEveryWaveletAndHoldBackTheRest) {
  auto layout = Layout::make(2, 1);
  const Color color = *layout->new_color("work");
  route_through(*layout, color);
  const auto words = counting(50);
  ASSERT_TRUE(layout->place({0, 0}, std::make_unique<Scripted>(sends(color, words))).ok());
  auto worker = std::make_unique<Scripted>([](Pe&, Scripted&) {},
                                           [](Pe& pe, Scripted&) {
                                             pe.spend(100);
                                             pe.finish();
                                           },
                                           1u << color);
  ASSERT_TRUE(layout->place({1, 0}, std::move(worker)).ok());
  const auto report = run(*layout);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(static_cast<Scripted*>(layout->program({1, 0}))->words, words);
  EXPECT_EQ(report->finish[1], kRamps + 1 + 50 * (100 + kMachine.task_activation));
  EXPECT_EQ(report->busy_cycles[1], 50 * (100 + kMachine.task_activation));
}

TEST(WaferEngine, TheNextTaskWaitsForTheOutputQueue) {
  auto layout = Layout::make(2, 1);
  const Color color = *layout->new_color("out");
  route_through(*layout, color);
  ASSERT_TRUE(layout
                  ->place({0, 0}, std::make_unique<Scripted>(
                                      [&](Pe& pe, Scripted&) {
                                        for (std::uint32_t i = 0; i < 100; ++i) pe.send(color, i);
                                        pe.activate(3);
                                      },
                                      finishes))
                  .ok());
  ASSERT_TRUE(layout->place({1, 0}, std::make_unique<Scripted>(receives(color, 100))).ok());
  const auto report = run(*layout);
  ASSERT_TRUE(report.ok()) << report.error().message;
  // 92 of the 100 have gone, one a cycle from cycle 0 on.
  EXPECT_EQ(report->finish[0], 100 - kMachine.output_queue - 1 + kMachine.task_activation);
}

TEST(WaferEngine, MemoryPortsBoundVectorOperations) {
  auto layout = Layout::make(1, 1);
  ASSERT_TRUE(layout
                  ->place({0, 0}, std::make_unique<Scripted>([](Pe& pe, Scripted&) {
                            pe.vector_operation(64, 2, 1);  // 128 and 64 bits a cycle: two elements
                            EXPECT_EQ(pe.now(), 1 + 32);
                            pe.vector_operation(64, 1, 0);
                            EXPECT_EQ(pe.now(), 1 + 32 + 1 + 16);
                            pe.finish();
                          }))
                  .ok());
  const auto report = run(*layout);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->bits_read, 64 * 32 * 3);
  EXPECT_EQ(report->bits_written, 64 * 32);
}

TEST(WaferEngine, CountersOfPesAreNotInStep) {
  auto layout = Layout::make(2, 1);
  std::array<std::uint64_t, 2> first = {}, second = {};
  for (std::uint32_t x = 0; x < 2; ++x) {
    ASSERT_TRUE(layout
                    ->place({x, 0}, std::make_unique<Scripted>([&, x](Pe& pe, Scripted&) {
                              first[x] = pe.timestamp();
                              pe.spend(10);
                              second[x] = pe.timestamp();
                            }))
                    .ok());
  }
  ASSERT_TRUE(run(*layout, {.clock_seed = 5}).ok());
  EXPECT_NE(first[0], first[1]);
  EXPECT_EQ(second[0] - first[0], 10 + kMachine.timestamp);
  EXPECT_EQ(second[1] - first[1], 10 + kMachine.timestamp);
}

TEST(WaferEngine, AnAdvancedSwitchLetsTheNextWayIn) {
  // The first three words of the host stay in the west, the others go east.
  auto layout = Layout::make(2, 1);
  const Color color = *layout->new_color("deal");
  ASSERT_TRUE(layout
                  ->route({0, 0}, color,
                          {{{{Port::west}, {Port::ramp}}, {{Port::west}, {Port::east}}}, false})
                  .ok());
  ASSERT_TRUE(layout->route({1, 0}, color, Route::fixed({Port::west}, {Port::ramp})).ok());
  ASSERT_TRUE(
      layout->edge_input({.pe = {0, 0}, .color = color, .words = counting(6), .advance_every = 3})
          .ok());
  for (std::uint32_t x = 0; x < 2; ++x) {
    ASSERT_TRUE(
        layout->place({x, 0}, std::make_unique<Scripted>(receives(color, 3), finishes)).ok());
  }
  const auto report = run(*layout);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(static_cast<Scripted*>(layout->program({0, 0}))->words,
            (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(static_cast<Scripted*>(layout->program({1, 0}))->words,
            (std::vector<std::uint32_t>{4, 5, 6}));
  EXPECT_EQ(report->finish[0], 1 + 2 + kMachine.ramp + kMachine.task_activation);
  EXPECT_EQ(report->finish[1], 1 + 5 + 1 + kMachine.ramp + kMachine.task_activation);
}

}  // namespace
}  // namespace tensorpress::wafer
