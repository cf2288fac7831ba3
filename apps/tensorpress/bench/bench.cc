// tensorpress bench: speed beside memcpy in the same run, and studies.
#include <algorithm>
#include <memory>

#include "base/errors.h"
#include "command_line/options/codec_options.h"
#include "command_line/options/force_option.h"
#include "command_line/options/tensor_options.h"
#include "command_line/verb.h"
#include "energy.h"
#include "on_device.h"
#include "pack.h"
#include "peers.h"
#include "speed.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  CodecOptions codec;
  std::vector<std::uint64_t> planes = {32, 64, 128, 256, 512};
  std::vector<int> chop_factors = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<std::size_t> threads = {1, 2};
  std::uint64_t megabytes = 128;
  int repetitions = 11;
  RawFormatOptions raw;
  bool no_matmul = false;
  std::string study;
  std::uint64_t images = 1000;
  std::string output = "dct-energy.html";
  bool peers = false;
  std::vector<double> relative;  // bounds
  std::vector<double> absolute;
  std::vector<double> fill_values;
  std::string plugin_path;
  std::string html;
  std::string device;
  ForceOption force;
  std::optional<Arguments> arguments;  // know the options that were given

  bool given(const char* option) const { return arguments->given(option); }
  /// --peers takes a list of codecs.
  std::string codec_list() const {
    std::string list;
    for (const std::string& name : arguments->find("--codec").words()) {
      list += text(list.empty() ? "" : ",", name);
    }
    return list;
  }
  /// As given on the command line; empty when none was.
  std::vector<Bound> bounds() const {
    std::vector<Bound> all;
    for (const double value : relative) all.push_back(Bound::relative(value));
    for (const double value : absolute) all.push_back(Bound::absolute(value));
    return all;
  }
  SpeedBenchOptions speed() const { return {.threads = threads, .repetitions = repetitions}; }
};

constexpr int kPeersRepetitions = 7;  // unless told: some peers are slow
constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;

bool has_parameter(const Codec& codec, std::string_view name) {
  return std::ranges::find(codec.parameters(), name, &Parameter::name) != codec.parameters().end();
}

/// The codec must have the parameter.
Result<Codec> with_parameter(const Codec& codec, const Parameter& change) {
  std::vector<Parameter> parameters(codec.parameters().begin(), codec.parameters().end());
  const auto slot = std::ranges::find(parameters, change.name, &Parameter::name);
  ENSURE(slot != parameters.end());
  slot->value = change.value;
  return Codec::make(codec.name(), parameters);
}

bool is_error_bounded(const Codec& codec) {
  return std::ranges::any_of(codecs(), [&](const CodecInfo& info) {
    return info.name == codec.name() && info.error_bounded;
  });
}

/// dct-chop when nothing was said: it needs no bound.
Result<Codec> codec_of(const Options& options) {
  TRY(Codec codec, options.codec.codec());
  const bool nothing_said = !options.given("--codec") && options.bounds().empty();
  if (nothing_said && is_error_bounded(codec)) return Codec::make("dct-chop");
  return codec;
}

Result<ImageCase> image_case(const Options& options, Codec codec, std::optional<int> chop_factor) {
  std::optional<Codec> matmul;
  if (has_parameter(codec, "form") && !options.no_matmul) {
    TRY(matmul, with_parameter(codec, {"form", "matmul"}));
  }
  return ImageCase{std::move(codec), chop_factor, std::move(matmul)};
}

/// One case for each chop factor of a codec that has them; one of its own for the others.
Result<std::vector<ImageCase>> image_cases(const Options& options, const Codec& base) {
  std::vector<ImageCase> cases;
  if (!has_parameter(base, "cf")) {
    if (options.given("--cfs")) return bad_argument("--cfs: codec ", base.name(), " has no cf");
    TRY(auto only, image_case(options, base, std::nullopt));
    cases.push_back(std::move(only));
    return cases;
  }
  if (options.given("--cf")) {
    return bad_argument("--cf is one of the chop factors that batches of images are run with; ",
                        "--cfs says which");
  }
  for (const int cf : options.chop_factors) {
    TRY(Codec codec, with_parameter(base, {"cf", text(cf)}));
    TRY(auto next, image_case(options, std::move(codec), cf));
    cases.push_back(std::move(next));
  }
  return cases;
}

