// A runner of the caller has its turn between any two chunks: it can end the work there, and it may
// work on more at once than there are chunks in flight.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <vector>

#include "tensorpress/stream.h"

namespace tensorpress {
namespace {

struct Enough {};

std::vector<float> noisy(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i * i % 1009)));
  }
  return values;
}

/// Begins so many tasks, leaves out the others and throws.
Runner runner_that_stops_after(std::size_t most, std::size_t threads,
                               std::atomic<std::size_t>& begun) {
  return [=, &begun](std::size_t count, const std::function<void(std::size_t)>& task) {
    std::atomic<bool> stopped = false;
    thread_runner(threads)(count, [&](std::size_t i) {
      if (begun++ >= most) stopped = true;
      if (!stopped) task(i);
    });
    if (stopped) throw Enough();
  };
}

class RunnerThatStops : public testing::TestWithParam<std::size_t> {
 protected:
  static constexpr std::size_t kChunks = 32;
  const std::vector<float> values_ = noisy(kChunks * 64);
  const Shape shape_{kChunks, 64}, chunk_{1, 64};
  const TensorView view_ = view_of(values_, shape_).value();

  Result<std::vector<std::byte>> packed(Bound bound, const Runner& runner) const {
    return compress(
        view_, Codec::make("dense").value(),
        {.bound = bound, .threads = GetParam(), .runner = runner, .chunk_shape = chunk_});
  }
};

TEST_P(RunnerThatStops, EndsCompressionAndSearchesWhereverItLikes) {
  for (const Bound bound : {Bound::absolute(0.01), Bound::relative(0.01), Bound::psnr(50)}) {
    // Looking at the data takes a turn for each chunk, too.
    for (const std::size_t most : {std::size_t{0}, std::size_t{5}, kChunks - 1}) {
      std::atomic<std::size_t> begun = 0;
      EXPECT_THROW((void)packed(bound, runner_that_stops_after(most, GetParam(), begun)), Enough)
          << bound.to_string() << " after " << most;
      EXPECT_GT(begun, most);
    }
  }
}

TEST_P(RunnerThatStops, EndsDecompressionOfAllAndOfParts) {
  const auto stream = packed(Bound::absolute(0.01), {});
  ASSERT_TRUE(stream.ok());
  std::vector<float> copy(values_.size() - 64);
  const Region part{{1, 0}, {kChunks - 1, 64}};
  for (const std::size_t most : {std::size_t{0}, std::size_t{7}}) {
    std::atomic<std::size_t> begun = 0;
    const DecompressOptions options{.threads = GetParam(),
                                    .runner = runner_that_stops_after(most, GetParam(), begun)};
    EXPECT_THROW((void)decompress(*stream, options), Enough);
    EXPECT_THROW(
        (void)Decompressor(options).decompress(*stream, part, view_of(copy, part.extent).value()),
        Enough);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, RunnerThatStops, testing::Values(1, 2, 5));

TEST(Runner, MayWorkOnMoreAtOnceThanThereAreChunksInFlight) {
  const std::vector<float> values = noisy(64 * 64);
  const TensorView view = view_of(values, {64, 64}).value();
  const Codec codec = Codec::make("dense").value();
  const CompressOptions alone{.bound = Bound::relative(0.01), .chunk_shape = Shape{1, 64}};
  CompressOptions crowded = alone;
  crowded.threads = 2;
  crowded.runner = thread_runner(9);
  const auto expected = compress(view, codec, alone);
  ASSERT_TRUE(expected.ok());
  for (int turn = 0; turn < 20; ++turn) {
    EXPECT_EQ(compress(view, codec, crowded).value(), expected.value());
  }
}

}  // namespace
}  // namespace tensorpress
