// What a run does depends neither on threads nor on whether trains are moved at once.
#include <gtest/gtest.h>

#include <memory>

#include "tensorpress/wafer/wafer.h"
#include "wafer/programs/coding/chain.h"
#include "wafer/programs/collectives/collectives.h"
#include "wafer/programs/offsets/offsets.h"

namespace tensorpress::wafer {
namespace {

void expect_same(const Report& a, const Report& b) {
  EXPECT_EQ(a.cycles, b.cycles);
  EXPECT_EQ(a.last_finish, b.last_finish);
  EXPECT_EQ(a.wavelet_hops, b.wavelet_hops);
  EXPECT_EQ(a.wavelets_sent, b.wavelets_sent);
  EXPECT_EQ(a.wavelets_copied, b.wavelets_copied);
  EXPECT_EQ(a.wavelets_received, b.wavelets_received);
  EXPECT_EQ(a.tasks, b.tasks);
  EXPECT_EQ(a.finish, b.finish);
  EXPECT_EQ(a.busy_cycles, b.busy_cycles);
  EXPECT_EQ(a.link_wavelets, b.link_wavelets);
  EXPECT_EQ(a.trace, b.trace);
  ASSERT_EQ(a.edge_outputs.size(), b.edge_outputs.size());
  for (std::size_t i = 0; i < a.edge_outputs.size(); ++i) {
    EXPECT_EQ(a.edge_outputs[i].pe, b.edge_outputs[i].pe);
    EXPECT_EQ(a.edge_outputs[i].words, b.edge_outputs[i].words);
    EXPECT_EQ(a.edge_outputs[i].first_cycle, b.edge_outputs[i].first_cycle);
    EXPECT_EQ(a.edge_outputs[i].last_cycle, b.edge_outputs[i].last_cycle);
  }
}

/// With few threads they meet in every cycle; many would wait for a core most of the time.
std::uint32_t shared_from(std::size_t threads) {
  return threads <= 3 ? 0 : 256;
}

/// Takes words from the west, works on them for a while, sends some of them out again.
class Worker final : public PeProgram {
 public:
  Worker(Color in, Color out, std::size_t words, std::uint64_t work, std::size_t kept)
      : in_(in), out_(out), words_(words), work_(work), kept_(kept) {}
  void start(Pe& pe) override { pe.receive(in_, words_, 0); }
  void on_task(Pe& pe, Task) override {
    pe.spend(work_, 3);
    for (std::uint32_t& word : words_) word ^= 0x5A5A5A5A;
    pe.send(out_, std::span(words_).first(kept_), true);
    pe.finish();
  }

 private:
  Color in_, out_;
  std::vector<std::uint32_t> words_;
  std::uint64_t work_;
  std::size_t kept_;
};

struct Case {
  std::uint32_t width, height;
  std::size_t words;
  Port out;
  std::uint64_t work_step;
  std::uint64_t work = 0;  // of every PE
};

Result<Report> deal_and_collect(const Case& c, const RunOptions& options) {
  auto layout = Layout::make(c.width, c.height);
  const Color in = *layout->new_color("in"), out = *layout->new_color("out");
  EXPECT_TRUE(layout->edge_output(out, true).ok());
  for (std::uint32_t y = 0; y < c.height; ++y) {
    EXPECT_TRUE(programs::route_dealing(*layout, {0, y}, Port::west, c.width, in).ok());
    const PeAt first{c.out == Port::west ? 0 : c.width - 1, y};
    EXPECT_TRUE(programs::route_collecting(*layout, first, c.out, c.width, out).ok());
    EdgeInput input{.pe = {0, y},
                    .color = in,
                    .words = {},
                    .advance_every = static_cast<std::uint32_t>(c.words),
                    .alone = true};
    for (std::uint32_t x = 0; x < c.width; ++x) {
      for (std::size_t i = 0; i < c.words; ++i) {
        input.words.push_back(static_cast<std::uint32_t>(y * 1000003 + x * 1009 + i));
      }
      const std::uint64_t work = c.work + (x * 7 + y * 13) % 5 * c.work_step;
      const std::size_t kept = 1 + (x * 5 + y * 3) % c.words;
      EXPECT_TRUE(
          layout->place({x, y}, std::make_unique<Worker>(in, out, c.words, work, kept)).ok());
    }
    EXPECT_TRUE(layout->edge_input(std::move(input)).ok());
  }
  return run(*layout, options);
}

TEST(WaferSameness, TrainsDoWhatTheirWaveletsWouldOneByOne) {
  const Case cases[] = {{1, 1, 1, Port::west, 10},      {6, 3, 8, Port::west, 0},
                        {6, 3, 8, Port::west, 50},      {9, 2, 33, Port::east, 40, 2000},
                        {23, 2, 5, Port::west, 200},    {40, 1, 32, Port::west, 1000},
                        {17, 3, 12, Port::east, 3, 400}};
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.width << "x" << c.height << " " << c.words);
    const auto at_once = deal_and_collect(c, {.trains = true});
    const auto one_by_one = deal_and_collect(c, {.trains = false});
    ASSERT_TRUE(at_once.ok()) << at_once.error().message;
    ASSERT_TRUE(one_by_one.ok()) << one_by_one.error().message;
    expect_same(*at_once, *one_by_one);
    if (c.width * c.words > 20) {
      EXPECT_LT(at_once->events, one_by_one->events / 4);
    }
  }
}