Result<void> check_sizes(const Options& options) {
  constexpr std::uint64_t kMostPlane = 16384, kMostMegabytes = 65536;
  for (const std::uint64_t plane : options.planes) {
    if (plane < 1 || plane > kMostPlane) {
      return bad_argument("--planes is ", plane, "; it must be from 1 to ", kMostPlane);
    }
  }
  if (options.megabytes < 1 || options.megabytes > kMostMegabytes) {
    return bad_argument("--megabytes is ", options.megabytes, "; it must be from 1 to ",
                        kMostMegabytes);
  }
  return {};
}

Result<Report> run_images(const Options& options, Reporter& reporter) {
  RETURN_IF_ERROR(check_sizes(options));
  TRY(const Codec base, codec_of(options));
  if (is_error_bounded(base)) {
    return bad_argument("codec ", base.name(), " depends on the data; name files to measure it on");
  }
  TRY(auto cases, image_cases(options, base));
  return run_image_bench({.cases = std::move(cases),
                          .planes = options.planes,
                          .least_bytes = options.megabytes * kMegabyte},
                         options.speed(), reporter);
}

Result<Report> run_files(const Options& options, Reporter& reporter) {
  TRY(Codec codec, codec_of(options));
  TRY(const auto raw, options.raw.format());
  if (is_error_bounded(codec) && options.bounds().empty()) {
    return bad_argument("codec ", codec.name(),
                        " keeps an error bound and none is given: --abs E or --rel E");
  }
  return run_file_bench({.codec = std::move(codec),
                         .files = options.files,
                         .raw = raw,
                         .bounds = options.bounds(),
                         .fill_values = options.fill_values},
                        options.speed(), reporter);
}

Result<Report> run_on_device(const Options& options, Reporter& reporter) {
  RETURN_IF_ERROR(check_sizes(options));
  TRY(Codec codec, codec_of(options));
  TRY(const auto raw, options.raw.format());
  if (is_error_bounded(codec) && options.bounds().empty()) {
    return bad_argument("codec ", codec.name(),
                        " keeps an error bound and none is given: --abs E or --rel E");
  }
  return run_device_bench({.device = options.device,
                           .fields = {.codec = std::move(codec),
                                      .files = options.files,
                                      .raw = raw,
                                      .bounds = options.bounds(),
                                      .fill_values = options.fill_values},
                           .planes = options.planes,
                           .least_bytes = options.megabytes * kMegabyte},
                          options.speed(), reporter);
}

Result<Report> run_study(const Options& options, Reporter& reporter) {
  if (options.study == "pack") {
    return run_pack_bench(options.megabytes, options.repetitions, reporter);
  }
  if (options.study != "dct-energy") {
    return bad_argument("there is no study '", options.study, "'; there are dct-energy and pack");
  }
  if (options.files.empty()) {
    return bad_argument("the study dct-energy needs images: .png, .npy or CIFAR-10's .bin files");
  }
  RETURN_IF_ERROR(options.force.check(options.files, options.output, "--output"));
  return run_energy_study(options.files, options.images, options.output);
}

Result<Report> run_comparison(const Options& options, Reporter& reporter) {
  PeersOptions peers{
      .files = options.files,
      .raw = {},
      .codecs = options.codec_list(),
      .bounds = options.bounds(),
      .fill_values = options.fill_values,
      .repetitions = options.given("--repetitions") ? options.repetitions : kPeersRepetitions,
      .plugin_path = options.plugin_path,
      .html = options.html};
  if (peers.bounds.empty()) {
    peers.bounds = {Bound::relative(1e-2), Bound::relative(1e-3), Bound::relative(1e-4)};
  }
  TRY(peers.raw, options.raw.format());
  return run_peers(peers, reporter);
}

/// An option that would be ignored is a mistake.
Result<void> check_given(const Options& options) {
  constexpr const char* kOfImages = "it is of batches of images, which are measured without files";
  const bool pack = options.study == "pack";
  if (!options.study.empty()) {
    RETURN_IF_ERROR(options.arguments->refuse_ignored(
        {"--planes", "--cfs", "--no-matmul", "--peers", "--device"}, "a study does not use it"));
    if (!pack) {
      return options.arguments->refuse_ignored({"--megabytes"}, "it is of --study pack");
    }
    return options.arguments->refuse_ignored({"--images", "--output"},
                                             "it is of --study dct-energy");
  }
  RETURN_IF_ERROR(
      options.arguments->refuse_ignored({"--images", "--output"}, "it is of --study dct-energy"));
  if (!options.device.empty()) {
    RETURN_IF_ERROR(options.arguments->refuse_ignored({"--peers", "--cfs", "--no-matmul", "--html"},
                                                      "--device measures one codec on a device"));
  }
  if (options.files.empty() && !options.peers) return {};
  return options.arguments->refuse_ignored({"--planes", "--cfs", "--megabytes", "--no-matmul"},
                                           kOfImages);
}

