// tensorpress wafer run: a field through a codec on the simulated wafer.
#include <chrono>
#include <memory>

#include "base/errors.h"
#include "command_line/options/bound_options.h"
#include "command_line/reports/json_output.h"
#include "command_line/reports/messages.h"
#include "field_options.h"
#include "files/tensor/tensor_files.h"
#include "report/pages/wafer_text.h"

namespace tensorpress::cli {
namespace {

struct Options {
  WaferFieldOptions field;
  std::string output;
  bool verify = false;
  bool decompress = false;
  bool json = false;
};

Result<ExitStatus> run(const Options& options) {
  RETURN_IF_ERROR(options.field.check_output(options.output));
  TRY(const wafer::Calibration calibration, options.field.calibration());
  TRY(wafer::FieldOptions field, options.field.options());
  field.decompress = options.decompress;
  const auto begin = std::chrono::steady_clock::now();
  TRY(const wafer::FieldOnWafer done, options.field.run(calibration, field));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!options.output.empty()) {
    RETURN_IF_ERROR(write_bytes(options.output, done.stream));
  }
  if (options.json) {
    Json object = report::wafer_json(done, field, calibration);
    object["seconds"] = took.count();
    print_json(object, stdout);
  } else {
    std::fputs(report::wafer_text(done, field, calibration).c_str(), stdout);
  }
  const bool same = !done.run || (done.same_as_host && (!done.back || done.back_same_as_host));
  if (same) return ExitStatus::fine;
  print_message("what the mesh computed is not what the host's codec computes");
  return options.verify || !options.output.empty() ? ExitStatus::check_failed : ExitStatus::fine;
}

}  // namespace

Action declare_wafer_run(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->field.declare(app);
  options->field.declare_io(app);
  app.add_option("-o,--output", options->output, "write the stream, the field as one chunk")
      ->option_text("OUT.tpz");
  app.add_flag("--verify", options->verify, "fail unless the payload is the host codec's");
  app.add_flag("--decompress", options->decompress, "decode on the mesh as well");
  app.add_flag("--json", options->json, "print one JSON object");
  return [options] { return run(*options); };
}

}  // namespace tensorpress::cli
