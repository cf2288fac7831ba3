#include "sweeps.h"

#include "base/errors.h"
#include "command_line/reports/json_output.h"
#include "device_files.h"
#include "devices/time/chop_sweep.h"
#include "files/bytes/text_files.h"
#include "report/pages/device_page.h"

namespace tensorpress::cli {
namespace {

using devices::Sweep;

Json to_json(const Sweep& sweep) {
  Json series = Json::array();
  for (const auto& each : sweep.series) {
    Json points = Json::array();
    for (const auto& point : each.points) {
      Json object = {{"x", json_number(point.x)}, {"fits", point.time.has_value()}};
      if (point.time) {
        object["seconds"] = json_number(point.time->total);
        object["gb_per_s"] = json_number(point.time->bytes_per_second() / 1e9);
        object["bound_by"] = point.time->bound_by();
      } else {
        object["reasons"] = {point.reason};
      }
      points.push_back(std::move(object));
    }
    series.push_back({{"name", each.name}, {"points", std::move(points)}});
  }
  return {{"device", sweep.device}, {"title", sweep.title}, {"series", std::move(series)}};
}

Result<std::vector<Sweep>> wanted_sweeps(const TimeOptions& options) {
  if (options.figure != 0) return devices::paper_figure(options.figure);
  const auto axis = devices::sweep_axis_named(options.sweep);
  if (!axis) {
    return bad_argument("--sweep ", options.sweep,
                        " is not one of resolution, batch, cf, serialize");
  }
  TRY(const devices::ChopTask task, options.chop.task());
  TRY(const auto chosen, open_devices(options.names));
  std::vector<Sweep> sweeps;
  for (const devices::Device& device : chosen) {
    TRY(Sweep made, devices::sweep(device, task, *axis, options.count));
    sweeps.push_back(std::move(made));
  }
  return sweeps;
}

}  // namespace

Result<Report> report_sweeps(const TimeOptions& options) {
  TRY(const auto sweeps, wanted_sweeps(options));
  if (!options.page.empty()) {
    const std::string title = options.figure != 0
                                  ? text("DCT+Chop, Figure ", options.figure, ", predicted")
                                  : text("DCT+Chop by ", options.sweep, ", predicted");
    RETURN_IF_ERROR(files::write_text(options.page, report::sweeps_html(title, sweeps)));
  }
  Report report;
  Json all = Json::array();
  for (const Sweep& sweep : sweeps) {
    all.push_back(to_json(sweep));
    report.text += text(report::sweep_text(sweep), "\n");
  }
  report.json = json_text(all);
  return report;
}

}  // namespace tensorpress::cli
