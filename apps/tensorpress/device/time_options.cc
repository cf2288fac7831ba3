#include "time_options.h"

#include "base/errors.h"

namespace tensorpress::cli {
namespace {

/// An option that would be ignored is a mistake.
Result<void> check_given(const Arguments& arguments, const TimeOptions& options) {
  if (options.figure != 0) {
    return arguments.refuse_ignored(
        {"--device", "--codec", "--shape", "--cf", "--layout", "--serialize", "--decompress",
         "--count", "--units", "--ratio", "--training-rate", "--sweep"},
        "--figure is as the paper has it");
  }
  if (options.chop.codec == "ceresz2") {
    return arguments.refuse_ignored({"--shape", "--cf", "--layout", "--serialize", "--decompress",
                                     "--count", "--training-rate", "--sweep"},
                                    "the prediction for ceresz2 takes --units and --ratio only");
  }
  RETURN_IF_ERROR(arguments.refuse_ignored({"--units", "--ratio"}, "it is of --codec ceresz2"));
  if (options.sweep.empty()) return {};
  RETURN_IF_ERROR(arguments.refuse_ignored({"--cf"}, "a sweep goes over all chop factors"));
  RETURN_IF_ERROR(
      arguments.refuse_ignored({"--training-rate"}, "a sweep does not compare with training"));
  if (options.sweep != "serialize") return {};
  return arguments.refuse_ignored({"--serialize"}, "the sweep goes over it");
}

}  // namespace

void TimeOptions::declare(Arguments& arguments) {
  arguments.option("--device", names, "a name, a .toml file, or all; repeatable")
      .one_at_a_time()
      .shown_as("DEVICE");
  chop.declare(arguments);
  arguments.find("--codec").described_as("dct-chop, or ceresz2 (a prediction of ports to come)");
  arguments.option("--count", count, "devices side by side: 8 GroqChips, 64 IPUs (1)")
      .shown_as("N");
  arguments.option("--units", units, "of the device, for ceresz2 (all)").shown_as("N");
  arguments.option("--ratio", ratio, "of the compressed data, for ceresz2 (10)").shown_as("R");
  arguments
      .option("--training-rate", training_rate,
              "samples/s that training takes (the device's ResNet-34, if known)")
      .shown_as("R");
  arguments.option("--sweep", sweep, "over resolution, batch, cf or serialize").shown_as("WORD");
  arguments.option("--figure", figure, "of the DCT+Chop paper: 10 to 15, 17").shown_as("N");
  arguments.option("--html", page, "write the sweeps as a page with plots").shown_as("FILE");
  force.declare(arguments);
}

Result<void> TimeOptions::check(const Arguments& arguments) const {
  RETURN_IF_ERROR(check_given(arguments, *this));
  if (names.empty() && figure == 0) return bad_argument("say which --device");
  if (arguments.given("--units") && !(units >= 1)) {
    return bad_argument("--units ", units, " is below 1; leave it out for all of them");
  }
  constexpr std::uint64_t kMost = 1'000'000;
  if (count < 1 || count > kMost) {
    return bad_argument("--count ", count, " is not in 1..", kMost);
  }
  if (!(training_rate >= 0)) {
    return bad_argument("--training-rate ", training_rate, " is below 0");
  }
  if (!page.empty() && !sweeps()) {
    return bad_argument("--html is for sweeps: add --figure or --sweep");
  }
  RETURN_IF_ERROR(force.check(names, page, "--html"));
  return {};
}

}  // namespace tensorpress::cli
