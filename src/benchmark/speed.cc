#include "benchmark/speed.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "base/errors.h"
#include "benchmark/stopwatch.h"
#include "tensorpress/parallel.h"
#include "tensorpress/stream.h"

namespace tensorpress::benchmark {
namespace {

void parallel_memcpy(std::byte* to, const std::byte* from, std::size_t bytes, std::size_t threads) {
  if (threads <= 1) {
    std::memcpy(to, from, bytes);
    return;
  }
  const std::size_t share = (bytes / threads + 63) / 64 * 64;
  thread_runner(threads)(threads, [&](std::size_t i) {
    const std::size_t begin = std::min(bytes, i * share);
    std::memcpy(to + begin, from + begin, std::min(share, bytes - begin));
  });
}

}  // namespace

Result<Speed> measure_speed(const TensorView& input, const Codec& codec,
                            const SpeedOptions& options, SpeedBuffers& buffers) {
  if (!input.is_contiguous()) return bad_argument("speed is measured on contiguous tensors");
  const auto bytes = static_cast<std::size_t>(input.byte_count());
  CompressOptions compress_options;
  compress_options.bound = options.bound;
  compress_options.fill_values = options.fill_values;
  compress_options.threads = options.threads;
  const Compressor compressor(codec, compress_options);
  const Decompressor decompressor({.threads = options.threads, .runner = {}});
  TRY(const std::uint64_t bound, compressor.bound_on_output_size(input.shape, input.dtype));
  const auto compressed = buffers.compressed.reserve(static_cast<std::size_t>(bound));
  const auto decompressed = buffers.decompressed.reserve(bytes);
  const auto output = MutableTensorView::contiguous(decompressed.data(), input.dtype, input.shape);
  std::memset(compressed.data(), 1, compressed.size());
  std::memset(decompressed.data(), 1, decompressed.size());

  double copy = std::numeric_limits<double>::infinity(), pack = copy, unpack = copy;
  std::uint64_t length = 0;
  for (int turn = 0; turn < options.repetitions; ++turn) {
    copy = std::min(copy, seconds_of([&] {
                      parallel_memcpy(decompressed.data(), input.data, bytes, options.threads);
                    }));
    Result<std::uint64_t> written = std::uint64_t{0};
    pack = std::min(pack, seconds_of([&] { written = compressor.compress(input, compressed); }));
    TRY(length, written);
    Result<void> read;
    unpack = std::min(unpack, seconds_of([&] {
                        read = decompressor.decompress(
                            compressed.first(static_cast<std::size_t>(length)), output);
                      }));
    RETURN_IF_ERROR(read);
  }
  TRY(const StreamInfo info, read_info(compressed.first(static_cast<std::size_t>(length))));
  const auto amount = static_cast<double>(bytes);
  return Speed{.compress_gb_per_s = amount / pack / 1e9,
               .decompress_gb_per_s = amount / unpack / 1e9,
               .memcpy_gb_per_s = amount / copy / 1e9,
               .ratio = amount / static_cast<double>(info.bytes_out),
               .payload_ratio = amount / static_cast<double>(info.payload_bytes),
               .l2_error = info.statistic("l2_error").value_or(0)};
}

Shape image_batch_shape(std::uint64_t plane, std::uint64_t channels, std::uint64_t least_bytes) {
  const std::uint64_t image_bytes = channels * plane * plane * sizeof(float);
  return {(least_bytes + image_bytes - 1) / image_bytes, channels, plane, plane};
}

void fill_image_batch(const Shape& shape, float* values) {
  // Triangle waves: smooth enough to look like a picture, and cheap.
  const auto wave = [](std::uint64_t position, std::uint64_t period) {
    const auto phase = static_cast<float>(position % period) / static_cast<float>(period);
    return phase < 0.5f ? phase : 1.0f - phase;
  };
  std::uint32_t noise = 1;
  for (std::uint64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    for (std::uint64_t y = 0; y < shape[2]; ++y) {
      for (std::uint64_t x = 0; x < shape[3]; ++x) {
        noise = noise * 1664525u + 1013904223u;
        *values++ = wave(x + 3 * plane, 37) + wave(y + 5 * plane, 53) + wave(x + y, 101) +
                    static_cast<float>(noise >> 24) * (1.0f / 8192);
      }
    }
  }
}

}  // namespace tensorpress::benchmark
