// Expressions of lowered steps: how they print, what they read, whose memory their values are in
// and which operators they run. Expected Python was written by hand.
#include "model/program/expression.h"

#include <gtest/gtest.h>

#include "model/program/callees.h"
#include "model/program/print.h"
#include "model/program/walk.h"

namespace tensorpress::model {
namespace {

const Expression kX = Local{"x"};
const Expression kG = Local{"g"};
const Expression kKept = Stored{"layer.relu"};

TEST(Expression, PrintsTheParenthesesThatPythonNeedsAndNoOthers) {
  EXPECT_EQ(to_python(kG / (2 * kX)), "g / (2 * x)");
  EXPECT_EQ(to_python(kG * kX / 2), "g * x / 2");
  EXPECT_EQ(to_python(kG - (kX - 1)), "g - (x - 1)");
  EXPECT_EQ(to_python(kG * (kX + 1)), "g * (x + 1)");
  EXPECT_EQ(to_python((kX - kG).call("sgn")), "(x - g).sgn()");
  EXPECT_EQ(to_python(-kG * kX), "-g * x");
  EXPECT_EQ(to_python(-(kG * kX)), "-(g * x)");
  EXPECT_EQ(to_python(grouped(kG)), "(g)");
  EXPECT_EQ(to_python(operation(Infix::ge, kX, kG + 1)), "x >= g + 1");
}

TEST(Expression, PrintsEveryKindOfOperand) {
  EXPECT_EQ(to_python(functional("pad", kX, std::vector<std::int64_t>{1, -1}, keyword("value", 0.5),
                                 keyword("mode", "constant"))),
            "F.pad(x, [1, -1], value=0.5, mode=\"constant\")");
  EXPECT_EQ(to_python(aten("f", none(), true, decimal(2), Element::bf16, kKept)),
            "aten.f(None, True, 2.0, torch.bfloat16, S[\"layer.relu\"])");
  EXPECT_EQ(to_python(limit(-std::numeric_limits<double>::infinity())), "-math.inf");
  EXPECT_EQ(to_python(call_of({Callee::Space::sparse, "mm"}, {kX, kG})), "torch.sparse.mm(x, g)");
  EXPECT_EQ(to_python(kX.member("dtype")), "x.dtype");
  EXPECT_EQ(to_python(kX[{whole_range(), range(0, 8, 2)}]), "x[:, 0:8:2]");
  EXPECT_EQ(to_python(kX[{range_to(Expression(Dim{1, "N"}) * 5)}]), "x[:N * 5]");
  EXPECT_EQ(to_python(function("MappedSink", kX, lambda("t", torch("exp", bound("t"))))),
            "MappedSink(x, lambda t: torch.exp(t))");
  EXPECT_EQ(to_python(tuple_of({1, spread(Shape{dim(3), dim(4)})})), "(1, *(3, 4))");
}

TEST(Expression, PrintsShapesAsTuplesAndAsArguments) {
  const Shape shape = {Dim{2, "N"}, dim(3)};
  EXPECT_EQ(to_python(kX.call("new_zeros", shape)), "x.new_zeros((2 * N, 3))");
  EXPECT_EQ(to_python(kX.shaped("view", shape)), "x.view(2 * N, 3)");
  EXPECT_EQ(to_python(kX.shaped("view", {dim(3)})), "x.view(3,)");
  EXPECT_EQ(to_python(kX.call("new_empty", Shape{})), "x.new_empty(())");
}

TEST(Expression, ReadsItsVariablesAsOftenAsItNamesThem) {
  const Expression read = function("f", kKept, lambda("x", bound("x") * kG), keyword("y", kKept));
  const std::vector<Name> expected = {Stored{"layer.relu"}, Local{"g"}, Stored{"layer.relu"}};
  EXPECT_EQ(names_read(read), expected);  // the argument of the lambda is no variable
}

const Name* shared(const Expression& expression) {
  return sharing_of(expression).with;
}

TEST(Expression, ViewsAndWorkInPlaceAreInTheMemoryOfTheirOperand) {
  const Name x = Local{"x"};
  const Expression view = kX.call("transpose", 1, 2).call("flatten", 2);
  const Expression in_place = torch("relu_", kX);
  const Expression out = torch("addcmul", kG, kG, kG, keyword("out", kX));
  const Expression part = kX[{range(0, 4)}];
  for (const Expression& each : {kX, view, in_place, out, part}) {
    ASSERT_NE(shared(each), nullptr) << to_python(each);
    EXPECT_EQ(*shared(each), x) << to_python(each);
  }
  for (const Expression& each : {kX * kG, torch("relu", kX), kX.call("clone").call("mul_", kG),
                                 torch("matmul", kX, kG).call("transpose", 1, 2)}) {
    EXPECT_TRUE(sharing_of(each).none()) << to_python(each);
  }
  EXPECT_TRUE(sharing_of(kX.call("expand", 4)).repeated);
  EXPECT_FALSE(sharing_of(view).repeated);
  EXPECT_TRUE(sharing_of(Expression(ExpressionNode{Parameter{"w"}}).call("t")).outside);
}

TEST(Expression, FunctionsOfTheFileStateWhatTheyWriteTo) {
  const Expression convolution = Callee{Callee::Space::functional, "conv2d"};
  const Expression weight = Local{"w"};
  const Expression masked = function("mask_by_signs_", kX, kKept);
  const Expression sliced = function("conv_slices_", convolution, 4, kX, weight, none());
  const Expression placed =
      function("conv_slices", convolution, 4, kG, weight, none(), keyword("y", kX));
  const Expression packed =
      function("batch_norm_backward_packed", kX, kKept, 4, weight, weight, true);
  for (const Expression& each : {masked, sliced, placed, packed}) {
    ASSERT_NE(shared(each), nullptr) << to_python(each);
    EXPECT_EQ(*shared(each), Name(Local{"x"})) << to_python(each);
  }
  EXPECT_EQ(shared(function("conv_slices", convolution, 4, kX, weight, kG)), nullptr);
  EXPECT_EQ(shared(function("batch_norm_backward_packed", kX, kKept, 4, weight, weight)), nullptr);
  EXPECT_EQ(shared(function("mask_by_signs_", kX.call("clone"), kKept)), nullptr);
}

TEST(Expression, OperatorsAreThoseOfATenInTheOrderOfTheText) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(operators_of(kG.call("t").call("mm", kKept) * kX), (Names{"t", "mm", "mul"}));
  EXPECT_EQ(operators_of(call_of({Callee::Space::sparse, "mm"}, {kX, kG})), Names{"sparse_mm"});
  EXPECT_EQ(operators_of(functional("interpolate", kX, keyword("mode", "bilinear"))),
            Names{"upsample_bilinear2d"});
  // Sizes are no operators, and functions of the file have their own.
  EXPECT_EQ(operators_of(function("drop_", kX, 0.5, word("seed") + 3)), Names{});
  EXPECT_EQ(operators_of(kG / kX.call("numel")), Names{"div"});
}

}  // namespace
}  // namespace tensorpress::model
