// Which rule holds for which variable, and files of bounds as users may write them.
#include "files/rewriting/variable_bounds.h"

#include <gtest/gtest.h>

#include "files/rewriting/bounds_file.h"

namespace tensorpress::files {
namespace {

class ListedFile : public NetcdfFile {
 public:
  ListedFile() {
    add("x", "double").coordinate = true;
    add("tas", "float");
    add("n", "int").refusal = "holds whole numbers (int)";
    add("packed", "short").packed = true;
    add("ocean/temp", "float");
    add("ocean/deep/temp", "float");
    add("T[1]", "float");
  }
  const std::vector<NetcdfVariable>& variables() const override { return variables_; }
  Result<std::unique_ptr<TensorSource>> source(const NetcdfVariable&) override {
    return Error{ErrorCode::unsupported, "not here"};
  }
  Result<std::uint64_t> stored_bytes(const NetcdfVariable&) override { return std::uint64_t{0}; }
  Result<NetcdfNotes> notes(const NetcdfVariable&) override {
    return Error{ErrorCode::unsupported, "not here"};
  }

 private:
  NetcdfVariable& add(const char* path, const char* type) {
    NetcdfVariable variable;
    variable.path = path;
    variable.type = type;
    variable.extents = {3};
    variables_.push_back(std::move(variable));
    return variables_.back();
  }

  std::vector<NetcdfVariable> variables_;
};

VariableBounds rules_of(const std::vector<std::pair<std::string, double>>& pairs) {
  VariableBounds rules;
  for (const auto& [pattern, value] : pairs) {
    EXPECT_TRUE(rules.add(VariableRule::with(pattern, Bound::absolute(value), pattern)).ok());
  }
  return rules;
}

/// "tas 1, ocean/temp 2", or the error.
std::string chosen(const VariableBounds& rules, bool packed = false,
                   const std::vector<std::string>& names = {}) {
  const ListedFile file;
  const auto choice = rules.choose(file, names, packed);
  if (!choice.ok()) return choice.error().message;
  std::string all;
  for (const auto& each : *choice) {
    all += (all.empty() ? "" : ", ") + each.variable->path + " " +
           std::to_string(static_cast<int>(each.choice.compress.bound->value()));
  }
  return all;
}

TEST(VariableBounds, ANameComesBeforeAPatternAndAPatternBeforeAllOthers) {
  EXPECT_EQ(chosen(rules_of({{"*", 1}, {"ocean/*", 2}, {"ocean/temp", 3}})),
            "tas 1, ocean/temp 3, ocean/deep/temp 2, T[1] 1");
  EXPECT_EQ(chosen(rules_of({{"ocean/temp", 3}, {"ocean/*", 2}, {"*", 1}})),
            "tas 1, ocean/temp 3, ocean/deep/temp 2, T[1] 1");
}

TEST(VariableBounds, APatternIsOfTheWholePathAndAStarTakesSlashes) {
  EXPECT_EQ(chosen(rules_of({{"*temp", 1}})), "ocean/temp 1, ocean/deep/temp 1");
  EXPECT_EQ(chosen(rules_of({{"ocean/?emp", 1}})), "ocean/temp 1");
  EXPECT_EQ(chosen(rules_of({{"/tas", 1}})), "tas 1");
}

TEST(VariableBounds, ANameWithBracketsIsAName) {
  EXPECT_EQ(chosen(rules_of({{"T[1]", 4}})), "T[1] 4");
}

TEST(VariableBounds, OnlyItsOwnNameCompressesACoordinate) {
  EXPECT_EQ(chosen(rules_of({{"x", 1}})), "x 1");
  EXPECT_NE(chosen(rules_of({{"x*", 1}})).find("matches coordinates"), std::string::npos);
}

TEST(VariableBounds, PackedNumbersTakeABoundWhereTheyAreUnpacked) {
  EXPECT_EQ(chosen(rules_of({{"packed", 1}}), true), "packed 1");
  EXPECT_NE(chosen(rules_of({{"packed", 1}})).find("packed whole numbers"), std::string::npos);
}

TEST(VariableBounds, TwoPatternsForOneVariableAreAnError) {
  const std::string said = chosen(rules_of({{"ocean/*", 1}, {"*temp", 2}}));
  EXPECT_NE(said.find("'ocean/temp' is matched by 'ocean/*'"), std::string::npos) << said;
}

TEST(VariableBounds, WhatIsAskedForByNameNeedsABound) {
  EXPECT_EQ(chosen(rules_of({{"*", 1}}), false, {"tas"}), "tas 1");
  const std::string said = chosen(rules_of({{"tas", 1}}), false, {"ocean/temp"});
  EXPECT_NE(said.find("has no bound"), std::string::npos) << said;
}

TEST(BoundsFile, EveryKeyIsRead) {
  VariableBounds rules;
  const auto read = parse_bounds(
      "[variables]\n"
      "tas = { rel = 1e-3, fill = [-999, nan], range = [0, 10], effort = \"fast\" }\n"
      "\"ocean/*\" = \"lossless\"\n"
      "\"T[1]\" = \"copy\"\n"
      "\"größe*\" = \"copy\"\n",
      "b.toml", rules);
  ASSERT_TRUE(read.ok()) << read.error().message;
  const ListedFile file;
  const auto choice = rules.choose(file, {}, false);
  ASSERT_FALSE(choice.ok());  // there is no Größe
  EXPECT_NE(choice.error().message.find("b.toml:5: 'größe*' matches no variable"),
            std::string::npos)
      << choice.error().message;
}

TEST(BoundsFile, AnErrorNamesTheFileAndTheLine) {
  for (const char* const line : {"tas = 1", "tas = { abs = 1, abs = 2 }", "tas = { abs = inf }",
                                 "tas = \"", "tas = []", "größe = \"copy\"", "a.b = 1"}) {
    VariableBounds rules;
    const auto read =
        parse_bounds(std::string("# a comment\n[variables]\n") + line + "\n", "b.toml", rules);
    ASSERT_FALSE(read.ok()) << line;
    EXPECT_TRUE(read.error().message.starts_with("b.toml:3: ")) << read.error().message;
  }
}

}  // namespace
}  // namespace tensorpress::files
