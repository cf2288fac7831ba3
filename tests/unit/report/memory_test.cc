// The memory timeline: what it marks, what it says, and that hostile names stay text.
#include <gtest/gtest.h>

#include "report/drawing/memory_timeline.h"
#include "report/pages/memory_page.h"
#include "unit/report/tag_balance.h"

namespace tensorpress::report {
namespace {

MemoryTimeline three_layers(std::size_t positions) {
  MemoryTimeline timeline{.title = "ResNet <18>", .layers = {"weights", "saved", "scratch"}};
  for (std::size_t t = 0; t < positions; ++t) {
    const auto waiting = static_cast<std::int64_t>(t < positions / 2 ? t : positions - t);
    timeline.positions.push_back(
        {"position " + std::to_string(t), {1 << 20, waiting << 10, t % 3 == 0 ? 512 : 0}});
  }
  timeline.first_backward = positions / 2;
  return timeline;
}

TEST(MemoryTimeline, MarksThePositionWithTheMostBytes) {
  MemoryTimeline timeline = three_layers(20);
  timeline.positions[13].bytes[2] = 1 << 20;
  EXPECT_EQ(peak_position(timeline), 13U);
  EXPECT_EQ(bytes_at(timeline, 13), (1 << 20) + (7 << 10) + (1 << 20));
  EXPECT_NE(timeline_html(timeline).find("at position 13</span>"), std::string::npos);
}

TEST(MemoryTimeline, EveryColumnTellsItsLayers) {
  const std::string svg = timeline_html(three_layers(20));
  EXPECT_EQ(occurrences("<title>", svg), 20U);
  EXPECT_NE(svg.find("position 5: 1.005 MiB\nsaved: 5 KiB\nweights: 1 MiB</title>"),
            std::string::npos);
  EXPECT_EQ(unbalanced(svg), std::nullopt);
}

TEST(MemoryTimeline, LongStepsKeepTheirPeakInFewColumns) {
  MemoryTimeline timeline = three_layers(100'000);
  timeline.positions[77'777].bytes[2] = 1 << 30;
  const std::string svg = timeline_html(timeline);
  EXPECT_EQ(occurrences("<title>", svg), 400U);
  EXPECT_NE(svg.find("<title>position 77777: "), std::string::npos);
}

TEST(MemoryTimeline, NothingToDrawIsSaid) {
  EXPECT_NE(timeline_html({.title = "empty"}).find("no data to draw"), std::string::npos);
}

TEST(MemoryTimeline, ABudgetIsALineInsideTheScale) {
  MemoryTimeline timeline = three_layers(8);
  timeline.limit_bytes = 4 << 20;
  EXPECT_NE(timeline_html(timeline).find("budget 4 MiB"), std::string::npos);
}

MemoryPage page_of_two() {
  return {.title = "net",
          .facts = {"peak < 5"},
          .timelines = {three_layers(6)},
          .activations = {{.name = "<conv1>",
                           .op = "conv2d",
                           .shape = "f32[N, 64, 32, 32]",
                           .bytes = 1 << 20,
                           .stored_bytes = 1 << 17,
                           .storing = "quantize 4",
                           .needed_by = "conv2",
                           .lifetime = 12,
                           .flops = 2.5e9},
                          {.name = "relu1", .op = "relu", .zeros = 0.5}}};
}

TEST(MemoryPage, HtmlIsBalancedAndEscaped) {
  const std::string html = memory_html(page_of_two());
  EXPECT_EQ(unbalanced(html), std::nullopt);
  EXPECT_NE(html.find("&lt;conv1&gt;"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos);
}

TEST(MemoryPage, TextHasAColumnOnlyForWhatWasMeasured) {
  const std::string table = memory_text(page_of_two());
  EXPECT_NE(table.find("zeros"), std::string::npos);
  EXPECT_NE(table.find("50 %"), std::string::npos);
  EXPECT_EQ(table.find("DCT"), std::string::npos);
  EXPECT_NE(table.find("2.5 G"), std::string::npos);
  EXPECT_EQ(occurrences("\n", table), 3U);
}

}  // namespace
}  // namespace tensorpress::report
