// tensorpress wafer heatmap: how long each PE works.
#include <memory>

#include "base/errors.h"
#include "command_line/reports/formatted.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "field_options.h"
#include "report/pages/wafer_pictures.h"

namespace tensorpress::cli {
namespace {

bool ends_with(const std::string& path, const char* ending) {
  return path.ends_with(ending);
}

struct Options {
  WaferFieldOptions field;
  std::string output = "heatmap.html";
};

Result<report::PeHeat> heat_of(const Options& options, const wafer::Calibration& calibration,
                               wafer::FieldOptions field, const char* title) {
  field.mesh.io = wafer::programs::MeshIo::sram;  // how words come and go does not matter here
  TRY(const wafer::FieldOnWafer done, options.field.run(calibration, field));
  if (!done.run)
    return bad_argument("no PE has anything to code: the field is constant, or the ",
                        "bound is too small for its values");
  return report::PeHeat{title, done.run->width, done.run->height, done.run->pe_cycles};
}

/// Cycles of all PEs.
struct Load {
  std::uint64_t sum = 0, most = 0;
  double mean = 0;
};

Load load_of(const report::PeHeat& heat) {
  Load load;
  for (const std::uint32_t cycles : heat.cycles) {
    load.sum += cycles;
    load.most = std::max<std::uint64_t>(load.most, cycles);
  }
  load.mean = static_cast<double>(load.sum) / static_cast<double>(heat.cycles.size());
  return load;
}

Json to_json(const report::PeHeat& heat) {
  const Load load = load_of(heat);
  return {{"codec", heat.title},
          {"mesh", text(heat.width, "x", heat.height)},
          {"total_cycles", load.sum},
          {"largest_cycles", load.most},
          {"mean_cycles", load.mean}};
}

std::string to_text(const report::PeHeat& heat) {
  const Load load = load_of(heat);
  return formatted("%-9s %ux%u PEs, slowest %llu cycles, %.0f in the mean\n", heat.title.c_str(),
                   heat.width, heat.height, static_cast<unsigned long long>(load.most), load.mean);
}

Report report_on(const std::vector<report::PeHeat>& heats, const std::string& output) {
  Report report;
  Json maps = Json::array();
  for (const report::PeHeat& heat : heats) {
    maps.push_back(to_json(heat));
    report.text += to_text(heat);
  }
  report.text += text(output, "\n");
  report.json = json_text({{"output", output}, {"maps", std::move(maps)}});
  return report;
}

Result<Report> run(const Options& options) {
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
  return report_on(heats, options.output);
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->field.declare(arguments);
  arguments.option("-o,--output", options->output, "picture .svg or .png, or page .html")
      .shown_as("FILE (heatmap.html)");
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb wafer_heatmap_verb() {
  return {.name = "heatmap",
          .summary = "how long each PE works (CereSZ-II, Figure 8): svg, png, or html",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
