// tensorpress device train: the cost of training one of the papers' networks, from its layer table.
#include <memory>

#include "base/errors.h"
#include "command_line/verb.h"
#include "device_files.h"
#include "devices/programs/networks.h"
#include "training_report.h"

namespace tensorpress::cli {
namespace {

using devices::TrainingCost;
using devices::TrainingSetup;
using devices::Workload;

struct Options {
  std::string network;
  std::string device = "ipu";
  double batch = 256;
  std::uint64_t cf = 4;
  bool uncompressed = false;
  devices::TrainingSetup setup;
  std::string stash = "fits";
  std::size_t count = 0;  // with --search
  bool search = false;
};

Result<TrainingCost> wanted_cost(const Options& options, const devices::Device& device,
                                 const Workload& workload, devices::Stash stash) {
  if (options.search) {
    return devices::best_split(device, workload, options.count == 0 ? 1 : options.count,
                               !options.uncompressed);
  }
  TrainingSetup setup = options.setup;
  setup.compress = !options.uncompressed;
  setup.stash = stash;
  return devices::training_cost(device, workload, setup);
}

Result<Report> run(const Arguments& arguments, const Options& options) {
  if (options.search) {
    RETURN_IF_ERROR(arguments.refuse_ignored(
        {"--stages", "--replicas", "--micro-batches", "--stash"}, "--search finds the best"));
  } else if (arguments.given("--count")) {
    return bad_argument("--count goes with --search");
  }
  if (options.uncompressed) {
    RETURN_IF_ERROR(
        arguments.refuse_ignored({"--cf"}, "--uncompressed leaves activations as they are"));
  }
  if (arguments.given("--count") && options.count == 0) {
    return bad_argument("--count is 0; it must be at least 1");
  }
  constexpr double kMostSamples = 1e9;
  if (!(options.batch >= 1 && options.batch <= kMostSamples)) {
    return bad_argument("--batch ", options.batch, " is not in 1..1e9");
  }
  if (options.cf < 1 || options.cf > 8) return bad_argument("CF ", options.cf, " is not in 1..8");
  if (options.stash != "fits" && options.stash != "beside") {
    return bad_argument("--stash ", options.stash, " is neither fits nor beside");
  }
  const devices::Stash stash =
      options.stash == "beside" ? devices::Stash::beside : devices::Stash::where_it_fits;
  TRY(const devices::Device device, open_device(options.device));
  TRY(Workload workload, devices::network(options.network, options.batch));
  // The papers' baseline: one device whose activations wait beside the chip.
  TRY(const TrainingCost baseline, training_baseline(device, workload, devices::Stash::beside));
  devices::plan_chop(workload, options.cf);
  const auto found = wanted_cost(options, device, workload, stash);
  if (!found.ok() && found.error().code == ErrorCode::too_large) {
    return report_no_split(device, workload, found.error().message);
  }
  TRY(const TrainingCost cost, found);
  const TrainingReport training{device, workload, cost, baseline};
  return Report{.text = to_text(training),
                .json = json_text(to_json(training)),
                .status = cost.fits() ? ExitStatus::fine : ExitStatus::check_failed};
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("NETWORK", options->network, "resnet34, vgg16, unet or encoder").required();
  arguments.option("--device", options->device, "a name, or a .toml file (ipu)").shown_as("DEVICE");
  arguments.option("--batch", options->batch, "samples of a step on one replica (256)")
      .shown_as("N");
  arguments.option("--cf", options->cf, "chop factor of the activations (4)").shown_as("N");
  arguments.flag("--uncompressed", options->uncompressed, "leave activations as they are");
  arguments.option("--stages", options->setup.stages, "of the pipeline (1)").shown_as("N");
  arguments.option("--replicas", options->setup.replicas, "data parallel (1)").shown_as("N");
  arguments.option("--micro-batches", options->setup.micro_batches, "of a batch (1)").shown_as("N");
  arguments
      .option("--stash", options->stash,
              "where activations wait: fits (on the chip if they fit), beside (fits)")
      .shown_as("WORD");
  arguments.flag("--search", options->search, "find the best split of --count devices");
  arguments.option("--count", options->count, "devices to split with --search (1)").shown_as("N");
  return [arguments, options](Reporter&) { return run(arguments, *options); };
}

}  // namespace

Verb device_train_verb() {
  return {.name = "train",
          .summary = "predict training of a network on one or many devices",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
