// Lines and their lifetimes, and the Python functions that lines call.
#include "model/program/program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "model/emit/python/functions.h"
#include "model/program/print.h"

namespace tensorpress::model {
namespace {

const Stored kKept{"a"};

/// Two variables of the backward pass over one stored value: d = f(S["a"]); e = value.
Program two_lines(const Expression& value) {
  Program program;
  program.memories = {{8}, {8}, {8}};
  program.variables = {{kKept, 0}, {Local{"d"}, 1}, {Local{"e"}, 2}};
  program.backward.push_back(
      {.targets = {Local{"d"}}, .value = torch("exp", kKept), .defines = {1}});
  program.backward.push_back({.targets = {Local{"e"}}, .value = value, .defines = {2}});
  program.find_lifetimes();
  return program;
}

TEST(ModelProgram, TheLastReaderOfAStoredValueTakesItOut) {
  const Program once = two_lines(Expression(Local{"d"}) * kKept);
  EXPECT_EQ(to_python(once.backward[0]), "d = torch.exp(S[\"a\"])");
  EXPECT_EQ(to_python(once.backward[1]), "e = d * S.pop(\"a\")");
  const Program twice = two_lines(Expression(kKept) * kKept);
  EXPECT_EQ(to_python(twice.backward[1]), "e = S[\"a\"] * S[\"a\"]");
  EXPECT_EQ(twice.backward[1].last, (std::vector<std::size_t>{0, 2}));
}

TEST(ModelProgram, AVariableDiesAfterTheLineThatReadsItLast) {
  const Program read = two_lines(Expression(Local{"d"}) * 2);
  EXPECT_EQ(read.backward[0].last, std::vector<std::size_t>{0});
  EXPECT_EQ(read.backward[1].last, (std::vector<std::size_t>{1, 2}));
  const Program unread = two_lines(torch("zeros", 2));
  EXPECT_EQ(unread.backward[0].last, (std::vector<std::size_t>{0, 1}));
}

TEST(ModelProgram, AddingToAVariableReadsIt) {
  const Line adds{.targets = {Local{"d"}}, .value = Local{"e"}, .adds = true};
  EXPECT_EQ(to_python(adds), "d += e");
  EXPECT_EQ(read_by(adds).size(), 2U);
  const Line assigns{.targets = {Local{"d"}, Local{"_"}}, .value = Local{"e"}};
  EXPECT_EQ(to_python(assigns), "d, _ = e");
  EXPECT_EQ(read_by(assigns).size(), 1U);
}

TEST(ModelProgram, MentionsAreFunctionsTypesAndSymbolsOfTheLines) {
  const Line line{.value = function("unpack_bits", kKept, 4, Shape{Dim{2, "N"}}, Element::f16)};
  const Mentions mentions = mentions_of({line});
  EXPECT_EQ(mentions.functions, std::set<std::string>{"unpack_bits"});
  EXPECT_EQ(mentions.elements, std::set<Element>{Element::f16});
  EXPECT_EQ(mentions.symbols, std::set<std::string>{"N"});
}

std::vector<std::string_view> picked(const std::set<std::string>& names, bool native) {
  std::vector<std::string_view> all;
  for (const PythonFunction* each : functions_for(names, native)) all.push_back(each->name);
  return all;
}

TEST(PythonFunctions, AFileHasWhatItsLinesCallAndWhatThatNeeds) {
  using Names = std::vector<std::string_view>;
  EXPECT_EQ(picked({"pack_bits"}, true), Names{"pack_bits"});
  EXPECT_EQ(picked({"pack_bits"}, false), (Names{"pack_bits", "pack_codes", "seeded_noise"}));
  EXPECT_EQ(picked({"masked_slices", "give"}, true),
            (Names{"mask_by_signs_", "masked_slices", "Slices"}));
}

TEST(PythonFunctions, FactsAreReadFromTheCommentsAboveADefinition) {
  const auto functions = functions_in(
      "import torch\n\n\n# needs: a, b\n# operators: floor, view 2,\n#   mul\n"
      "# in place: x, if own\ndef f(x, y=1, *rest):\n    return x\n\n\nclass G:\n    pass\n");
  ASSERT_EQ(functions.size(), 2U);
  const PythonFunction& f = functions[0];
  EXPECT_EQ(f.name, "f");
  EXPECT_EQ(f.text, "def f(x, y=1, *rest):\n    return x\n");
  EXPECT_EQ(f.needs, (std::vector<std::string_view>{"a", "b"}));
  EXPECT_EQ(f.arguments, (std::vector<std::string_view>{"x", "y", "*rest"}));
  EXPECT_EQ(f.in_place, "x");
  EXPECT_EQ(f.in_place_if, "own");
  const std::vector<std::pair<std::string_view, int>> operators = {
      {"floor", 1}, {"view", 2}, {"mul", 1}};
  EXPECT_EQ(f.operators, operators);
  EXPECT_EQ(functions[1].name, "G");
  EXPECT_TRUE(functions[1].needs.empty());
}

TEST(PythonFunctions, WhatAFunctionNeedsOrWritesToExists) {
  for (const bool native : {true, false}) {
    for (const std::string_view name : function_names()) {
      const PythonFunction* const function = find_function(name, native);
      ASSERT_NE(function, nullptr) << name;
      for (const std::string_view need : function->needs) {
        EXPECT_NE(find_function(need, native), nullptr) << name << " needs " << need;
      }
      for (const std::string_view argument : {function->in_place, function->in_place_if}) {
        if (argument.empty()) continue;
        EXPECT_EQ(std::ranges::count(function->arguments, argument), 1) << name << argument;
      }
    }
  }
}

}  // namespace
}  // namespace tensorpress::model
