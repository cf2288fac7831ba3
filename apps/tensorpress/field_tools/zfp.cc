// tensorpress zfp: the flags of the zfp program, for scripts that speak them. The compressed file
// is a .tpz stream.
#include <memory>

#include "base/errors.h"
#include "field_tool.h"

namespace tensorpress::cli {
namespace {

struct Options {
  FieldFiles files;
  std::string type;
  std::optional<double> tolerance;
  std::optional<double> bits_per_value;
  std::optional<unsigned> precision;
  std::vector<double> expert;
  bool reversible = false;
  bool header = false;
  bool statistics = false;
  std::string execution;
};

Result<std::optional<Bound>> bound_of(const Options& options) {
  if (options.precision) {
    return unsupported("-p ", *options.precision,
                       ": a number of bit planes bounds no error; -a E bounds it, or `tensorpress "
                       "compress --pw-rel E` for each value");
  }
  if (!options.expert.empty()) {
    return unsupported("-c has no counterpart here; use -a, -r or -R");
  }
  const int given =
      (options.tolerance ? 1 : 0) + (options.bits_per_value ? 1 : 0) + (options.reversible ? 1 : 0);
  if (given > 1) return bad_argument("-a, -r and -R exclude each other");
  if (options.reversible) return std::optional(Bound::absolute(0));
  if (options.tolerance) return std::optional(Bound::absolute(*options.tolerance));
  if (!options.bits_per_value) return std::optional<Bound>();
  TRY(const auto format, options.files.format());
  const double bits = format && format->dtype == DType::f64 ? 64 : 32;
  if (!(*options.bits_per_value > 0)) {
    return bad_argument("-r ", *options.bits_per_value, ": bits a value must be more than 0");
  }
  if (*options.bits_per_value >= bits) {
    return bad_argument("-r ", *options.bits_per_value, ": values have ", bits,
                        " bits and are to get fewer; -R keeps them all");
  }
  return std::optional(Bound::ratio(bits / *options.bits_per_value));
}

Result<Report> run(const Options& options, Reporter& reporter) {
  if (!options.type.empty()) {
    return unsupported("-t ", options.type, ": use -f or -d; integers are not compressed");
  }
  TRY(const auto bound, bound_of(options));
  return run_field_tool(options.files, bound, "-a E, -r BITS or -R", options.statistics, reporter);
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.help_only_as_long_option();  // -h is zfp's header
  options->files.declare(arguments);
  arguments.option("-t", options->type, "").hidden();
  arguments.option("-a", options->tolerance, "absolute error of every value").shown_as("E");
  arguments
      .option("-r", options->bits_per_value,
              "bits a value: the error bound that achieves it is sought and kept")
      .shown_as("BITS");
  arguments.flag("-R", options->reversible, "lossless");
  arguments.option("-p", options->precision, "").hidden();
  arguments.option("-c", options->expert, "").values(4, 4).hidden();
  arguments.flag("-h", options->header, "accepted: the file always describes itself");
  arguments.option("-x", options->execution, "accepted and ignored: one thread").shown_as("MODE");
  arguments.flag("-s", options->statistics, "compare the copy with the original");
  return [options](Reporter& reporter) { return run(*options, reporter); };
}

}  // namespace

Verb zfp_verb() {
  return {"zfp", "compress raw fields with the flags of the zfp program",
          "  tensorpress zfp -f -3 360 180 20 -a 1e-3 -i temp.raw -z temp.tpz -s\n"
          "  tensorpress zfp -z temp.tpz -o copy.raw",
          nullptr, declare};
}

}  // namespace tensorpress::cli
