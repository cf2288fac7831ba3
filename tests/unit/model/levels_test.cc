// levels.toml as it is built into the program; docs/plan.md has the same table for users.
#include "model/policy/levels.h"

#include <gtest/gtest.h>

#include "model/policy/storing_cost.h"

namespace tensorpress::model {
namespace {

TEST(Levels, AreThoseOfTheDocumentation) {
  struct Expected {
    const char* name;
    const char* linear;
    const char* smooth;
    bool compact;
    int waiting_bits;
  };
  constexpr Expected kExpected[] = {
      {"off", "keep", "keep", false, 0},
      {"lossless", "keep", "keep", true, 0},
      {"safe", "quantize 8 bits", "quantize 8 bits", true, 0},
      {"balanced", "quantize 4 bits", "quantize 8 bits", true, 8},
      {"max", "quantize 2 bits stochastic", "quantize 4 bits stochastic", true, 8},
  };
  ASSERT_EQ(levels().policies.size(), std::size(kExpected));
  for (std::size_t i = 0; i < std::size(kExpected); ++i) {
    const Policy& policy = levels().policies[i];
    EXPECT_EQ(policy.name, kExpected[i].name);
    EXPECT_EQ(to_text(policy.fallback), kExpected[i].linear);
    EXPECT_EQ(to_text(policy.smooth), kExpected[i].smooth);
    EXPECT_EQ(policy.compact, kExpected[i].compact);
    EXPECT_EQ(policy.waiting_bits, kExpected[i].waiting_bits);
    EXPECT_EQ(policy.min_bytes, 4096);
    EXPECT_EQ(policy.exact_2d_bytes, 256 << 10);
  }
}

TEST(Levels, TheLadderGoesFromBf16DownToTheFewestBits) {
  const auto steps_to = [](int fewest_bits) {
    std::vector<std::string> texts;
    for (const Storing& each : storing_levels(fewest_bits)) texts.push_back(to_text(each));
    return texts;
  };
  EXPECT_EQ(steps_to(4),
            (std::vector<std::string>{"cast bf16", "quantize 8 bits", "quantize 6 bits",
                                      "quantize 5 bits", "quantize 4 bits"}));
  EXPECT_EQ(steps_to(1), (std::vector<std::string>{
                             "cast bf16", "quantize 8 bits", "quantize 6 bits", "quantize 5 bits",
                             "quantize 4 bits", "quantize 3 bits stochastic",
                             "quantize 2 bits stochastic", "quantize 1 bit stochastic"}));
}

TEST(Levels, AMissingEntryIsNamed) {
  EXPECT_NE(parse_levels("ladder = []").error().message.find("small_planes"), std::string::npos);
  EXPECT_NE(parse_levels("ladder = [").error().message.find("levels.toml:1"), std::string::npos);
}

}  // namespace
}  // namespace tensorpress::model
