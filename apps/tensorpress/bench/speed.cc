#include "speed.h"

#include <algorithm>

#include "base/errors.h"
#include "benchmark/speed.h"
#include "command_line/reports/formatted.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/stream_report.h"
#include "files/tensor/raw_format.h"

namespace tensorpress::cli {
namespace {

/// The matrix form is slow; a part of the batch will do.
constexpr std::uint64_t kMatmulBytes = std::uint64_t{16} << 20;

/// "cf 4", "bits 2", "rel 0.001".
std::string setting_of(const Codec& codec, const std::optional<Bound>& bound) {
  if (bound) return bound->to_string();
  if (codec.parameters().empty()) return {codec.name()};
  // The first parameter is what tells a codec's settings apart.
  const Parameter& first = codec.parameters().front();
  return text(first.name, " ", first.value);
}

/// `row` begins with what was measured on.
Json with_codec(Json row, std::size_t threads, const Codec& codec, std::uint64_t bytes_in) {
  row["threads"] = threads;
  row["codec"] = codec.name();
  row["parameters"] = describe_parameters(codec).to_json();
  row["bytes_in"] = bytes_in;
  return row;
}

Json to_json(const benchmark::Speed& speed) {
  Json row;
  row["compress_gb_per_s"] = speed.compress_gb_per_s;
  row["decompress_gb_per_s"] = speed.decompress_gb_per_s;
  row["memcpy_gb_per_s"] = speed.memcpy_gb_per_s;
  row["ratio"] = speed.ratio;
  row["payload_ratio"] = speed.payload_ratio;
  return row;
}

constexpr const char* kHeading =
    "data         setting    threads   memcpy  compress  (of memcpy)  decompress  (of memcpy)  "
    "payload ratio\n";

std::string to_text(const std::string& data, const std::string& setting, std::size_t threads,
                    const benchmark::Speed& speed) {
  return formatted("%-12s %-10s %7zu %8.2f %9.2f %12.2f %11.2f %12.2f %14.2f\n", data.c_str(),
                   setting.c_str(), threads, speed.memcpy_gb_per_s, speed.compress_gb_per_s,
                   speed.compress_gb_per_s / speed.memcpy_gb_per_s, speed.decompress_gb_per_s,
                   speed.decompress_gb_per_s / speed.memcpy_gb_per_s, speed.payload_ratio);
}

/// The paper's form on the same arrays, one thread.
Result<double> matmul_speed(const Codec& matmul, const TensorView& batch,
                            benchmark::SpeedBuffers& buffers) {
  const Shape part = benchmark::image_batch_shape(batch.shape[2], batch.shape[1],
                                                  std::min(kMatmulBytes, batch.byte_count()));
  TRY(const auto speed,
      benchmark::measure_speed(TensorView::contiguous(batch.data, DType::f32, part), matmul,
                               {.bound = {}, .fill_values = {}, .threads = 1, .repetitions = 2},
                               buffers));
  return speed.compress_gb_per_s;
}

}  // namespace

Result<TensorView> read_field(const std::string& file, const std::optional<files::RawFormat>& given,
                              AlignedBuffer& memory) {
  const auto raw = given ? given : files::raw_format_of_file(file);
  TRY(const auto source, about(file, files::open_tensor(file, raw)));
  AlignedBuffer scratch;
  TRY(const TensorView view, source->read(Region::whole(source->shape()), scratch));
  const auto elements = MutableTensorView::contiguous(
      memory.reserve(static_cast<std::size_t>(view.byte_count())).data(), view.dtype, view.shape);
  copy_elements(view, elements);
  return TensorView(elements);
}

Result<Report> run_image_bench(const ImageBatches& batches, const SpeedBenchOptions& options,
                               Reporter& reporter) {
  benchmark::SpeedBuffers buffers, matmul_buffers;
  AlignedBuffer memory;
  Json rows = Json::array();
  reporter.show(kHeading);
  for (const std::uint64_t plane : batches.planes) {
    const Shape shape = benchmark::image_batch_shape(plane, 3, batches.least_bytes);
    const auto values = memory.reserve_as<float>(static_cast<std::size_t>(shape.element_count()));
    benchmark::fill_image_batch(shape, values.data());
    const TensorView input = *view_of(std::span<const float>(values), shape);
    const std::string extents = shape.to_string();
    for (const auto& [codec, chop_factor, matmul] : batches.cases) {
      double matmul_gb_per_s = 0;
      if (matmul) {
        TRY(matmul_gb_per_s, matmul_speed(*matmul, input, matmul_buffers));
      }
      for (const std::size_t threads : options.threads) {
        TRY(const auto speed, benchmark::measure_speed(input, codec,
                                                       {.bound = {},
                                                        .fill_values = {},
                                                        .threads = threads,
                                                        .repetitions = options.repetitions},
                                                       buffers));
        reporter.show(
            to_text(extents.substr(extents.find('x') + 1), setting_of(codec, {}), threads, speed));
        Json row = with_codec({{"plane", plane}}, threads, codec, input.byte_count());
        if (chop_factor) row["cf"] = *chop_factor;
        row.update(to_json(speed));
        if (matmul) row["matmul_gb_per_s"] = matmul_gb_per_s;
        rows.push_back(row);
      }
    }
  }
  return Report{.json = json_text(rows)};
}

Result<Report> run_file_bench(const FileFields& fields, const SpeedBenchOptions& options,
                              Reporter& reporter) {
  std::vector<std::optional<Bound>> bounds(fields.bounds.begin(), fields.bounds.end());
  if (bounds.empty()) bounds = {std::nullopt};
  benchmark::SpeedBuffers buffers;
  Json rows = Json::array();
  reporter.show(kHeading);
  for (const std::string& file : fields.files) {
    AlignedBuffer memory;
    TRY(const TensorView field, read_field(file, fields.raw, memory));
    for (const auto& bound : bounds) {
      for (const std::size_t threads : options.threads) {
        TRY(const auto speed, benchmark::measure_speed(field, fields.codec,
                                                       {.bound = bound,
                                                        .fill_values = fields.fill_values,
                                                        .threads = threads,
                                                        .repetitions = options.repetitions},
                                                       buffers));
        reporter.show(to_text(file, setting_of(fields.codec, bound), threads, speed));
        Json row = with_codec({{"field", file}}, threads, fields.codec, field.byte_count());
        if (bound) row["bound"] = bound->to_string();
        row.update(to_json(speed));
        rows.push_back(row);
      }
    }
  }
  return Report{.json = json_text(rows)};
}

}  // namespace tensorpress::cli
