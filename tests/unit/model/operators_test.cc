// What operators make of types, and how they refuse what they cannot.
#include <gtest/gtest.h>

#include "base/text.h"
#include "model/emit/emit.h"
#include "model/graph/operator.h"
#include "model/lowering/lower.h"
#include "model/text/elaborate.h"

namespace tensorpress::model {
namespace {

Result<Graph> graph_of(const std::string& text) {
  return elaborate(SourceText("m.tpm", text));
}

/// x is f32[N, 4, 6]; c is bool, i is i64[K], p is a parameter f32[4, 1].
std::string with_inputs(const std::string& line) {
  return "input x: f32[N, 4, 6]\ninput c: bool[N, 4, 6]\ninput i: i64[K]\n"
         "param p: f32[4, 1]\nh = x * p\n" +
         line + "\n";
}

/// The type of y, or what is wrong, without the place.
std::string type_of(const std::string& line) {
  const auto graph = graph_of(
      with_inputs(line + "\nused = index_select(masked_fill(h, c, 0), i)\noutput used\noutput y\n"
                         "loss mean(flatten(h, 0), 0)"));
  if (!graph.ok()) {
    const std::string message = graph.error().message;
    const std::size_t first = message.find(": ") + 2;
    return message.substr(first, message.find('\n') - first);
  }
  return to_text(graph->values[graph->outputs.back()].type);
}

TEST(ModelOperators, ViewsHaveTheShapesOfPyTorch) {
  EXPECT_EQ(type_of("y = permute(h, [2, 0, 1])"), "f32[6, N, 4]");
  EXPECT_EQ(type_of("y = permute(h, [-1, -3, 1])"), "f32[6, N, 4]");
  EXPECT_EQ(type_of("y = unsqueeze(h, -1)"), "f32[N, 4, 6, 1]");
  EXPECT_EQ(type_of("y = squeeze(unsqueeze(h, 1), 1)"), "f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = slice(h, 2, 1, -1)"), "f32[N, 4, 4]");
  EXPECT_EQ(type_of("y = slice(h, 2, start = 1, step = 2)"), "f32[N, 4, 3]");
  EXPECT_EQ(type_of("y = slice(h, 1, stop = 100)"), "f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = expand(unsqueeze(h, 0), [3, -1, -1, -1])"), "f32[3, N, 4, 6]");
  EXPECT_EQ(type_of("y = expand(p, h)"), "f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = expand(p, h, [0, -1, 9])"), "f32[N, 4, 9]");
  EXPECT_EQ(type_of("y = stack([h, h, h], 1)"), "f32[N, 3, 4, 6]");
  EXPECT_EQ(type_of("y = sum(h, [0, -1], true)"), "f32[1, 4, 1]");
}

TEST(ModelOperators, ViewsSayWhatTheyCannotShow) {
  EXPECT_EQ(type_of("y = permute(h, [0, 1])"),
            "permute: [0, 1] does not name every axis of f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = permute(h, [0, 1, 1])"), "permute: axis 1 stands twice in [0, 1, 1]");
  EXPECT_EQ(type_of("y = permute(h, [0, 1, 3])"), "permute: there is no axis 3 in f32[N, 4, 6]");
  EXPECT_EQ(
      type_of("y = squeeze(h, 1)"),
      "squeeze: axis 1 of f32[N, 4, 6] has 4 elements; only an axis of one can be taken away");
  EXPECT_EQ(type_of("y = unsqueeze(h, 4)"), "unsqueeze: there is no axis 4 in f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = slice(h, 0, 1, 2)"),
            "slice: axis 0 of f32[N, 4, 6] is open; parts have fixed extents");
  EXPECT_EQ(type_of("y = slice(h, 1, 3, 2)"),
            "slice: from 3 to 2 there is nothing of the 4 elements of axis 1");
  EXPECT_EQ(type_of("y = slice(h, 1, 0, 2, 0)"), "slice: 'step' is 0; it must be 1 or more");
  EXPECT_EQ(type_of("y = expand(h, [-1, 8, -1])"),
            "expand: f32[N, 4, 6] cannot be repeated to [N, 8, -1]");
  EXPECT_EQ(type_of("y = expand(h, [6])"), "expand: f32[N, 4, 6] cannot be repeated to [6]");
  EXPECT_EQ(type_of("y = expand(p, [0, -1, -1])"),
            "expand: the extent 0 at place 0 stands for that of a second tensor, which has none "
            "there");
  EXPECT_EQ(type_of("y = expand(p, [9000000000000000000, -1, -1])"),
            "an axis of 9000000000000000000 elements; there may be 281474976710656");
  EXPECT_EQ(type_of("y = expand(p)"),
            "expand: a 'shape' or a second tensor says what to repeat to");
  EXPECT_EQ(type_of("y = stack([h, p])"),
            "stack: tensors of one type are stacked, not f32[N, 4, 6] and f32[4, 1]");
  EXPECT_EQ(type_of("y = sum(h, [])"), "sum: 'axes' names no axis");
  EXPECT_EQ(type_of("y = sum(h, [1, -2])"), "sum: axis -2 is given twice");
}