Result<Report> run(const Options& options, Reporter& reporter) {
  RETURN_IF_ERROR(check_given(options));
  if (!options.study.empty()) return run_study(options, reporter);
  if (options.repetitions < 1)
    return bad_argument("--repetitions is ", options.repetitions, "; it must be at least 1");
  for (const std::size_t threads : options.threads) {
    if (threads < 1) return bad_argument("--threads is 0; it must be at least 1");
  }
  RETURN_IF_ERROR(options.force.check(options.files, options.html, "--html"));
  if (options.peers) return run_comparison(options, reporter);
  if (!options.html.empty()) return bad_argument("--html is a page of --peers");
  if (!options.device.empty()) return run_on_device(options, reporter);
  return options.files.empty() ? run_images(options, reporter) : run_files(options, reporter);
}

void declare_bounds(Arguments& arguments, Options& options) {
  const Argument relative =
      arguments.option("--rel", options.relative, "bounds, as shares of the value range")
          .separated_by_commas()
          .shown_as("E,...");
  arguments.option("--abs", options.absolute, "bounds, absolute")
      .separated_by_commas()
      .shown_as("E,...")
      .excludes(relative);
  arguments
      .option("--fill", options.fill_values,
              "a value that stands for no data and is not in the value range; may be repeated")
      .shown_as("V")
      .one_at_a_time();
}

void declare_peers(Arguments& arguments, Options& options) {
  constexpr const char* kGroup = "Comparison with other compressors";
  arguments
      .flag("--peers", options.peers,
            "compare our error-bounded codecs with SZ3, SPERR, ZFP and others on FILES, one "
            "thread, bounds --rel 1e-2,1e-3,1e-4 unless given; --codec then takes a list")
      .group(kGroup);
  arguments
      .option("--plugin-path", options.plugin_path,
              "folder of hdf5plugin's filters (HDF5_PLUGIN_PATH, or what Python says)")
      .shown_as("DIR")
      .group(kGroup);
  arguments.option("--html", options.html, "write a page with plots")
      .shown_as("PAGE")
      .group(kGroup);
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  options->arguments = arguments;
  arguments.option(
      "FILES", options->files,
      "tensors to measure on: .npy, or raw with --shape and --dtype or with both in the "
      "name (wmag_91x91x91.f32); without any: batches of 3-channel images in f32");
  options->codec.declare(arguments);
  arguments.option("--planes", options->planes, "side lengths of the images (32,64,128,256,512)")
      .separated_by_commas();
  arguments.option("--cfs", options->chop_factors, "chop factors to run through (1 to 8)")
      .separated_by_commas();
  arguments.option("--threads", options->threads, "numbers of threads to run with (1,2)")
      .separated_by_commas();
  arguments.option("--megabytes", options->megabytes, "least size of a batch, in MiB (128)");
  arguments.option("--repetitions", options->repetitions,
                   "turns of memcpy, compress, decompress; the best counts (11; 7 with --peers)");
  declare_bounds(arguments, *options);
  declare_peers(arguments, *options);
  arguments.flag("--no-matmul", options->no_matmul, "leave out the slow matrix form");
  arguments
      .option("--device", options->device,
              "measure in the memory of this device (`info` lists them) beside the host, in turns; "
              "speeds, and the host's share of CPU time")
      .shown_as("NAME");
  options->raw.declare(arguments);
  arguments.option("--study", options->study,
                   "dct-energy: which coefficients of images are non-zero (paper, Figure 3); pack: "
                   "packing values in memory, one thread, without a container");
  arguments.option("--images", options->images, "for the study: how many images at most (1000)");
  arguments.option("--output", options->output,
                   "for the study: the page to write (dct-energy.html)");
  options->force.declare(arguments);
  return [options](Reporter& reporter) { return run(*options, reporter); };
}

}  // namespace

Verb bench_verb() {
  return {"bench", "measure speed beside memcpy, or run a study",
          "  tensorpress bench --codec dct-chop --json\n"
          "  tensorpress bench x.npy --codec dense --rel 1e-3\n"
          "  tensorpress bench fields/*.f32 --peers --html peers.html\n"
          "  tensorpress bench --device opencl --codec ceresz --rel 1e-3 --planes 512\n"
          "  tensorpress bench --study pack --megabytes 64",
          "print JSON, a row per case", declare};
}

}  // namespace tensorpress::cli
