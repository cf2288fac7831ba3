// What waits for the backward pass: how many tensors, how many bytes, and the predicted peak.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "model/emit/emit.h"
#include "model/policy/plan_file.h"
#include "model/text/elaborate.h"

namespace tensorpress::model {
namespace {

const Sizes kSizes = {{"N", 10}};

/// conv, batch_norm, relu, conv: one lossy tensor and one bit a value in between.
const std::string kConvNormConv =
    "input x: f32[N, 16, 16, 16]\ntarget y: f32[N, 16, 16, 16]\n"
    "h = a: conv2d(x, 16, 3, padding = 1, bias = false)\n"
    "h = relu(n: batch_norm(h))\n"
    "h = b: conv2d(h, 16, 3, padding = 1, bias = false)\n"
    "loss mse_loss(h, y)\n";
constexpr std::int64_t kMap = 10 * 16 * 16 * 16 * 4;

Program program_of(const std::string& text, const Policy& policy) {
  const auto graph = elaborate(SourceText("m.tpm", text));
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  auto program = lower(*graph, policy, {.sizes = kSizes});
  EXPECT_TRUE(program.ok()) << program.error().message;
  return std::move(program).value();
}

TEST(ModelPolicy, OffKeepsWhatAutogradKeepsOnce) {
  const Program program = program_of(kConvNormConv, policy_off());
  // x and y are the caller's; a is batch_norm's input, relu's output is also b's input.
  EXPECT_EQ(program.stored.at("a"), kMap);
  EXPECT_EQ(program.stored.at("relu"), kMap);
  EXPECT_FALSE(program.stored.contains("n"));
  EXPECT_EQ(program.stored.at("n:mean"), 16 * 4);
}

TEST(ModelPolicy, NormalizedValuesAndSignsReplaceTwoMaps) {
  const Program program = program_of(kConvNormConv, named_policy("balanced").value());
  EXPECT_EQ(program.stored.at("n.normalized"), kMap / 8 + kMap / 4 / 256 * 4);
  EXPECT_EQ(program.stored.at("relu:signs"), kMap / 4 / 8);
  EXPECT_FALSE(program.stored.contains("a"));
  EXPECT_FALSE(program.stored.contains("relu"));
  EXPECT_FALSE(program.stored.contains("n:mean"));
}

TEST(ModelPolicy, ViewsAndSumsStoreNothing) {
  const Program program = program_of(
      "input x: f32[N, 2048]\ntarget y: f32[N, 2048]\nh = a: linear(x, 2048)\n"
      "h = flatten(reshape(h + h, [0, 2, 1024]))\nh = b: linear(h, 2048)\nloss mse_loss(h, y)\n",
      policy_off());
  // The input of b is a view of the sum, which is stored once; a's result is not stored at all.
  EXPECT_TRUE(program.stored.contains("add"));
  EXPECT_FALSE(program.stored.contains("a"));
  EXPECT_FALSE(program.stored.contains("flatten"));
}

TEST(ModelPolicy, DropoutKeepsASeedOnly) {
  const std::string text =
      "input x: f32[N, 2048]\ntarget y: f32[N, 2048]\nh = a: linear(x, 2048)\n"
      "h = dropout(h)\nloss mse_loss(h, y)\n";
  EXPECT_EQ(program_of(text, policy_off()).stored.at("dropout:noise"), 10 * 2048 * 4);
  EXPECT_FALSE(program_of(text, named_policy("lossless").value()).stored.contains("dropout:noise"));
}

TEST(ModelPolicy, MaxPoolKeepsTwoBitsForTwoByTwo) {
  const std::string text =
      "input x: f32[N, 16, 16, 16]\ntarget y: f32[N, 16, 8, 8]\n"
      "h = max_pool2d(a: conv2d(x, 16, 3, padding = 1), 2)\nloss mse_loss(h, y)\n";
  const std::int64_t outputs = 10 * 16 * 8 * 8;
  EXPECT_EQ(program_of(text, policy_off()).stored.at("max_pool2d:index"), outputs * 8);
  EXPECT_EQ(program_of(text, named_policy("lossless").value()).stored.at("max_pool2d:index"),
            outputs / 4);
}

TEST(ModelPolicy, PredictedPeakOfALinearChainIsCountedByHand) {
  // Widths of 256 at N = 10; the largest moment is in backward at layer b: its input, the gradients
  // of its output and input, its weight's gradient, and everything that the caller holds.
  const Program program = program_of(
      "input x: f32[N, 256]\ntarget y: f32[N, 256]\nh = a: linear(x, 256, false)\n"
      "h = b: linear(h, 256, false)\nloss mse_loss(h, y)\n",
      policy_off());
  const std::int64_t row = 10 * 256 * 4;
  const std::int64_t weight = 256 * 256 * 4;
  std::int64_t peak = 0;
  for (const Moment& moment : program.moments()) peak = std::max(peak, moment.total);
  // At a: both weight gradients, x and y (the caller's), d_a.
  EXPECT_EQ(peak, 2 * weight + 3 * row);
}

TEST(ModelPolicy, ARebuiltConcatenationHoldsAllThatItIsMadeOf) {
  const auto graph = elaborate(
      SourceText("m.tpm",
                 "input x: f32[N, 16, 32, 32]\ntarget y: f32[N, 16, 32, 32]\n"
                 "skip = first: relu(a: conv2d(x, 16, 3, padding = 1))\n"
                 "up = second: relu(b: conv2d(skip, 16, 3, padding = 1))\n"
                 "h = c: conv2d(cat([skip, up]), 16, 3, padding = 1)\nloss mse_loss(h, y)\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto program = lower(*graph, *named_policy("balanced"), {.sizes = {{"N", 64}}});
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto line = std::find_if(
      program->backward.begin(), program->backward.end(),
      [](const Line& each) { return mentions_of({each}).functions.contains("CatSink"); });
  ASSERT_NE(line, program->backward.end());
  const auto at =
      program->forward.size() + static_cast<std::size_t>(line - program->backward.begin());
  // 4 bits a value with 4 bytes for 256 of them, and a sign: of both relus, until the line is over.
  constexpr std::int64_t kValues = 64 * 16 * 32 * 32;
  const auto stored = [&](std::size_t moment) {
    return program->moments()[moment].by_kind[static_cast<std::size_t>(Memory::Kind::stored)];
  };
  EXPECT_EQ(stored(at), 2 * (kValues / 2 + kValues / 256 * 4 + kValues / 8));
  EXPECT_EQ(stored(at + 1), stored(at) - (kValues / 2 + kValues / 256 * 4));
}

TEST(ModelPolicy, EntriesThatMakeNoSenseAreRefused) {
  const auto graph = elaborate(SourceText("m.tpm", kConvNormConv));
  ASSERT_TRUE(graph.ok());
  const auto refusal = [&](const std::string& json) {
    const auto policy = parse_plan(json, "model");
    if (!policy.ok()) return policy.error().message;
    const auto program = lower(*graph, *policy, {.sizes = kSizes});
    return program.ok() ? std::string("accepted") : program.error().message;
  };
  EXPECT_NE(refusal(R"({"by_name": {"nobody": {"codec": "keep"}}})").find("made for another model"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"model": "other"})").find("made for model 'other'"), std::string::npos);
  EXPECT_NE(refusal(R"({"by_name": {"b": {"codec": "quantize"}}})").find("unsound"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"by_name": {"relu": {"codec": "quantize", "bits": 7}}})").find("'bits' is 7"),
      std::string::npos);
  EXPECT_NE(refusal(R"({"leve": "max"})").find("did you mean 'level'?"), std::string::npos);
  EXPECT_NE(refusal("[1").find("not JSON at line 1, column 3"), std::string::npos);
  EXPECT_EQ(refusal(R"({"by_name": {"relu": {"codec": "quantize", "bits": 8}}})"), "accepted");
}

TEST(ModelPolicy, ParametersThatACodecDoesNotHaveAreRefused) {
  const auto refusal = [](const std::string& rule) {
    const auto policy = parse_plan(text(R"({"by_name": {"relu": )", rule, "}}"), "model");
    return policy.ok() ? std::string("accepted") : policy.error().message;
  };
  EXPECT_EQ(refusal(R"({"codec": "quantize", "bit": 2})"),
            "by_name relu: codec quantize of emitted code has no 'bit' (did you mean 'bits'?)");
  EXPECT_NE(refusal(R"({"codec": "dct-chop", "layout": "triangle"})").find("has no 'layout'"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"codec": "dense", "relative": 0.01, "effort": "fast"})").find("'effort'"),
            std::string::npos);
  for (const char* const codec : {"keep", "rebuild", "offload", "cast"}) {
    EXPECT_NE(refusal(text(R"({"codec": ")", codec, R"(", "bits": 4})")).find("has no 'bits'"),
              std::string::npos);
  }
  const auto policy = parse_plan(R"({"default": {"codec": "quantize", "bit": 2}})", "model");
  ASSERT_FALSE(policy.ok());
  EXPECT_NE(policy.error().message.find("default: codec quantize"), std::string::npos);
}

TEST(ModelPolicy, TheDefaultIsForSmoothFunctionsToo) {
  const auto policy = parse_plan(R"({"default": {"codec": "cast", "to": "f16"}})", "model");
  ASSERT_TRUE(policy.ok()) << policy.error().message;
  EXPECT_EQ(to_text(policy->fallback), "cast f16");
  EXPECT_EQ(to_text(policy->smooth), "cast f16");
}

TEST(ModelPolicy, NumbersOutOfRangeAreRefusedAndNotCutShort) {
  const auto refusal = [](const std::string& json) {
    const auto policy = parse_plan(json, "model");
    return policy.ok() ? std::string("accepted") : policy.error().message;
  };
  // 2^32 + 4 is 4 in the low 32 bits, 2^32 + 1 is 1, 2^64 - 4 and -2^32 + 8 are -4 and 8.
  for (const char* const bits : {"4294967300", "-4294967288", "18446744073709551612"}) {
    EXPECT_NE(refusal(text(R"({"by_name": {"relu": {"codec": "quantize", "bits": )", bits, "}}}"))
                  .find(text("'bits' is ", bits, ", which is out of range")),
              std::string::npos);
  }
  EXPECT_NE(refusal(R"({"tensorpress_plan": 4294967297})").find("out of range"), std::string::npos);
  EXPECT_NE(refusal(R"({"by_name": {"relu": {"codec": "dct-chop", "cf": 1e30}}})")
                .find("'cf' is not a whole number"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"min_bytes": 18446744073709551615})").find("not a number of bytes"),
            std::string::npos);
}

TEST(ModelPolicy, ACodecOfTheLibraryIsRefusedInPortableCode) {
  const auto graph = elaborate(SourceText("m.tpm", kConvNormConv));
  ASSERT_TRUE(graph.ok());
  const auto policy =
      parse_plan(R"({"by_name": {"relu": {"codec": "dense", "relative": 0.01}}})", "model");
  ASSERT_TRUE(policy.ok()) << policy.error().message;
  EmitOptions options{.lowering = {.sizes = kSizes}, .command = {}};
  EXPECT_TRUE(emit(*graph, *policy, options).ok());
  options.lowering.native = false;
  const auto source = emit(*graph, *policy, options);
  ASSERT_FALSE(source.ok());
  EXPECT_NE(source.error().message.find("'relu' is to be stored with dense"), std::string::npos);
}

TEST(ModelPolicy, ABoundedCodecNeedsOneBound) {
  const auto refusal = [](const std::string& json) {
    const auto policy = parse_plan(json, "model");
    return policy.ok() ? std::string("accepted") : policy.error().message;
  };
  EXPECT_NE(refusal(R"({"by_name": {"relu": {"codec": "dense"}}})").find("needs a bound"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"by_name": {"relu": {"codec": "dense", "relative": -1}}})")
                .find("not a number above 0"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"by_name": {"relu": {"codec": "dense", "relative": 1, "psnr": 50}}})")
                .find("one of them"),
            std::string::npos);
}

