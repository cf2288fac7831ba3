// tensorpress verify: is a stream, or a whole NetCDF or HDF5 file, as close to its original as it
// says?
#include <memory>

#include "base/errors.h"
#include "interruption.h"
#include "messages.h"
#include "paths.h"
#include "stream_file.h"
#include "tensor_options.h"
#include "verification.h"
#include "verify_files.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::string original;
  std::string stream;
  std::string variable;
  RawFormatOptions raw;
  ThreadsOption threads;
  bool json = false;

  std::vector<std::string> variables() const {
    return variable.empty() ? std::vector<std::string>() : std::vector{variable};
  }
};

Result<ExitStatus> run(const Options& options) {
  TRY(const auto raw, options.raw.format());
  RETURN_IF_ERROR(check_exists(options.original));
  if (!raw && are_array_files(options.original, options.stream)) {
    note_interruptions();
    TRY(const auto verification,
        verify_files(options.original, options.stream, options.variables()));
    return report(verification, options.stream, options.json);
  }
  RETURN_IF_ERROR(check_is_stream(options.stream));
  note_interruptions();
  TRY(const Verification verification, verify_stream(options.original, raw, options.stream,
                                                     options.threads.threads(), options.variable));
  if (options.json) {
    print_json(verification.fields, stdout);
  } else {
    print_fields(verification.fields, stdout);
  }
  if (verification.ok) return ExitStatus::fine;
  print_message(text(options.stream, ": ", verification.reason));
  return ExitStatus::check_failed;
}

Action declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("ORIGINAL", options->original,
                 ".npy, raw, NetCDF or HDF5 file; - is standard input")
      ->required()
      ->option_text(" ");
  app.add_option("FILE.tpz", options->stream, "the stream made from it; - is standard input")
      ->required()
      ->option_text(" ");
  app.add_option("--var", options->variable, "variable of a NetCDF or HDF5 file")
      ->option_text("NAME (as the stream says)");
  options->raw.declare(app);
  options->threads.declare(app);
  app.add_flag("--json", options->json,
               "print one JSON object; the infinite psnr_db of a perfect copy is null");
  return [options] { return run(*options); };
}

}  // namespace

Verb verify_verb() {
  return {"verify", "compare a stream with its original; status 1 if its error is exceeded",
          "  tensorpress verify x.npy x.tpz\n"
          "  tensorpress verify field.raw field.tpz --shape 20x180x360 --dtype f32 --json\n"
          "  tensorpress compress x.npy --rel 1e-4 -o - | tensorpress verify x.npy -\n"
          "  tensorpress verify run.nc small.nc",
          declare};
}

}  // namespace tensorpress::cli
