// tensorpress info: what a file holds, or without a file what this program can do.
#include <memory>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/reports/batch.h"
#include "command_line/reports/messages.h"
#include "command_line/verb.h"
#include "files/netcdf/file.h"
#include "program_info.h"
#include "tensor_info.h"
#include "variables_info.h"

namespace tensorpress::cli {
namespace {

Result<FileReport> info_of(const std::string& file) {
  if (files::array_format_of(file) != files::ArrayFormat::other) return list_variables(file);
  TRY(const TensorDescription tensor, about(file, describe_tensor(file)));
  return FileReport{.lines = tensor.fields.to_text(),
                    .fields = tensor.fields.to_json(),
                    .bytes_in = tensor.bytes_in,
                    .bytes_out = tensor.bytes_out};
}

Result<Report> run(const std::vector<std::string>& files, Reporter& reporter) {
  if (files.empty()) return report_on_program();
  RETURN_IF_ERROR(check_several(files));
  return work_on_files(files, reporter, info_of, Headings::names);
}

Action declare(Arguments& arguments) {
  auto files = std::make_shared<std::vector<std::string>>();
  arguments
      .option("FILE", *files,
              ".tpz, .npy, NetCDF or HDF5 files; - is a .tpz stream on standard input; without a "
              "file: this program's version, instruction set, codecs and devices")
      .shown_as("...");
  return [files](Reporter& reporter) { return run(*files, reporter); };
}

}  // namespace

Verb info_verb() {
  return {"info", "say what a .tpz, .npy, NetCDF or HDF5 file holds, or what this program can do",
          "  tensorpress info x.tpz\n"
          "  tensorpress info *.tpz --json\n"
          "  tensorpress info run.nc\n"
          "  tensorpress info",
          kOneObject, declare};
}

}  // namespace tensorpress::cli