TEST(ModelPolicy, BoundsNearZeroKeepNoMoreThanTheValuesThemselves) {
  const TensorType type{.element = Element::f32, .shape = {dim(10), dim(1000)}};
  constexpr std::int64_t kPlain = 10 * 1000 * 4;
  for (const char* const rule :
       {R"("ratio": 1e-300)", R"("ratio": 0.5)", R"("relative": 1e-320)", R"("relative": 1e-12)"}) {
    const auto policy =
        parse_plan(text(R"({"by_name": {"relu": {"codec": "dense", )", rule, "}}}"), "model");
    ASSERT_TRUE(policy.ok()) << policy.error().message;
    EXPECT_EQ(stored_bytes(policy->by_name.at("relu"), type, {}), kPlain) << rule;
  }
}

TEST(ModelPolicy, CastsNameTheirType) {
  const auto graph = elaborate(SourceText("m.tpm", kConvNormConv));
  ASSERT_TRUE(graph.ok());
  for (const auto& [type, name] :
       {std::pair("f16", "pack_cast(relu, \"f16\")"), {"e4m3", "pack_cast(relu, \"e4m3\")"}}) {
    const auto policy = parse_plan(
        text(R"({"by_name": {"relu": {"codec": "cast", "to": ")", type, "\"}}}"), "model");
    ASSERT_TRUE(policy.ok()) << policy.error().message;
    const auto source = emit(*graph, *policy, {.lowering = {.sizes = kSizes}, .command = {}});
    ASSERT_TRUE(source.ok()) << source.error().message;
    EXPECT_NE(source->find(name), std::string::npos);
  }
}

}  // namespace
}  // namespace tensorpress::model
