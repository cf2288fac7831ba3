#include "compress_tensor.h"

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_again.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/stream_report.h"
#include "compression.h"
#include "files/tensor/tensor_files.h"
#include "stream/bounds/resolve.h"

namespace tensorpress::cli {
namespace {

/// From a pipe that may have been looked at already, or by name; a stream is compressed again.
Result<std::unique_ptr<TensorSource>> open_source(const CompressArguments& options,
                                                  const Codec& codec, CompressOptions& write,
                                                  std::optional<files::FileInput> pipe) {
  TRY(const auto raw, options.raw.format_of(options.input));
  if (!raw && !pipe && is_stream_file(options.input)) {
    if (options.verify) {
      return bad_argument("--verify compares with the original, and '", options.input,
                          "' is a compressed stream; use tensorpress verify with the original");
    }
    return about(options.input, open_stream_again(options.input, options.earlier_loss(), write));
  }
  const auto access =
      stream::needs_the_data(codec, write) ? files::Access::random : files::Access::in_order;
  return about(options.input, pipe ? files::open_tensor(std::move(*pipe), raw, access)
                                   : files::open_tensor(options.input, raw, access));
}

}  // namespace

Result<FileReport> compress_tensor(const CompressArguments& options,
                                   std::optional<files::FileInput> pipe) {
  const std::string output =
      options.output.empty() ? default_output(options.input, ".tpz") : options.output;
  TRY(const Codec codec, options.codec.codec());
  TRY(auto asked, options.bound.options());
  TRY(CompressOptions write, options.write_options(std::move(asked)));
  if (!options.variables.empty()) {
    return bad_argument("--var names a variable of a NetCDF or HDF5 file, and '", options.input,
                        "' is neither");
  }
  TRY(auto source, open_source(options, codec, write, std::move(pipe)));
  TRY(const Compressed done, run_compression(options, codec,
                                             {.name = options.input,
                                              .output = output,
                                              .source = std::move(source),
                                              .write = std::move(write)}));
  FileReport report{.fields = to_json(options, done),
                    .bytes_in = done.info.bytes_in(),
                    .bytes_out = done.info.bytes_out,
                    .to = is_pipe(output) ? Channel::standard_error : Channel::standard_output};
  report.lines = compression_in_one_line(options.input, output, done.info, done.seconds);
  if (options.verify) report.lines += done.verification.fields.to_text();
  const bool several = options.inputs.size() > 1;
  if (several) report.fields["output"] = output;
  add_remarks(options, several ? text(options.input, ": ") : "", output, done, report);
  return report;
}

}  // namespace tensorpress::cli
