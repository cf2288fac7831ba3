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
};

Result<Report> run(const Options& options) {
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
  Json fields = report::wafer_json(done, field, calibration);
  fields["seconds"] = took.count();
  Report report{.text = report::wafer_text(done, field, calibration), .json = json_text(fields)};
  const bool same = !done.run || (done.same_as_host && (!done.back || done.back_same_as_host));
  if (!same) {
    report.remarks.emplace_back("what the mesh computed is not what the host's codec computes");
    const bool matters = options.verify || !options.output.empty();
    report.status = matters ? ExitStatus::check_failed : ExitStatus::fine;
  }
  return report;
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->field.declare(arguments);
  options->field.declare_io(arguments);
  arguments.option("-o,--output", options->output, "write the stream, the field as one chunk")
      .shown_as("OUT.tpz");
  arguments.flag("--verify", options->verify, "fail unless the payload is the host codec's");
  arguments.flag("--decompress", options->decompress, "decode on the mesh as well");
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb wafer_run_verb() {
  return {.name = "run",
          .summary = "a field through ceresz2 or ceresz: stream, cycles, GB/s",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