TEST(ModelOperators, ChoicesAndComparisonsAreOfTruths) {
  EXPECT_EQ(type_of("y = h > 0"), "bool[N, 4, 6]");
  EXPECT_EQ(type_of("y = p == h"), "bool[N, 4, 6]");
  EXPECT_EQ(type_of("y = where(c, p, h)"), "f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = where(3 >= h, h, otherwise = -infinity)"), "f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = where(h, h, h)"),
            "where: the condition must be bool, but is f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = where(c, h)"),
            "where: either a third tensor or 'otherwise' says what stands elsewhere");
  EXPECT_EQ(type_of("y = where(c, c, c)"),
            "where: what is chosen from must be numbers of one type, but there is "
            "bool[N, 4, 6]");
  EXPECT_EQ(type_of("y = masked_fill(p, c, 0)"),
            "masked_fill: a mask of bool[N, 4, 6] does not fit into f32[4, 1]");
  EXPECT_EQ(type_of("y = c > 0"), "greater: numbers are compared, not bool[N, 4, 6]");
  EXPECT_EQ(type_of("y = h > i"), "greater: f32[N, 4, 6] and i64[K] are not of one type");
  EXPECT_EQ(type_of("y = greater(h)"),
            "greater: a tensor is compared with another one, or with the number 'than'");
  EXPECT_EQ(type_of("y = h * infinity"), "'factor' of scale is a finite number");
  EXPECT_EQ(type_of("y = pow(h, 0)"), "pow: 'exponent' is 0; the result would be 1 everywhere");
  EXPECT_EQ(type_of("y = leaky_relu(h, -0.5)"),
            "leaky_relu: 'slope' is -0.5; it must be 0 or more");
  EXPECT_EQ(type_of("y = hardtanh(h, 2)"),
            "hardtanh: 'low' is 2 and 'high' is 1; low must be below high");
  EXPECT_EQ(type_of("y = exp(i)"), "exp: the input must be floating, but is i64[K]");
}

TEST(ModelOperators, NumbersOfElementsAreWholeAndFit) {
  EXPECT_EQ(type_of("y = index_select(h, i, 1)"), "f32[N, K, 6]");
  EXPECT_EQ(type_of("y = segment_sum(index_select(h, i), i, h)"), "f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = index_select(h, c)"),
            "index_select: the numbers must be i64, but are bool[N, 4, 6]");
  EXPECT_EQ(type_of("y = index_select(i, i)"),
            "index_select: elements are taken of a floating tensor, not of i64[K]");
  EXPECT_EQ(type_of("y = gather(h, i, 1)"),
            "gather: numbers of i64[K] do not fit to f32[N, 4, 6] on the axes beside 1");
  EXPECT_EQ(type_of("y = segment_sum(h, i, h)"),
            "segment_sum: rows and as many numbers are needed, not f32[N, 4, 6] and i64[K]");
}

TEST(ModelOperators, ConstantsAndWholeNumbersHaveTypes) {
  EXPECT_EQ(type_of("y = arange(5)"), "i64[5]");
  EXPECT_EQ(type_of("y = full([2, 1], -infinity)"), "f32[2, 1]");
  EXPECT_EQ(type_of("y = numbers([0.5, -2, 3], [3, 1]) * 2"), "f32[3, 1]");
  EXPECT_EQ(type_of("y = cumsum(cast(arange(4) + 1 > 2, \"i32\"), 0)"), "i64[4]");
  EXPECT_EQ(type_of("y = arange(5) * 0.5"),
            "scale: the tensor is i64[5], which is joined with whole numbers by '+' and '*' only");
  EXPECT_EQ(type_of("y = arange(0)"), "arange: 'shape' has an extent of 0; it must be 1 or more");
  EXPECT_EQ(type_of("y = numbers([1, 2], [3])"), "numbers: 2 numbers cannot be [3]");
  EXPECT_EQ(type_of("y = numbers([0.5], type = \"i64\")"),
            "numbers: 0.5 is not a whole number, which i64 has");
  EXPECT_EQ(type_of("y = cast(h, \"f32\")"), "cast: the input is f32 already");
  EXPECT_EQ(type_of("y = logical_and(c, h)"),
            "logical_and: the inputs must be bool, but there is f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = roll(h, [1, 2], 1)"),
            "roll: there are 2 shifts for 1 axes of f32[N, 4, 6]");
  EXPECT_EQ(type_of("y = pad(h, [0, 1, 0])"),
            "pad: 'sides' is a list of 3; it is [left, right, top, bottom], [left, right] or one "
            "number");
}

