// A little of everything, small enough for Oclgrind, which looks for races and for accesses beyond
// a buffer's end (tests/CMakeLists.txt).
#include "tensorpress/stream.h"
#include "unit/device/field_samples.h"

namespace tensorpress::device {
namespace {

class AllOnDevice : public DeviceTest {};

TEST_F(AllOnDevice, RunInASimulator) {
  auto values = waves(9001);
  const auto same = [&](std::string_view name, std::vector<Parameter> parameters,
                        const CompressOptions& options, Shape shape = {9001}) {
    SCOPED_TRACE(name);
    const auto codec = Codec::make(name, parameters).value();
    const std::span all(std::as_const(values));
    const auto view =
        view_of(all.first(static_cast<std::size_t>(shape.element_count())), shape).value();
    const auto host = tensorpress::compress(view, codec, options).value();
    const auto made = device().compress(on_device(view), codec, options);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_TRUE(*made == host);
    const std::vector<float> nothing(static_cast<std::size_t>(shape.element_count()));
    const auto output = on_device(view_of(nothing, shape).value());
    ASSERT_TRUE(device().decompress(host, output).ok());
    EXPECT_TRUE(from_device(output) == tensorpress::decompress(host)->bytes);
  };
  same("ceresz", {}, {.bound = Bound::relative(1e-3), .chunk_shape = Shape{5000}});
  same("ceresz2", {}, {.bound = Bound::absolute(1e-3), .chunk_shape = Shape{5000}});
  same("quantize", {{"rounding", "stochastic"}}, {});
  same("quantize", {{"bits", "1"}}, {});
  same("cast", {{"to", "e5m2"}}, {});
  same("dct-chop", {}, {});
  same("dct-chop", {{"coefficients", "bf16"}, {"layout", "triangle"}}, {}, {47, 191});
  same("dct-chop", {{"transform", "zfp"}, {"cf", "2"}}, {}, {24, 100});
  for (float& value : values) value = value > 0 ? 2 : 0;
  same("mask", {}, {});
}

}  // namespace
}  // namespace tensorpress::device