TEST(WaferSameness, WordsOutOverLinksThatStillCarryWordsInBreakTheirPromise) {
  const auto run = deal_and_collect({9, 2, 33, Port::east, 0}, {.trains = true});
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.error().message.find("alone"), std::string::npos) << run.error().message;
  EXPECT_TRUE(deal_and_collect({9, 2, 33, Port::east, 0}, {.trains = false}).ok());
}

TEST(WaferSameness, ThreadsDoNotMatter) {
  const Case c{13, 11, 9, Port::west, 17};
  const auto alone = deal_and_collect(c, {.trains = false, .trace = true});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_FALSE(alone->trace.empty());
  for (const std::size_t threads : {2u, 3u, 11u, 50u}) {
    const auto together = deal_and_collect(
        c,
        {.threads = threads, .shared_from = shared_from(threads), .trains = false, .trace = true});
    ASSERT_TRUE(together.ok()) << together.error().message;
    expect_same(*alone, *together);
  }
}

TEST(WaferSameness, ThreadsDoNotMatterWhereWaveletsWaitForEachOtherAcrossRows) {
  // Words go down all columns and fan out; slow PEs push back through the strips' borders.
  std::vector<std::uint32_t> words(300);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * i;
  Machine narrow;
  narrow.router_queue = 2;
  narrow.input_queue = 1;
  const auto alone = programs::run_broadcast(7, 12, words, {.machine = narrow, .trace = true});
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  for (const std::size_t threads : {2u, 5u, 12u}) {
    const auto together = programs::run_broadcast(7, 12, words,
                                                  {.threads = threads,
                                                   .shared_from = shared_from(threads),
                                                   .machine = narrow,
                                                   .trace = true});
    ASSERT_TRUE(together.ok());
    expect_same(alone->report, together->report);
    EXPECT_EQ(alone->received, together->received);
  }
}

TEST(WaferSameness, OffsetsAreTheSameForThreadsOrdersAndTrains) {
  using programs::OffsetOrder;
  using programs::OffsetsBy;
  for (const OffsetOrder order : {OffsetOrder::column, OffsetOrder::row}) {
    for (const OffsetsBy by : {OffsetsBy::mesh, OffsetsBy::look_back}) {
      // Look-back takes many more cycles, and threads meet in each.
      const std::uint32_t width = by == OffsetsBy::mesh ? 31 : 6;
      const std::uint32_t height = by == OffsetsBy::mesh ? 18 : 5;
      std::vector<std::uint32_t> lengths(width * height);
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        lengths[i] = static_cast<std::uint32_t>(i * 37 % 101);
      }
      const auto plain = programs::run_offsets(
          width, height, lengths, {.order = order, .by = by, .run = {.trains = false}});
      ASSERT_TRUE(plain.ok()) << plain.error().message;
      for (const std::size_t threads : {1u, 2u, 7u}) {
        const auto other = programs::run_offsets(
            width, height, lengths,
            {.order = order,
             .by = by,
             .run = {.threads = threads, .shared_from = shared_from(threads)}});
        ASSERT_TRUE(other.ok()) << other.error().message;
        EXPECT_EQ(plain->offsets, other->offsets);
        EXPECT_EQ(plain->origin_cycles, other->origin_cycles);
        expect_same(plain->report, other->report);
      }
    }
  }
}

