// Model texts: what they become, and how mistakes in them are shown.
#include <gtest/gtest.h>

#include "base/text.h"
#include "model/emit/emit.h"
#include "model/graph/operator.h"
#include "model/text/elaborate.h"

namespace tensorpress::model {
namespace {

const std::string kInputs = "input x: f32[N, 3, 8, 8]\ntarget y: i64[N]\n";

Result<Graph> graph_of(const std::string& text) {
  return elaborate(SourceText("m.tpm", text));
}

std::string mistake(const std::string& text) {
  const auto graph = graph_of(text);
  return graph.ok() ? "no mistake" : graph.error().message;
}

std::vector<std::string> parameter_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId id : graph.parameters) names.push_back(graph.values[id].name);
  return names;
}

TEST(ModelText, InstancePathsMakeTheNamesOfParameters) {
  const auto graph =
      graph_of(kInputs +
               "block unit(x, channels)\n"
               "  return relu(conv: conv2d(x, channels, 3, padding = 1, bias = false))\n"
               "end\n"
               "h = stem: unit(x, 4)\n"
               "repeat i in 0..2\n"
               "  h = layers.{i + 1}: unit(h, 4)\n"
               "end\n"
               "loss cross_entropy(fc: linear(flatten(h), 10), y)\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(parameter_names(*graph),
            (std::vector<std::string>{"stem.conv.weight", "layers.1.conv.weight",
                                      "layers.2.conv.weight", "fc.weight", "fc.bias"}));
  EXPECT_EQ(to_text(graph->values[graph->parameters[3]].type), "f32[10, 256]");
}

