// tensorpress demo: real data through our codecs and back, shown in a page.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/columns.h"
#include "base/errors.h"
#include "base/json_text.h"
#include "benchmark/studies/demo_study.h"
#include "command_line/options/force_option.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/stream_report.h"
#include "command_line/verb.h"
#include "files/bytes/byte_files.h"
#include "files/bytes/text_files.h"
#include "files/tensor/tensor_files.h"
#include "report/drawing/numbers.h"
#include "report/pages/demo_report.h"

namespace tensorpress::cli {
namespace {

namespace fs = std::filesystem;
using report::fixed;

struct Options {
  std::string data = "build/demo-data";
  std::string output = "demo";
  ForceOption force;
};

Result<std::vector<fs::path>> arrays_in(const std::string& directory) {
  std::error_code error;
  std::vector<fs::path> arrays;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".npy") arrays.push_back(entry->path());
  }
  if (error) {
    return io_error("cannot read the data directory ", directory, ": ", error.message(),
                    "; ./dev demo makes it and calls this");
  }
  if (arrays.empty()) {
    return bad_argument("the data directory ", directory,
                        " has no .npy file; ./dev demo puts some there and calls this");
  }
  std::ranges::sort(arrays);
  return arrays;
}

constexpr std::uint64_t kLargestDescription = std::uint64_t{1} << 20;

/// What NAME.json beside NAME.npy says; without it the name has to do.
Result<report::DataSetDescription> describe(const fs::path& array, DType dtype) {
  report::DataSetDescription description;
  description.name = array.stem().string();
  description.title = description.name;
  description.grey = dtype == DType::u8;
  const fs::path beside = fs::path(array).replace_extension(".json");
  std::error_code error;
  if (!fs::exists(beside, error)) return description;
  TRY(const std::string content,
      files::read_text(beside.string(), kLargestDescription, "a description"));
  const auto parsed = parse_json_object<Json>(content);
  if (!parsed.ok()) {
    return bad_argument(beside.string(), ": ", parsed.error().message, "; remove it or fix it");
  }
  const Json& json = *parsed;
  const auto text_of = [&](const char* key, std::string& into) {
    if (json.contains(key) && json[key].is_string()) into = json[key].get<std::string>();
  };
  text_of("title", description.title);
  text_of("about", description.about);
  if (json.contains("grey") && json["grey"].is_boolean()) {
    description.grey = json["grey"].get<bool>();
  }
  return description;
}

std::string line_of(const std::vector<std::string>& cells) {
  std::string line =
      "  " + cells[0] + std::string(14 - std::min<std::size_t>(14, cells[0].size()), ' ');
  for (std::size_t i = 1; i < cells.size(); ++i) line += at_right(cells[i], i == 1 ? 7 : 11);
  return line + "\n";
}

std::string heading_of(const fs::path& path, const TensorView& tensor) {
  return text(path.string(), ": ", name_of(tensor.dtype), " ", tensor.shape.to_string(), ", ",
              human_bytes(tensor.byte_count()), "\n",
              line_of({"", "setting", "ratio", "bits/value", "max rel", "psnr dB", "ssim",
                       "GB/s in", "GB/s out"}));
}

std::string to_text(const benchmark::RoundTrip& trip) {
  return line_of({benchmark::variant_name(trip.info.codec), benchmark::setting_of(trip.info.codec),
                  fixed(trip.ratio(), 2), fixed(trip.bits_per_value(), 2),
                  rounded(trip.error.max_rel_error(), 2), fixed(trip.error.psnr_db(), 1),
                  trip.ssim ? fixed(*trip.ssim, 4) : "-", fixed(trip.compress_gb_per_s, 2),
                  fixed(trip.decompress_gb_per_s, 2)});
}

Result<report::DemoDataSet> measure(const fs::path& path, Reporter& reporter) {
  TRY(const auto source, files::open_tensor(path.string(), std::nullopt));
  AlignedBuffer memory;
  TRY(const TensorView tensor, source->read(Region::whole(source->shape()), memory));
  TRY(auto description, describe(path, tensor.dtype));
  reporter.show(heading_of(path, tensor));
  return report::make_demo_data_set(
      tensor, std::move(description), {},
      [&](const benchmark::RoundTrip& trip) { reporter.show(to_text(trip)); });
}

