// Texts of JSON that come from outside, and everything that reads them.
#include "base/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include "devices/programs/graph_file.h"
#include "model/planner/planned_file.h"
#include "model/policy/plan_file.h"
#include "wafer/calibration/calibration.h"

namespace tensorpress {
namespace {

using Json = nlohmann::json;

std::string refusal(const std::string& json) {
  const auto object = parse_json_object<Json>(json);
  return object.ok() ? std::string("fine") : object.error().message;
}

TEST(JsonText, MistakesAreSaidWithTheirPlace) {
  EXPECT_EQ(refusal(R"({"a": [1, {"b": 2}]})"), "fine");
  for (const auto& [json, place] : {std::pair{"", "line 1, column 1"},
                                    {"{", "line 1, column 2"},
                                    {"{\"a\": 1,\n \"b\" 2}", "line 2, column 6"},
                                    {"{\n\n\"a\": tru}", "line 3, column 9"},
                                    {"{\"a\": \"\xff\"}", "line 1, column 8"}}) {
    EXPECT_EQ(refusal(json).find(text("it is not JSON at ", place)), 0U) << refusal(json);
  }
  EXPECT_NE(refusal("[1]").find("of type array"), std::string::npos);
  EXPECT_NE(refusal("7").find("of type number"), std::string::npos);
  EXPECT_NE(refusal(R"({"a": 1e999})").find("out of range"), std::string::npos);
}

TEST(JsonText, BracketsInsideOfStringsAreNoLists) {
  EXPECT_EQ(json_nesting(R"({"a": "[[[[\"[[", "b": [1]})"), 2U);
  EXPECT_EQ(refusal(text(R"({"a": ")", std::string(1000, '['), "\"}")), "fine");
}

TEST(JsonText, AMillionListsInListsAreAnErrorEverywhereAndNotTheEndOfTheStack) {
  constexpr std::size_t kLists = 1'000'000;
  const std::string lists = std::string(kLists, '[') + std::string(kLists, ']');
  const auto told = [](const auto& result) {
    return !result.ok() && result.error().message.find("lists in lists") != std::string::npos;
  };
  for (const char* key : {"default", "min_bytes", "by_name", "by_type"}) {
    EXPECT_TRUE(told(model::parse_plan(text("{\"", key, "\": ", lists, "}"), "m"))) << key;
  }
  EXPECT_TRUE(told(model::statistics_from_json(text(R"({"activations": )", lists, "}"), "s.json")));
  EXPECT_TRUE(told(devices::parse_graph(text(R"({"version": )", lists, "}"), "g.json")));
  EXPECT_TRUE(told(wafer::Calibration::from_json(text(R"({"constants": )", lists, "}"))));
}

}  // namespace
}  // namespace tensorpress
