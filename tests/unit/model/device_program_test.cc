// A training step as an accelerator's program: its operators and its memory, counted by hand.
#include "model/device/device_program.h"

#include <gtest/gtest.h>

#include "model/text/elaborate.h"

namespace tensorpress::model {
namespace {

TEST(DeviceProgram, MemoryOfALinearLayerIsCountedByHand) {
  const auto graph = elaborate(SourceText("m.tpm",
                                          "input x: f32[N, 8]\ntarget y: f32[N, 4]\n"
                                          "h = a: linear(x, 4, bias = false)\n"
                                          "loss mse_loss(h, y)\n"));
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  StepOptions options;
  options.lowering.sizes = {{"N", 10}};
  const auto program = device_program(*graph, policy_off(), options, 10);
  ASSERT_TRUE(program.ok()) << program.error().message;
  ASSERT_TRUE(program->step.has_value());
  // 8 x 4 values of four bytes: weights, gradients and one value of momentum.
  EXPECT_EQ(program->step->weights, 3 * 8 * 4 * 4);
  // mse_loss keeps h; x and y are the caller's.
  EXPECT_EQ(program->step->saved, 10 * 4 * 4);
  EXPECT_GE(program->step->peak, 2 * 8 * 4 * 4 + 10 * (8 + 4 + 4) * 4);
}

}  // namespace
}  // namespace tensorpress::model