TEST(ModelText, SharedInstancesHaveOneSetOfParameters) {
  const auto graph = graph_of(
      "input a: f32[N, 4]\ninput b: f32[N, 4]\n"
      "u = side: linear(a, 4)\nv = share side: linear(b, 4)\nloss mse_loss(u, v)\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->parameters.size(), 2U);
  EXPECT_EQ(graph->nodes[0].parameters, graph->nodes[1].parameters);
}

TEST(ModelText, TiedParametersHaveTwoNames) {
  const auto graph = graph_of(
      "input t: i64[N]\ntarget y: i64[N]\nh = wte: embedding(t, 7, 4)\n"
      "h = head: linear(h, 7, bias = false, weight = @wte.weight)\nloss cross_entropy(h, y)\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->parameters.size(), 1U);
  ASSERT_EQ(graph->aliases.size(), 1U);
  EXPECT_EQ(graph->aliases[0].first, "head.weight");
}

TEST(ModelText, ConditionsAndArithmeticAreDecidedWhenTheTextIsRead) {
  const auto graph = graph_of(kInputs +
                              "width = 2 * 3 + 8 // 4\n"
                              "if width == 8 and not false\n  h = a: conv2d(x, width, 1)\n"
                              "else\n  h = b: conv2d(x, 1, 1)\nend\n"
                              "loss cross_entropy(fc: linear(flatten(h), 10), y)\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(parameter_names(*graph)[0], "a.weight");
}

TEST(ModelText, EntriesOfASparseMatrixAreOpenOrSixteenARow) {
  const auto bytes_of_matrix = [](const std::string& type, const Sizes& given) {
    const auto graph =
        graph_of("input a: csr " + type +
                 "\ninput x: f32[V, 6]\ntarget t: i64[V]\nh = spmm(a, l: linear(x, 4))\n"
                 "loss cross_entropy(h, t)\n");
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    const Sizes sizes = complete_sizes(*graph, given, 100);
    return bytes(graph->values[graph->inputs[0]].type, sizes);
  };
  // Values of 4 bytes, columns and the beginnings of rows of 8.
  EXPECT_EQ(bytes_of_matrix("f32[V, V] entries E", {{"V", 10}, {"E", 37}}), 37 * 12 + 11 * 8);
  EXPECT_EQ(bytes_of_matrix("f32[V, V] entries E", {{"V", 10}}), 160 * 12 + 11 * 8);
  EXPECT_EQ(bytes_of_matrix("f32[V, V]", {}), 1600 * 12 + 101 * 8);
  EXPECT_EQ(bytes_of_matrix("f32[V, V] entries 5 * 4", {}), 20 * 12 + 101 * 8);
  EXPECT_EQ(bytes_of_matrix("f32[V, V] entries V", {}), 100 * 12 + 101 * 8);
  EXPECT_EQ(mistake("input x: f32[N, 4] entries E\n"),
            "m.tpm:1:28: only a csr matrix has a number of entries\n"
            "  1 | input x: f32[N, 4] entries E\n"
            "    |                            ^");
  EXPECT_NE(mistake("input a: csr f32[V, V] entries\n").find("expected an expression"),
            std::string::npos);
}

TEST(ModelText, MistakesShowLineColumnAndCaret) {
  EXPECT_EQ(mistake(kInputs + "h = con2d(x, 64, 3)\n"),
            "m.tpm:3:5: there is no operator or block 'con2d' (did you mean 'conv2d'?)\n"
            "  3 | h = con2d(x, 64, 3)\n"
            "    |     ^");
  EXPECT_EQ(mistake(kInputs + "h = relu(x\n"),
            "m.tpm:3:11: expected ',' or ')'\n"
            "  3 | h = relu(x\n"
            "    |           ^");
}

TEST(ModelText, EveryKindOfMistakeIsNamed) {
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(mistake(text).find(part), std::string::npos) << mistake(text);
  };
  const std::string rest = "loss cross_entropy(fc: linear(flatten(h), 10), y)\n";
  contains(kInputs + "h = c: conv2d(z, 4, 3)\n", "'z' is not defined before this line");
  contains(kInputs + "h = conv2d(x, 4, 3)\n" + rest, "has parameters and needs a name");
  contains(kInputs + "h = c: conv2d(x, 4, 9)\n" + rest, "a window of 9 does not fit into 8");
  contains(kInputs + "h = c: conv2d(x, 4, 3, groups = 2)\n" + rest, "'groups' is 2");
  contains(kInputs + "h = c: conv2d(x, 4, 3)\nh = c: conv2d(h, 4, 3)\n" + rest,
           "there is already a 'c'");
  contains(kInputs + "h = share c: conv2d(x, 4, 3)\n" + rest, "to share");
  contains(kInputs + "h = x\n" + rest + rest, "the model has a loss already");
  contains(kInputs + "h = x\nunused = relu(x)\n" + rest, "the result of 'relu' is never used");
  contains(kInputs + "input z: f32[N]\nh = x\n" + rest, "input 'z' is never used");
  contains(kInputs + "input x: f32[N]\n", "there is already a 'x'");
  contains(kInputs + "h = x\n", "has no loss");
  contains(kInputs + "loss cross_entropy(flatten(x), y)\n", "does not depend on any parameter");
  contains(
      "block a(x)\n  return b(x)\nend\nblock b(x)\n  return a(x)\nend\n" + kInputs + "h = a(x)\n",
      "a block cannot contain itself: a -> b -> a");
  contains(kInputs + "h = x + y\n", "must be numbers and of one type");
  contains("input x: f31[N]\n", "'f31' is not an element type");
  contains(kInputs + "repeat i in 0..3\n", "has no 'end'");
  contains(kInputs + "end\n", "this 'end' closes nothing");
  contains(kInputs + "h = relu(x, kernel = 3)\n", "relu has no argument 'kernel'");
  contains(kInputs + "h = c: conv2d(x, kernel = 3)\n", "conv2d needs 'channels'");
  contains(kInputs + "n = 9223372036854775807 + 1\n", "does not fit in 64 bits");
  contains("input x: f32[N, 4]\nh = y: relu(x)\ntarget y: f32[N, 4]\n",
           "there is already an activation 'y'; declare inputs and targets before the calls");
}

TEST(ModelText, WordsInPathsAreWhatNamesAreMadeOf) {
  const auto said = [](const std::string& word) {
    return mistake(kInputs + "h = a: conv2d(x, 4, 1)\nh = {\"" + word + "\"}: gelu(h)\n" +
                   "loss cross_entropy(fc: linear(flatten(h), 10), y)\n");
  };
  EXPECT_EQ(said("a\r        print(1)#"),
            "m.tpm:4:30: {\"a?        print(1)#\"} is \"a?        print(1)#\"; a path has letters, "
            "digits and underscores, and dots between them\n"
            "  4 | h = {\"a?        print(1)#\"}: gelu(h)\n"
            "    |                              ^");
  for (const char* const word :
       {"a\\", "a]", "a:b", "a b", "", ".", "a.", ".a", "a..b", "\xc3\xa4"}) {
    EXPECT_NE(said(word).find("a path has letters"), std::string::npos) << word << said(word);
  }
  for (const char* const word : {"a1", "_", "1", "layers.0.Gelu_2"}) {
    EXPECT_EQ(said(word), "no mistake") << word;
  }
}

TEST(ModelText, HostileTextIsAnErrorAndNotACrash) {
  EXPECT_NE(mistake("h = " + std::string(100000, '(') + "\n").find("characters"),
            std::string::npos);
  EXPECT_NE(mistake("h = " + std::string(1000, '(') + "\n").find("brackets"), std::string::npos);
  EXPECT_NE(mistake("repeat i in 0..1500000000000\nn = i\nend\n").find("steps"), std::string::npos);
  std::string nested;
  for (int i = 0; i < 100; ++i) nested += "if true\n";
  EXPECT_NE(mistake(nested).find("bodies are open"), std::string::npos);
  EXPECT_NE(mistake(std::string("h = \"\x01\x1b[31m", 10)).find("m.tpm:1"), std::string::npos);
}

TEST(ModelText, AFewLinesCannotAskForMoreThanAModelHas) {
  const auto says = [](const std::string& text, const std::string& words) {
    EXPECT_NE(mistake(text).find(words), std::string::npos) << mistake(text);
  };
  std::string sum = "n = 1";
  for (int i = 0; i < 3000; ++i) sum += "+1";
  says(sum + "\n", "deeper than 500");
  std::string list = "l = [x, x]\n";
  for (int i = 0; i < 40; ++i) list += "l = [l, l]\n";
  says(kInputs + list, "at most 1024 tensors");
  says(kInputs + "repeat i in 0..30000\n  x = relu(x)\nend\n", "more than 20000 operations");
  says(kInputs + "h = " + std::string(2000, 'a') + ": relu(x)\n", "a name of 2000 characters");
  std::string type = "input z: f32[1";
  for (int i = 0; i < 64; ++i) type += ", 1";
  says(type + "]\n", "at most 64 dimensions");
  std::string declarations;
  for (int i = 0; i < 1025; ++i) declarations += text("input i", i, ": f32[N", i, "]\n");
  says(declarations, "more than 1024 inputs");
  const std::string huge = "param p: f32[16000000, 16000000]\n";
  says(huge + "param q: f32[16000000, 16000000]\n", "the parameters have more than");
  // Blocks in blocks, each behind a deep expression.
  std::string blocks = kInputs + "block b0(n)\n  return n\nend\n";
  for (int i = 1; i < 60; ++i) {
    std::string deep;
    for (int j = 0; j < 400; ++j) deep += "+ 1";
    blocks += text("block b", i, "(n)\n  return b", i - 1, "(n)", deep, "\nend\n");
  }
  says(blocks + "n = b59(1)\n", "nested deeper than 1000");
}

TEST(ModelText, LongChainsAreLoweredInTimeAndOnAnySmallStack) {
  std::string text = kInputs + "h = fc: linear(flatten(x), 10)\n";
  text += "repeat i in 0..1500\n  h = relu(reshape(h, [0, -1]))\nend\n";
  text += "repeat i in 0..15000\n  h = reshape(h, [0, -1])\nend\n";
  const auto graph = graph_of(text + "h = h * h\nloss cross_entropy(h, y)\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (const char* const name : {"off", "max"}) {
    const auto source =
        emit(*graph, *named_policy(name), {.lowering = {.sizes = {{"N", 4}}}, .command = "test"});
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_NE(source->find("relu_1500"), std::string::npos);
  }
}

TEST(ModelText, ConcatenationsOfConcatenationsAreLoweredInTime) {
  std::string many;
  for (int i = 0; i < 64; ++i) many += i == 0 ? "h" : ", h";
  std::string text = "param h: f32[1, 1] = \"normal\"\n";
  for (int i = 0; i < 7; ++i) text += "h = cat([" + many + "], 1)\n";
  const auto graph = graph_of(text + "loss mse_loss(gelu(h), h)\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (const char* const name : {"off", "lossless", "balanced", "max"}) {
    EXPECT_TRUE(emit(*graph, *named_policy(name), {.lowering = {}, .command = "test"}).ok());
  }
}

TEST(ModelText, AModelWithoutInputsIsEmitted) {
  const auto graph = graph_of("param h: f32[2, 3] = \"normal\"\nloss mse_loss(gelu(h), h)\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  for (const bool native : {true, false}) {
    const auto source =
        emit(*graph, policy_off(), {.lowering = {.native = native}, .command = "test"});
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_NE(source->find("def forward(self):"), std::string::npos);
  }
}

TEST(ModelText, SizesThatDoNotFitIn64BitsAreRefused) {
  const auto graph = graph_of(kInputs + "loss cross_entropy(fc: linear(flatten(x), 10), y)\n");
  ASSERT_TRUE(graph.ok());
  const LowerOptions enormous{.sizes = {{"N", std::int64_t{1} << 45}}};
  const auto refused = emit(*graph, policy_off(), {.lowering = enormous, .command = "test"});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("N = 35184372088832"), std::string::npos);
}

TEST(ModelText, AHundredThousandLinesAreRead) {
  std::string text = kInputs + "h = x\n";
  for (int i = 0; i < 100000; ++i) text += "n = 1 + 2  # a line\n";
  text += "loss cross_entropy(fc: linear(flatten(h), 10), y)\n";
  const auto graph = graph_of(text);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
}

}  // namespace
}  // namespace tensorpress::model
