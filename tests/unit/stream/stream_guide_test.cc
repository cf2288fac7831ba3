// What the first chunk of a stream spares the others: the bytes are the same whoever compresses
// which chunk, and a chunk that is unlike the first loses nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "codecs/registry.h"
#include "tensorpress/streaming.h"

namespace tensorpress {
namespace {

const Shape kShape{64, 96, 192};
const Shape kChunk{64, 48, 96};
constexpr double kBound = 1e-3;

using ValueAt = std::function<double(double z, double y, double x)>;

Tensor made(const ValueAt& value_at) {
  Tensor tensor{.bytes = std::vector<std::byte>(kShape.element_count() * sizeof(float)),
                .dtype = DType::f32,
                .shape = kShape};
  auto values = tensor.mutable_values<float>().value();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t x = i % kShape[2], y = i / kShape[2] % kShape[1];
    values[i] = static_cast<float>(value_at(static_cast<double>(i / (kShape[1] * kShape[2])),
                                            static_cast<double>(y), static_cast<double>(x)));
  }
  return tensor;
}

double waves(double z, double y, double x) {
  return std::sin(z / 7 + y / 9) * std::cos(x / 8) + 0.3 * std::sin((x + y - z) / 4);
}
// Between -0.5 and 0.5.
double noise(double z, double y, double x) {
  const double number = std::sin(12.9898 * x + 78.233 * y + 37.719 * z) * 43758.5453;
  return number - std::floor(number) - 0.5;
}

// Cubes of different heights, each a little sloped: no wave.
double blocks(double z, double y, double x) {
  const double height = noise(std::floor(z / 8), std::floor(y / 8), std::floor(x / 8));
  return height + 1e-3 * std::sin((x + y + z) / 20);
}

// They take about as much by Lorenzo as the waves do, but far more by what suits waves, and the
// reverse.
double rough_blocks(double z, double y, double x) {
  return blocks(z, y, x) + 0.01 * noise(z, y, x);
}

struct NamedField {
  std::string name;
  Tensor tensor;
};
std::vector<NamedField> fields() {
  const auto first_chunk = [](double y, double x) { return y < 48 && x < 96; };
  return {{"waves", made(waves)},
          {"waves in part", made([](double z, double y, double x) {
             return x + y < 150 ? waves(z, y, x) * std::exp((x + y - 150) / 9) : 0.0;
           })},
          {"waves, then noise", made([&](double z, double y, double x) {
             return first_chunk(y, x) ? waves(z, y, x) : noise(z, y, x);
           })},
          {"waves, then blocks", made([&](double z, double y, double x) {
             return first_chunk(y, x) ? waves(z, y, x) : blocks(z, y, x);
           })},
          {"waves, then rough blocks", made([&](double z, double y, double x) {
             return first_chunk(y, x) ? waves(z, y, x) : rough_blocks(z, y, x);
           })},
          {"rough blocks, then waves", made([&](double z, double y, double x) {
             return first_chunk(y, x) ? rough_blocks(z, y, x) : waves(z, y, x);
           })},
          {"waves, then ten times as high", made([&](double z, double y, double x) {
             return (first_chunk(y, x) ? 1 : 10) * waves(z, y, x);
           })}};
}

CompressOptions options(std::size_t threads = 1) {
  return {.bound = Bound::absolute(kBound), .threads = threads, .chunk_shape = kChunk};
}

std::vector<std::byte> by_rows(const Tensor& tensor, const Codec& codec) {
  VectorSink sink;
  auto writer = StreamWriter::begin(codec, tensor.dtype, tensor.shape, sink, options()).value();
  EXPECT_TRUE(writer.append(tensor.view()).ok());
  EXPECT_TRUE(writer.finish().ok());
  return sink.bytes;
}

TEST(StreamGuide, BytesDoNotDependOnThreadsInstructionsOrHowRowsCome) {
  const Codec codec = Codec::make("dense").value();
  for (const auto& [name, tensor] : fields()) {
    const auto stream = compress(tensor.view(), codec, options()).value();
    for (const std::size_t threads : {2, 7}) {
      EXPECT_EQ(compress(tensor.view(), codec, options(threads)).value(), stream) << name;
    }
    EXPECT_EQ(by_rows(tensor, codec), stream) << name;
    ASSERT_EQ(setenv("TENSORPRESS_MAX_ISA", "scalar", 1), 0);
    const auto scalar = compress(tensor.view(), codec, options(3)).value();
    ASSERT_EQ(unsetenv("TENSORPRESS_MAX_ISA"), 0);
    EXPECT_EQ(scalar, stream) << name;
  }
}

TEST(StreamGuide, KeepsTheBoundInEveryChunk) {
  const Codec codec = Codec::make("dense").value();
  for (const auto& [name, tensor] : fields()) {
    const auto stream = compress(tensor.view(), codec, options()).value();
    const Tensor copy = decompress(stream).value();
    const auto before = tensor.values<float>().value(), after = copy.values<float>().value();
    double most = 0;
    bool zeros_kept = true;
    for (std::size_t i = 0; i < before.size(); ++i) {
      const double error = static_cast<double>(before[i]) - static_cast<double>(after[i]);
      most = std::max(most, std::abs(error));
      zeros_kept = zeros_kept && (before[i] != 0 || after[i] == 0);
    }
    EXPECT_LE(most, kBound) << name;
    EXPECT_TRUE(zeros_kept) << name;
  }
}

// Streams of one chunk have no guide.
TEST(StreamGuide, TakesHardlyMoreThanChunksThatAreChosenForAlone) {
  const Codec codec = Codec::make("dense").value();
  for (const auto& [name, tensor] : fields()) {
    std::size_t alone = 0;
    for (const std::uint64_t y : {0, 48}) {
      for (const std::uint64_t x : {0, 96}) {
        const auto chunk = tensor.view().part({{0, y, x}, kChunk});
        alone += compress(chunk, codec, {.bound = Bound::absolute(kBound)}).value().size();
      }
    }
    const auto stream = compress(tensor.view(), codec, options()).value();
    EXPECT_LE(100 * stream.size(), 101 * alone) << name;
  }
}

TEST(StreamGuide, ComesFromClearCasesAndNotFromFastOrBest) {
  const auto guide = [](const char* effort, const Tensor& tensor) {
    const Parameter parameters[] = {{"effort", effort}};
    const Codec codec = Codec::make("dense", parameters).value();
    const auto keeping = chunk_codec_of(codec)->keeping({Bound::absolute(kBound), kBound, {}});
    ChunkWorkspace workspace(usable_isas().back());
    return keeping->guide(tensor.view().part({{0, 0, 0}, kChunk}), workspace);
  };
  EXPECT_NE(guide("normal", made(waves)), nullptr);
  EXPECT_EQ(guide("fast", made(waves)), nullptr);
  EXPECT_EQ(guide("best", made(waves)), nullptr);
  EXPECT_EQ(guide("normal", made([](double, double, double) { return 1.0; })), nullptr);
}

}  // namespace
}  // namespace tensorpress
