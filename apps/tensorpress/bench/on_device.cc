#include "on_device.h"

#include "base/errors.h"
#include "benchmark/device_speed.h"
#include "command_line/reports/formatted.h"
#include "command_line/reports/json_output.h"

namespace tensorpress::cli {
namespace {

constexpr const char* kHeading =
    "data                 bound        threads   compress: device     host  cpu share   "
    "decompress: device     host  cpu share  chunks of device, host\n";

std::string to_text(const std::string& data, const std::string& bound, std::size_t threads,
                    const benchmark::DeviceSpeed& speed) {
  return formatted("%-20s %-12s %7zu %18.2f %8.2f %10.2f %20.2f %8.2f %10.2f %16llu, %llu\n",
                   data.c_str(), bound.c_str(), threads, speed.compress.device_gb_per_s,
                   speed.compress.host_gb_per_s, speed.compress.cpu_share_of_host,
                   speed.decompress.device_gb_per_s, speed.decompress.host_gb_per_s,
                   speed.decompress.cpu_share_of_host,
                   static_cast<unsigned long long>(speed.work.device_chunks),
                   static_cast<unsigned long long>(speed.work.host_chunks));
}

Json to_json(const benchmark::DeviceSpeed& speed) {
  Json row;
  row["compress_gb_per_s"] = speed.compress.device_gb_per_s;
  row["host_compress_gb_per_s"] = speed.compress.host_gb_per_s;
  row["compress_cpu_share_of_host"] = speed.compress.cpu_share_of_host;
  row["decompress_gb_per_s"] = speed.decompress.device_gb_per_s;
  row["host_decompress_gb_per_s"] = speed.decompress.host_gb_per_s;
  row["decompress_cpu_share_of_host"] = speed.decompress.cpu_share_of_host;
  row["ratio"] = speed.ratio;
  row["device_chunks"] = speed.work.device_chunks;
  row["host_chunks"] = speed.work.host_chunks;
  row["same_bytes"] = speed.same_bytes;
  return row;
}

class Bench {
 public:
  Bench(const DeviceBench& bench, const SpeedBenchOptions& options, device::Device& device,
        Reporter& reporter)
      : bench_(bench), options_(options), device_(device), reporter_(reporter) {}

  Result<void> measure(const std::string& data, const TensorView& input) {
    std::vector<std::optional<Bound>> bounds(bench_.fields.bounds.begin(),
                                             bench_.fields.bounds.end());
    if (bounds.empty()) bounds = {std::nullopt};
    for (const auto& bound : bounds) {
      for (const std::size_t threads : options_.threads) {
        TRY(const auto speed,
            benchmark::measure_device_speed(device_, input, bench_.fields.codec,
                                            {.bound = bound,
                                             .fill_values = bench_.fields.fill_values,
                                             .threads = threads,
                                             .repetitions = options_.repetitions}));
        const std::string asked = bound ? bound->to_string() : "";
        reporter_.show(to_text(data, asked, threads, speed));
        Json row = {{"data", data},
                    {"device", device_.info().name},
                    {"codec", bench_.fields.codec.name()},
                    {"threads", threads},
                    {"bytes_in", input.byte_count()}};
        if (bound) row["bound"] = asked;
        row.update(to_json(speed));
        rows_.push_back(row);
      }
    }
    return {};
  }
  Report report() const { return {.json = json_text(rows_)}; }

 private:
  const DeviceBench& bench_;
  const SpeedBenchOptions& options_;
  device::Device& device_;
  Reporter& reporter_;
  Json rows_ = Json::array();
};

}  // namespace

Result<Report> run_device_bench(const DeviceBench& bench, const SpeedBenchOptions& options,
                                Reporter& reporter) {
  TRY(auto device, device::Device::open(bench.device));
  reporter.show(
      formatted("%s: %s\n", device.info().name.c_str(), device.info().description.c_str()));
  reporter.show(kHeading);
  Bench measured(bench, options, device, reporter);
  AlignedBuffer memory;
  for (const std::string& file : bench.fields.files) {
    TRY(const TensorView field, read_field(file, bench.fields.raw, memory));
    RETURN_IF_ERROR(measured.measure(file, field));
  }
  if (!bench.fields.files.empty()) return measured.report();
  for (const std::uint64_t plane : bench.planes) {
    const Shape shape = benchmark::image_batch_shape(plane, 3, bench.least_bytes);
    const auto values = memory.reserve_as<float>(static_cast<std::size_t>(shape.element_count()));
    benchmark::fill_image_batch(shape, values.data());
    const TensorView input = *view_of(std::span<const float>(values), shape);
    RETURN_IF_ERROR(measured.measure(shape.to_string(), input));
  }
  return measured.report();
}

}  // namespace tensorpress::cli