/// The same for attention over h with a mask of some type.
std::string attention_mistake(const std::string& mask, const std::string& arguments) {
  const auto graph = graph_of("input x: f32[N, 4, 6]\ninput m: " + mask +
                              "\nparam p: f32[6]\nh = x * p\ny = attention(h, h, h, m, " +
                              arguments + ")\nloss mean(flatten(y, 0), 0)\n");
  if (graph.ok()) return "no mistake";
  const std::string message = graph.error().message;
  const std::size_t first = message.find(": ") + 2;
  return message.substr(first, message.find('\n') - first);
}

TEST(ModelOperators, MasksOfAttentionAreBroadcastToPairs) {
  for (const char* const mask :
       {"bool[4, 4]", "f32[N, 3, 4, 4]", "f32[1, 1, 4, 4]", "bool[N, 1, 1, 4]", "f32[1, 4]"}) {
    EXPECT_EQ(attention_mistake(mask, "3"), "no mistake") << mask;
  }
  EXPECT_EQ(attention_mistake("i64[4, 4]", "3"),
            "attention: the mask must be bool or f32, but is i64[4, 4]");
  EXPECT_EQ(attention_mistake("bool[N, 2, 4, 4]", "3"),
            "attention: the mask is bool[N, 2, 4, 4]; it must fit to [N, 3, 4, 4] or its last two "
            "axes, each of them whole or 1");
  EXPECT_EQ(attention_mistake("bool[3, 4, 4]", "3"),
            "attention: the mask is bool[3, 4, 4]; it must fit to [N, 3, 4, 4] or its last two "
            "axes, each of them whole or 1");
  EXPECT_EQ(attention_mistake("bool[4, 4]", "3, causal = true"),
            "attention: there is a mask, so that 'causal' must be false");
  EXPECT_EQ(attention_mistake("bool[4, 4]", "3, dropout = 1"),
            "attention: 'dropout' is 1; it must be 0 or more, and below 1");
  EXPECT_EQ(attention_mistake("bool[4, 4]", "3, scale = 0"),
            "attention: 'scale' is 0; it must be above 0");
}

/// What is stored for the backward pass: name -> bytes.
std::map<std::string, std::int64_t> stored(const std::string& text, const char* policy) {
  const auto graph = graph_of(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  const auto program = lower(*graph, *named_policy(policy), {.sizes = {{"N", 8}}});
  EXPECT_TRUE(program.ok());
  return program->stored;
}

TEST(ModelOperators, CompactPlansStoreBitsAndSeedsInsteadOfMasks) {
  const std::string head = "input x: f32[N, 4, 1024]\nh = a: linear(x, 1024)\n";
  const std::string tail = "\nloss mean(flatten(b: linear(y, 8), 0), 0)\n";
  for (const char* const name : {"relu", "leaky_relu", "relu6", "hardtanh"}) {
    const auto bytes = stored(head + "y = " + name + "(h)" + tail, "balanced");
    EXPECT_EQ(bytes.at(text(name, ":signs")), 8 * 4 * 1024 / 8) << name;
    EXPECT_EQ(bytes.at(name), 8 * 4 * 1024 / 256 * (4 + 128)) << name;
  }
  EXPECT_EQ(
      stored(head + "y = where(h > 0, h, otherwise = 1)" + tail, "balanced").at("where:condition"),
      8 * 4 * 1024 / 8);
  const std::string attention = "q, k, v = chunk(h, 4)\ny = attention(q, k, v, 4, dropout = 0.1)";
  const std::string three =
      "input x: f32[N, 4, 1024]\nh = a: linear(x, 3072)\n"
      "q, k, v = chunk(h, 3)\ny = attention(q, k, v, 4, dropout = 0.1)" +
      tail;
  EXPECT_EQ(stored(three, "off").at("attention:noise"), 8 * 4 * 4 * 4 * 4);
  const auto compact = stored(three, "lossless");
  EXPECT_FALSE(compact.contains("attention:noise"));
  EXPECT_FALSE(compact.contains("attention:probabilities"));
}

TEST(ModelOperators, APartIsStoredWithoutTheRestUnlessAllOfItIs) {
  const std::string head =
      "input x: f32[N, 64, 256]\nh = a: linear(x, 256)\ny = slice(h, 1, 0, 4)\n"
      "loss mean(flatten(b: linear(y, 8), 0), 0)";
  const auto part = stored(head + "\n", "balanced");
  EXPECT_EQ(part.at("slice"), 8 * 4 * 256 / 256 * (4 + 128));
  EXPECT_FALSE(part.contains("a"));
  const auto both = stored(head + " + mean(flatten(c: linear(h, 8), 0), 0)\n", "balanced");
  EXPECT_EQ(both.at("a"), 8 * 64 * 256 / 256 * (4 + 128));
  EXPECT_FALSE(both.contains("slice"));
}

}  // namespace
}  // namespace tensorpress::model