Json to_json(const benchmark::RoundTrip& trip) {
  Json row;
  row["codec"] = trip.info.codec.name();
  row["parameters"] = describe_parameters(trip.info.codec).to_json();
  row["bytes_in"] = trip.info.bytes_in();
  row["bytes_out"] = trip.info.bytes_out;
  row["ratio"] = trip.ratio();
  row["payload_ratio"] = trip.payload_ratio();
  row["bits_per_value"] = trip.bits_per_value();
  row["max_abs_error"] = trip.error.max_abs_error;
  row["max_rel_error"] = trip.error.max_rel_error();
  row["psnr_db"] = trip.error.psnr_db();
  row["nrmse"] = trip.error.nrmse();
  row["ssim"] = trip.ssim ? Json(*trip.ssim) : Json(nullptr);
  row["compress_gb_per_s"] = trip.compress_gb_per_s;
  row["decompress_gb_per_s"] = trip.decompress_gb_per_s;
  row["within_stored_error"] = trip.within_stored_error();
  return row;
}

Json to_json(const report::DemoDataSet& set) {
  Json json;
  json["name"] = set.description.name;
  json["title"] = set.description.title;
  json["dtype"] = name_of(set.dtype);
  json["shape"] = json_shape(set.shape);
  json["rows"] = Json::array();
  for (const benchmark::RoundTrip& trip : set.rows) json["rows"].push_back(to_json(trip));
  return json;
}

/// Pages of a demonstration, ours or the longer one of ./dev demo, are made to be made again.
bool is_demo_page(const std::string& path) {
  constexpr std::string_view kTitle = "<title>Tensorpress: ";
  constexpr std::uint64_t kHead = 512;
  const auto page = files::open_bytes(path);
  if (!page.ok()) return false;
  std::string head(static_cast<std::size_t>(std::min(kHead, (*page)->size())), '\0');
  const auto read = (*page)->read_at(0, std::as_writable_bytes(std::span(head)));
  return read.ok() && head.find(kTitle) != std::string::npos;
}

Report report_on(const std::vector<report::DemoDataSet>& sets, const std::string& page) {
  std::size_t trips = 0;
  std::size_t beyond = 0;
  Json json = {{"report", page}, {"data_sets", Json::array()}};
  for (const auto& set : sets) {
    trips += set.rows.size();
    beyond += static_cast<std::size_t>(
        std::ranges::count_if(set.rows, [](const auto& t) { return !t.within_stored_error(); }));
    json["data_sets"].push_back(to_json(set));
  }
  Report report{
      .text = text(trips - beyond, " of ", trips,
                   " copies are within the error that their stream states\nreport: ", page, "\n"),
      .json = json_text(json)};
  if (beyond > 0) {
    report.remarks.push_back(
        text(beyond, " of ", trips, " copies exceed the error that their stream states"));
    report.status = ExitStatus::check_failed;
  }
  return report;
}

Result<Report> run(const Options& options, Reporter& reporter) {
  TRY(const auto arrays, arrays_in(options.data));
  const std::string path = (fs::path(options.output) / "report.html").string();
  if (!is_demo_page(path)) RETURN_IF_ERROR(options.force.check({}, path));
  std::error_code error;
  fs::create_directories(options.output, error);
  if (error) {
    return io_error("cannot make the directory ", options.output, ": ", error.message(),
                    "; choose another with --output");
  }
  std::vector<report::DemoDataSet> sets;
  for (const fs::path& array : arrays) {
    TRY(auto set, about(array.string(), measure(array, reporter)));
    sets.push_back(std::move(set));
  }
  TRY(const std::string page, report::demo_html(sets));
  RETURN_IF_ERROR(files::write_text(path, page));
  return report_on(sets, path);
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments
      .option("--data", options->data, "directory with .npy files; NAME.json may describe NAME.npy")
      .shown_as("DIR (build/demo-data)");
  arguments.option("-o,--output", options->output, "directory for report.html")
      .shown_as("DIR (demo)");
  options->force.declare(arguments);
  return [options](Reporter& reporter) { return run(*options, reporter); };
}

}  // namespace

Verb demo_verb() {
  return {"demo", "compress real data at many settings and write a page about it",
          "  ./dev demo\n"
          "  tensorpress demo --data build/demo-data --output demo",
          "print one JSON object with all numbers", declare};
}

}  // namespace tensorpress::cli
