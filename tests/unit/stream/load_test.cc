// Ten thousand compressions and decompressions from eight threads at once: every copy is right, and
// memory does not grow.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "sanitized.h"
#include "unit/stream/samples.h"

namespace tensorpress {
namespace {

// Sanitizers are slow, and keep what is freed on purpose.
constexpr std::size_t kCycles = kSanitized ? 400 : 10000;
constexpr std::size_t kThreads = 8;

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

struct Work {
  Codec codec;
  CompressOptions options;
  samples::Bytes stream;
};

std::vector<Work> work_of_all_codecs(const Tensor& tensor) {
  std::vector<Work> all;
  for (const CodecInfo& info : codecs()) {
    Work work{Codec::make(info.name).value(), {.chunk_shape = Shape{8, 48}}, {}};
    if (info.error_bounded) work.options.bound = Bound::absolute(0.25);
    work.stream = samples::packed(tensor, work.codec, work.options);
    all.push_back(std::move(work));
  }
  return all;
}

/// Cycles from all threads at once; how many gave other bytes than the first time.
std::size_t failures_in(std::size_t cycles, const Tensor& tensor, const std::vector<Work>& all) {
  std::atomic<std::size_t> next = 0, failures = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = next++; i < cycles; i = next++) {
        const Work& work = all[i % all.size()];
        const auto stream = compress(tensor.view(), work.codec, work.options);
        if (!stream.ok() || *stream != work.stream || !decompress(*stream).ok()) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  return failures;
}

TEST(Load, TenThousandCyclesFromEightThreadsAreRightAndNeedNoMoreMemoryThanATenthOfThem) {
  const Tensor tensor = samples::ramp(DType::f32, {32, 48});
  const auto all = work_of_all_codecs(tensor);
  EXPECT_EQ(failures_in(kCycles / 10, tensor, all), 0u);
  const std::size_t before = resident_bytes();
  EXPECT_EQ(failures_in(kCycles, tensor, all), 0u);
  if (kSanitized) return;
  constexpr std::size_t kNoise = std::size_t{8} << 20;  // arenas of new threads
  EXPECT_LT(resident_bytes(), before + kNoise);
}

}  // namespace
}  // namespace tensorpress
