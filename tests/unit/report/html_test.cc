// Pages and drawings: escaped, balanced, and with nothing to fetch.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "report/drawing/base64.h"
#include "report/drawing/heatmap.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"
#include "report/drawing/plot.h"
#include "unit/report/tag_balance.h"

namespace tensorpress::report {
namespace {

std::string base64_of(std::string_view text) {
  return base64({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

Plot two_lines() {
  return {.title = "a < b",
          .x = {"bits & bytes", true},
          .y = {"dB", false},
          .series = {{.name = "one", .points = {{.x = 1, .y = 20}, {.x = 10, .y = 40}}},
                     {.name = "\"two\"", .points = {{.x = 2, .y = 30, .note = "x<y"}}}}};
}

TEST(Base64, EncodesTheVectorsOfRfc4648) {
  EXPECT_EQ(base64_of(""), "");
  EXPECT_EQ(base64_of("f"), "Zg==");
  EXPECT_EQ(base64_of("fo"), "Zm8=");
  EXPECT_EQ(base64_of("foo"), "Zm9v");
  EXPECT_EQ(base64_of("foob"), "Zm9vYg==");
  EXPECT_EQ(base64_of("fooba"), "Zm9vYmE=");
  EXPECT_EQ(base64_of("foobar"), "Zm9vYmFy");
}

TEST(Base64, UsesTheWholeAlphabet) {
  EXPECT_EQ(base64_of("\xFB\xEF\xBE\xFF\xFF\xFF"), "++++////");
}

TEST(TagBalance, FindsWhatIsWrong) {
  EXPECT_TRUE(unbalanced("<p><b>x</p></b>"));
  EXPECT_TRUE(unbalanced("<p>"));
  EXPECT_TRUE(unbalanced("</p>"));
  EXPECT_TRUE(unbalanced("<p title=\"a\"b\">x</p>"));
  EXPECT_TRUE(unbalanced("<p>5 < 6</p>"));
  EXPECT_TRUE(unbalanced("<p>a & b</p>"));
  EXPECT_FALSE(unbalanced("<p class=\"a\">x<br />&amp;</p>"));
}

TEST(Html, EscapesWhatHasMeaning) {
  EXPECT_EQ(escape("<a href=\"x\">&'</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&lt;/a&gt;");
  EXPECT_EQ(escape("64/CF²"), "64/CF²");
}

TEST(Html, DocumentStaysBalancedWithHostileText) {
  const std::string hostile = "</p><script>alert(\"&\")</script>";
  HtmlDocument page(hostile);
  page.heading(2, hostile);
  page.paragraph(hostile);
  page.add(html_of(Table{.caption = hostile,
                         .columns = {{hostile, hostile, false}, {"n"}},
                         .rows = {{hostile, "1"}, {"b", "2"}},
                         .group_starts = {1}}));
  page.add(figure(image("data:,", hostile), hostile));
  const std::string html = page.html();
  EXPECT_EQ(unbalanced(html), std::nullopt);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

TEST(Html, DocumentFetchesNothing) {
  HtmlDocument page("t");
  page.add(plot_svg(two_lines()));
  const std::string html = page.html();
  for (const char* outside : {"http:", "https:", "<link", "@import", "url("}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
}

TEST(Html, DocumentFollowsTheReadersColorScheme) {
  EXPECT_NE(HtmlDocument("t").html().find("@media (prefers-color-scheme: dark)"),
            std::string::npos);
}

TEST(Html, TableHasACellForEveryValue) {
  const std::string html = html_of(Table{.caption = "",
                                         .columns = {{"name", "", false}, {"n", "how many"}},
                                         .rows = {{"a", "1"}, {"b", "2"}, {"c", "3"}},
                                         .group_starts = {}});
  EXPECT_EQ(occurrences("<tr>", html), 4u);
  EXPECT_EQ(occurrences("<th ", html), 2u);
  EXPECT_EQ(occurrences("<td", html), 6u);
  EXPECT_EQ(occurrences("<td class=\"number\"", html), 3u);
}

TEST(Plot, IsBalancedAndNamesEverything) {
  const std::string svg = plot_svg(two_lines());
  EXPECT_EQ(unbalanced(svg), std::nullopt);
  for (const char* part :
       {"a &lt; b", "bits &amp; bytes", "dB", "one", "&quot;two&quot;", "<title>x&lt;y</title>"}) {
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
}

TEST(Plot, LeavesOutPointsThatAnAxisCannotShow) {
  Plot plot = two_lines();
  plot.series = {{.name = "one",
                  .points = {{.x = 1, .y = 1},
                             {.x = 0, .y = 2},  // no place on a logarithmic axis
                             {.x = -3, .y = 2},
                             {.x = 2, .y = std::numeric_limits<double>::infinity()},
                             {.x = std::nan(""), .y = 3},
                             {.x = 4, .y = 5}}}};
  const std::string svg = plot_svg(plot);
  EXPECT_EQ(occurrences("<circle", svg), 2u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Plot, WithoutPointsSaysSo) {
  const std::string svg = plot_svg({.title = "t", .x = {}, .y = {}, .series = {{.name = "s"}}});
  EXPECT_EQ(unbalanced(svg), std::nullopt);
  EXPECT_NE(svg.find("no data"), std::string::npos);
}

TEST(Plot, SinglePointHasAPlace) {
  const std::string svg =
      plot_svg({.title = "t", .x = {}, .y = {}, .series = {{.name = "s", .points = {{0, 0}}}}});
  EXPECT_EQ(occurrences("<circle", svg), 1u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(Heatmap, IsBalancedWithACellForEveryValue) {
  const Heatmap map{.title = "<m>",
                    .rows = 2,
                    .columns = 3,
                    .values = {0, 0.2, 0.4, 0.6, 0.8, 1},
                    .labels = {"0", "20", "40", "60", "80", "100"},
                    .notes = {"a", "b", "c", "d", "e", "f&g"},
                    .outlines = {{.widths = {2, 1}, .dashed = true}}};
  const std::string svg = heatmap_svg(map);
  EXPECT_EQ(unbalanced(svg), std::nullopt);
  EXPECT_EQ(occurrences("<rect", svg), 6u);
  EXPECT_NE(svg.find(">100<"), std::string::npos);
  EXPECT_NE(svg.find("<title>f&amp;g</title>"), std::string::npos);
  EXPECT_NE(svg.find("#440154"), std::string::npos);  // the map's first colour, for 0
  EXPECT_NE(svg.find("#fde725"), std::string::npos);  // and its last, for 1
  EXPECT_EQ(unbalanced(color_bar_svg(ColorMap::grey, "<0", "1")), std::nullopt);
}

TEST(Numbers, AreWrittenForReaders) {
  EXPECT_EQ(fixed(12.3456, 2), "12.35");
  EXPECT_EQ(fixed(-0.001, 1), "0.0");
  EXPECT_EQ(fixed(-1.25, 1), "-1.2");  // ties to even
  EXPECT_EQ(fixed(std::numeric_limits<double>::infinity(), 1), "inf");
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(percent(0), "0 %");
  EXPECT_EQ(percent(0.001), "<1 %");
  EXPECT_EQ(percent(0.456), "46 %");
  EXPECT_EQ(percent(0.999), ">99 %");
  EXPECT_EQ(percent(1), "100 %");
}

}  // namespace
}  // namespace tensorpress::report