TEST(WaferSameness, RoutersThatOnlyPassCollectedWordsOnGuardTheirLinksToo) {
  // The third PE's words leave to the west, past the second, which sends the first a word.
  class Sender final : public PeProgram {
   public:
    Sender(Color out, std::size_t words, std::uint64_t wait, bool advance)
        : out_(out), words_(words), wait_(wait), advance_(advance) {}
    void start(Pe& pe) override {
      pe.spend(wait_);
      pe.send(out_, std::span<const std::uint32_t>(words_), advance_);
    }

   private:
    Color out_;
    std::vector<std::uint32_t> words_;
    std::uint64_t wait_;
    bool advance_;
  };
  class Receiver final : public PeProgram {
   public:
    explicit Receiver(Color in) : in_(in) {}
    void start(Pe& pe) override { pe.receive(in_, std::span(&word_, 1), kNoTask); }

   private:
    Color in_;
    std::uint32_t word_ = 0;
  };
  const auto attempt = [](bool alone, std::uint64_t wait) {
    auto layout = Layout::make(3, 1);
    const Color out = *layout->new_color("out"), aside = *layout->new_color("aside");
    EXPECT_TRUE(
        programs::route_collecting(*layout, {0, 0}, Port::west, 3, out, {.first = 2, .every = 3})
            .ok());
    EXPECT_TRUE(layout->edge_output(out, alone).ok());
    EXPECT_TRUE(layout->route({1, 0}, aside, Route::fixed({Port::ramp}, {Port::west})).ok());
    EXPECT_TRUE(layout->route({0, 0}, aside, Route::fixed({Port::east}, {Port::ramp})).ok());
    EXPECT_TRUE(layout->place({0, 0}, std::make_unique<Receiver>(aside)).ok());
    EXPECT_TRUE(layout->place({1, 0}, std::make_unique<Sender>(aside, 1, wait, false)).ok());
    EXPECT_TRUE(layout->place({2, 0}, std::make_unique<Sender>(out, 50, 20, true)).ok());
    return run(*layout);
  };
  const auto broken = attempt(true, 40);
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("alone"), std::string::npos) << broken.error().message;
  const auto kept = attempt(true, 5), one_by_one = attempt(false, 5);  // the word is there before
  ASSERT_TRUE(kept.ok() && one_by_one.ok());
  expect_same(*kept, *one_by_one);
  EXPECT_TRUE(attempt(false, 40).ok());
}

TEST(WaferSameness, ABrokenPromiseToBeAloneFailsTheRun) {
  // The second PE receives words from the west while its neighbour sends it some as well.
  class Busy final : public PeProgram {
   public:
    Busy(Color in, Color aside, bool sends) : in_(in), aside_(aside), sends_(sends) {}
    void start(Pe& pe) override {
      pe.receive(in_, words_, kNoTask);
      if (sends_) {
        pe.send(aside_, std::span<const std::uint32_t>(extra_));
      } else {
        pe.receive(aside_, extra_, kNoTask);
      }
    }

   private:
    Color in_, aside_;
    bool sends_;
    std::vector<std::uint32_t> words_ = std::vector<std::uint32_t>(50);
    std::vector<std::uint32_t> extra_ = std::vector<std::uint32_t>(80);
  };
  const auto attempt = [](bool alone) {
    auto layout = Layout::make(2, 2);
    const Color in = *layout->new_color("in"), aside = *layout->new_color("aside");
    EXPECT_TRUE(
        layout->route({0, 0}, {2, 1}, aside, Route::fixed({Port::ramp}, {Port::south})).ok());
    EXPECT_TRUE(
        layout->route({0, 1}, {2, 2}, aside, Route::fixed({Port::north}, {Port::ramp})).ok());
    for (std::uint32_t y = 0; y < 2; ++y) {
      EXPECT_TRUE(programs::route_dealing(*layout, {0, y}, Port::west, 2, in).ok());
      EXPECT_TRUE(layout
                      ->edge_input({.pe = {0, y},
                                    .color = in,
                                    .words = std::vector<std::uint32_t>(100),
                                    .advance_every = 50,
                                    .alone = alone})
                      .ok());
      for (std::uint32_t x = 0; x < 2; ++x) {
        EXPECT_TRUE(layout->place({x, y}, std::make_unique<Busy>(in, aside, y == 0)).ok());
      }
    }
    return run(*layout);
  };
  const auto broken = attempt(true);
  ASSERT_FALSE(broken.ok());
  EXPECT_NE(broken.error().message.find("alone"), std::string::npos) << broken.error().message;
  EXPECT_TRUE(attempt(false).ok());
}

}  // namespace
}  // namespace tensorpress::wafer
