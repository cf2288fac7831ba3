// What the maps of a wafer's cycles say of PEs that work and of those that have nothing to do.
#include <gtest/gtest.h>

#include "report/pages/wafer_pictures.h"

namespace tensorpress::report {
namespace {

std::string page_of(std::vector<std::uint32_t> cycles) {
  const auto width = static_cast<std::uint32_t>(cycles.size());
  return heat_page({{.title = "ceresz2", .width = width, .height = 1, .cycles = std::move(cycles)}})
      .value();
}

TEST(WaferHeat, IdlePesAreNeitherTheFastestNorPartOfTheMean) {
  const std::string page = page_of({1000, 3000, 0, 0, 0});
  EXPECT_NE(page.find("ceresz2: 1,000 to 3,000 cycles; the slowest PE takes 1.50 times the mean; "
                      "3 PEs are idle (0 cycles, dark)"),
            std::string::npos);
}

TEST(WaferHeat, NothingIsSaidOfIdlePesWhereAllWork) {
  const std::string page = page_of({1000, 3000});
  EXPECT_NE(page.find("1.50 times the mean<"), std::string::npos);
  EXPECT_EQ(page.find("idle"), std::string::npos);
}

TEST(WaferHeat, AMeshThatDoesNothingHasNoSlowest) {
  EXPECT_NE(page_of({0}).find("0 to 0 cycles; the slowest PE takes - times the mean; 1 PE is idle"),
            std::string::npos);
}

}  // namespace
}  // namespace tensorpress::report
