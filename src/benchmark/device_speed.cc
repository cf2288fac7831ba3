#include "benchmark/device_speed.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>

#include "base/errors.h"
#include "benchmark/stopwatch.h"
#include "tensorpress/stream.h"

namespace tensorpress::benchmark {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The least of several turns.
struct Times {
  double seconds = kNever;
  double cpu_seconds = kNever;

  template <class Work>
  void take(const Work& work) {
    const std::clock_t begin = std::clock();
    seconds = std::min(seconds, seconds_of(work));
    const auto cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    cpu_seconds = std::min(cpu_seconds, cpu);
  }
};

DirectionSpeed speed_of(const Times& device, const Times& host, double bytes) {
  return {.device_gb_per_s = bytes / device.seconds / 1e9,
          .host_gb_per_s = bytes / host.seconds / 1e9,
          .cpu_share_of_host = device.cpu_seconds > 0 ? host.cpu_seconds / device.cpu_seconds : 0};
}

}  // namespace

Result<DeviceSpeed> measure_device_speed(device::Device& device, const TensorView& input,
                                         const Codec& codec, const SpeedOptions& options) {
  if (!input.is_contiguous()) return bad_argument("speed is measured on contiguous tensors");
  const auto bytes = static_cast<std::size_t>(input.byte_count());
  CompressOptions compress_options;
  compress_options.bound = options.bound;
  compress_options.fill_values = options.fill_values;
  compress_options.threads = options.threads;
  const DecompressOptions decompress_options{.threads = options.threads, .runner = {}};
  const Compressor compressor(codec, compress_options);
  const Decompressor decompressor(decompress_options);
  TRY(const std::uint64_t bound, compressor.bound_on_output_size(input.shape, input.dtype));
  AlignedBuffer stream_memory, value_memory;
  const auto room = stream_memory.reserve(static_cast<std::size_t>(bound));
  const auto values = value_memory.reserve(bytes);
  const auto output = MutableTensorView::contiguous(values.data(), input.dtype, input.shape);
  std::memset(room.data(), 1, room.size());
  std::memset(values.data(), 1, values.size());
  TRY(const auto input_memory, device.allocate(bytes));
  TRY(const auto output_memory, device.allocate(bytes));
  RETURN_IF_ERROR(device.upload({input.data, bytes}, input_memory.memory()));

  DeviceSpeed speed;
  Times host_in, host_out, device_in, device_out;
  std::span<const std::byte> stream;
  std::vector<std::byte> made;
  for (int turn = 0; turn < options.repetitions; ++turn) {
    Result<std::uint64_t> written = std::uint64_t{0};
    host_in.take([&] { written = compressor.compress(input, room); });
    TRY(const std::uint64_t length, written);
    stream = room.first(static_cast<std::size_t>(length));
    Result<std::vector<std::byte>> packed = std::vector<std::byte>();
    speed.work = {};
    device_in.take([&] {
      packed = device.compress({input_memory.memory(), input.dtype, input.shape}, codec,
                               compress_options, &speed.work);
    });
    TRY(made, packed);
    Result<void> read;
    host_out.take([&] { read = decompressor.decompress(stream, output); });
    RETURN_IF_ERROR(read);
    device_out.take([&] {
      read = device.decompress(stream, {output_memory.memory(), input.dtype, input.shape},
                               decompress_options);
    });
    RETURN_IF_ERROR(read);
  }
  std::vector<std::byte> copy(bytes);
  RETURN_IF_ERROR(device.download(output_memory.memory(), copy));
  const auto amount = static_cast<double>(bytes);
  speed.compress = speed_of(device_in, host_in, amount);
  speed.decompress = speed_of(device_out, host_out, amount);
  speed.ratio = amount / static_cast<double>(stream.size());
  speed.same_bytes = std::ranges::equal(stream, made) && std::ranges::equal(copy, values);
  return speed;
}

}  // namespace tensorpress::benchmark
