// tensorpress wafer heatmap: how long each PE works.
#include <memory>

#include "base/errors.h"
#include "command_line/reports/json_output.h"
#include "field_options.h"
#include "report/pages/wafer_pictures.h"

namespace tensorpress::cli {
namespace {

bool ends_with(const std::string& path, const char* ending) {
  return path.ends_with(ending);
}

struct HeatmapOptions {
  WaferFieldOptions field;
  std::string output = "heatmap.html";
  bool json = false;
};

Result<report::PeHeat> heat_of(const HeatmapOptions& options, const wafer::Calibration& calibration,
                               wafer::FieldOptions field, const char* title) {
  field.mesh.io = wafer::programs::MeshIo::sram;  // how words come and go does not matter here
  TRY(const wafer::FieldOnWafer done, options.field.run(calibration, field));
  if (!done.run)
    return bad_argument("no PE has anything to code: the field is constant, or the ",
                        "bound is too small for its values");
  return report::PeHeat{title, done.run->width, done.run->height, done.run->pe_cycles};
}

Json heat_json(const report::PeHeat& heat) {
  std::uint64_t sum = 0, most = 0;
  for (const std::uint32_t cycles : heat.cycles) {
    sum += cycles;
    most = std::max<std::uint64_t>(most, cycles);
  }
  return {{"codec", heat.title},
          {"mesh", text(heat.width, "x", heat.height)},
          {"total_cycles", sum},
          {"largest_cycles", most},
          {"mean_cycles", static_cast<double>(sum) / static_cast<double>(heat.cycles.size())}};
}

Result<ExitStatus> run_heatmap(const HeatmapOptions& options) {
  const bool page = ends_with(options.output, ".html");
  if (!page && !ends_with(options.output, ".svg") && !ends_with(options.output, ".png")) {
    return bad_argument("-o ", options.output, "; a heat map is .html, .svg or .png");
  }
  RETURN_IF_ERROR(options.field.check_output(options.output));
  TRY(const wafer::Calibration calibration, options.field.calibration());
  TRY(const wafer::FieldOptions field, options.field.options());
  std::vector<report::PeHeat> heats;
  TRY(heats.emplace_back(), heat_of(options, calibration, field, options.field.codec().c_str()));
  if (page && options.field.codec() == "ceresz2") {  // beside what it improves on
    wafer::FieldOptions other = field;
    other.mesh.mapping = wafer::programs::Mapping::ceresz;
    TRY(heats.emplace_back(), heat_of(options, calibration, other, "ceresz"));
  }
  if (ends_with(options.output, ".png")) {
    TRY(const auto png, report::heat_png(heats.front()));
    RETURN_IF_ERROR(write_bytes(options.output, std::as_bytes(std::span(png))));
  } else {
    TRY(const std::string words, page ? report::heat_page(heats) : report::heat_svg(heats.front()));
    RETURN_IF_ERROR(write_bytes(options.output, std::as_bytes(std::span(words))));
  }
  Json maps = Json::array();
  for (const auto& heat : heats) maps.push_back(heat_json(heat));
  if (options.json) {
    print_json({{"output", options.output}, {"maps", std::move(maps)}}, stdout);
    return ExitStatus::fine;
  }
  for (const auto& map : maps) {
    std::printf("%-9s %s PEs, slowest %llu cycles, %.0f in the mean\n",
                map["codec"].get<std::string>().c_str(), map["mesh"].get<std::string>().c_str(),
                static_cast<unsigned long long>(map["largest_cycles"].get<std::uint64_t>()),
                map["mean_cycles"].get<double>());
  }
  std::printf("%s\n", options.output.c_str());
  return ExitStatus::fine;
}

}  // namespace

Action declare_wafer_heatmap(CLI::App& app) {
  auto options = std::make_shared<HeatmapOptions>();
  options->field.declare(app);
  app.add_option("-o,--output", options->output, "picture .svg or .png, or page .html")
      ->option_text("FILE (heatmap.html)");
  app.add_flag("--json", options->json, "print one JSON object");
  return [options] { return run_heatmap(*options); };
}

}  // namespace tensorpress::cli
