#include "benchmark/round_trip.h"

#include <algorithm>
#include <limits>

#include "base/errors.h"
#include "benchmark/stopwatch.h"

namespace tensorpress::benchmark {
namespace {

double quotient(std::uint64_t numerator, std::uint64_t denominator) {
  return denominator == 0 ? 0 : static_cast<double>(numerator) / static_cast<double>(denominator);
}

/// Runs `work` at least three times and for `least_seconds`; the best time of one run, in seconds.
template <class Work>
Result<double> best_seconds(double least_seconds, const Work& work) {
  double best = std::numeric_limits<double>::infinity();
  double total = 0;
  for (int runs = 0; runs < 3 || total < least_seconds; ++runs) {
    Result<void> done;
    const double seconds = seconds_of([&] { done = work(); });
    RETURN_IF_ERROR(done);
    best = std::min(best, seconds);
    total += std::max(seconds, 1e-6);
  }
  return best;
}

double gb_per_s(std::uint64_t bytes, double seconds) {
  return seconds > 0 ? static_cast<double>(bytes) / seconds * 1e-9 : 0;
}

}  // namespace

double RoundTrip::ratio() const {
  return quotient(info.bytes_in(), info.bytes_out);
}
double RoundTrip::payload_ratio() const {
  return quotient(info.bytes_in(), info.payload_bytes);
}
double RoundTrip::bits_per_value() const {
  return 8 * quotient(info.bytes_out, info.shape.element_count());
}
bool RoundTrip::stored_raw() const {
  return info.chunk_count > 0 &&
         info.statistic("raw_chunks").value_or(0) == static_cast<double>(info.chunk_count);
}
bool RoundTrip::within_stored_error() const {
  const auto stored = info.statistic("l2_error");
  return stored && error.l2_error() <= *stored;
}

Result<RoundTrip> measure_round_trip(const TensorView& original, const Codec& codec, Tensor& copy,
                                     const RoundTripOptions& options) {
  CompressOptions compress_options;
  compress_options.threads = options.threads;
  compress_options.bound = options.bound;
  DecompressOptions decompress_options;
  decompress_options.threads = options.threads;
  const Compressor compressor(codec, compress_options);
  const Decompressor decompressor(decompress_options);
  TRY(const std::uint64_t room, compressor.bound_on_output_size(original.shape, original.dtype));
  std::vector<std::byte> packed(room);
  std::uint64_t length = 0;
  TRY(const double compress_seconds, best_seconds(options.least_seconds, [&]() -> Result<void> {
        TRY(length, compressor.compress(original, packed));
        return {};
      }));
  packed.resize(length);

  copy.dtype = original.dtype;
  copy.shape = original.shape;
  copy.bytes.resize(original.byte_count());
  TRY(const double decompress_seconds, best_seconds(options.least_seconds, [&] {
        return decompressor.decompress(packed, copy.mutable_view());
      }));

  TRY(StreamInfo info, read_info(packed));
  TRY(const auto error, metrics::compare(original, copy.view()));
  RoundTrip trip{.info = std::move(info),
                 .error = error,
                 .ssim = metrics::mean_ssim(original, copy.view(), error.value_range())};
  trip.compress_gb_per_s = gb_per_s(original.byte_count(), compress_seconds);
  trip.decompress_gb_per_s = gb_per_s(original.byte_count(), decompress_seconds);
  return trip;
}

}  // namespace tensorpress::benchmark
