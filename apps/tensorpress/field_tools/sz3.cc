// tensorpress sz3: the flags of the sz3 program, for scripts that speak them. The compressed file
// is a .tpz stream.
#include <charconv>
#include <memory>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "field_tool.h"

namespace tensorpress::cli {
namespace {

struct Options {
  FieldFiles files;
  std::vector<std::string> mode;  // -M ABS 1e-3, or -M ABS with -A 1e-3
  std::optional<double> absolute, relative, psnr, norm;
  std::string configuration;
  std::string integers;
  bool statistics = false;
};

Result<double> number_in(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || read.ptr != end) {
    return bad_argument("-M ", text, ": a number is expected after the mode");
  }
  return value;
}

Result<std::optional<Bound>> bound_of(const Options& options) {
  if (options.norm) return unsupported("-N has no counterpart here; use -S DECIBELS");
  std::vector<const char*> flags;
  if (options.mode.size() > 1) flags.push_back("-M");
  if (options.absolute) flags.push_back("-A");
  if (options.relative) flags.push_back("-R");
  if (options.psnr) flags.push_back("-S");
  if (flags.size() > 1) {
    return bad_argument(flags[0], " and ", flags[1], " both give a bound; leave one out");
  }
  std::string mode = options.mode.empty() ? "" : options.mode[0];
  std::optional<double> given;
  if (options.mode.size() > 1) {
    TRY(given, number_in(options.mode[1]));
  }
  if (mode.empty())
    mode = options.absolute ? "ABS" : options.relative ? "REL" : options.psnr ? "PSNR" : "";
  if (mode.empty()) return std::optional<Bound>();
  const auto bound = [&](const std::optional<double>& flag, char letter,
                         Bound (*make)(double)) -> Result<std::optional<Bound>> {
    const auto value = given ? given : flag;
    if (!value)
      return bad_argument("-M ", mode, " needs a number: -M ", mode, " E, or -", letter, " E");
    return std::optional(make(*value));
  };
  if (mode == "ABS") return bound(options.absolute, 'A', Bound::absolute);
  if (mode == "REL") return bound(options.relative, 'R', Bound::relative);
  if (mode == "PSNR") return bound(options.psnr, 'S', Bound::psnr);
  return unsupported("-M ", mode, " has no counterpart here; use ABS, REL or PSNR");
}

Result<Report> run(const Options& options, Reporter& reporter) {
  if (!options.configuration.empty()) {
    return unsupported("-c ", options.configuration, ": configuration files are not read; use -M");
  }
  if (!options.integers.empty()) {
    return unsupported("-I ", options.integers, ": integers are not compressed; use -f or -d");
  }
  FieldFiles files = options.files;
  if (files.compresses() && files.compressed.empty() && files.copy.empty()) {
    files.compressed = is_pipe(files.original) ? files.original : files.original + ".sz";
  }
  if (!files.compresses() && files.copy.empty() && !files.compressed.empty()) {
    files.copy = is_pipe(files.compressed) ? files.compressed : files.compressed + ".out";
  }
  TRY(const auto bound, bound_of(options));
  return run_field_tool(files, bound, "-M ABS E, -M REL E or -M PSNR DB", options.statistics,
                        reporter);
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->files.declare(arguments);
  arguments
      .option("-M", options->mode,
              "what is kept: an error, an error as a share of the value range, decibels")
      .values(1, 2)
      .shown_as("ABS|REL|PSNR [E]");
  arguments.option("-A", options->absolute, "error with -M ABS").shown_as("E");
  arguments.option("-R", options->relative, "share of the range with -M REL").shown_as("E");
  arguments.option("-S", options->psnr, "decibels with -M PSNR").shown_as("DB");
  arguments.option("-N", options->norm, "").hidden();
  arguments.option("-c", options->configuration, "").hidden();
  arguments.option("-I", options->integers, "").hidden();
  arguments.flag("-a", options->statistics, "compare the copy with the original");
  return [options](Reporter& reporter) { return run(*options, reporter); };
}

}  // namespace

Verb sz3_verb() {
  return {"sz3", "compress raw fields with the flags of the sz3 program",
          "  tensorpress sz3 -f -i temp.raw -z temp.sz -3 360 180 20 -M REL 1e-3 -a\n"
          "  tensorpress sz3 -f -z temp.sz -o copy.raw -3 360 180 20",
          nullptr, declare};
}

}  // namespace tensorpress::cli
