#include "train.h"

#include <cstdio>

#include "base/errors.h"
#include "command_line/help/usage.h"
#include "device_files.h"
#include "devices/programs/networks.h"
#include "training_report.h"

namespace tensorpress::cli {

using devices::TrainingCost;
using devices::TrainingSetup;
using devices::Workload;

void TrainOptions::declare(CLI::App& app) {
  app.add_option("NETWORK", network, "resnet34, vgg16, unet or encoder")->required();
  app.add_option("--device", device, "a name, or a .toml file (ipu)")->option_text("DEVICE");
  app.add_option("--batch", batch, "samples of a step on one replica (256)")->option_text("N");
  app.add_option("--cf", cf, "chop factor of the activations (4)")->option_text("N");
  app.add_flag("--uncompressed", uncompressed, "leave activations as they are");
  app.add_option("--stages", setup.stages, "of the pipeline (1)")->option_text("N");
  app.add_option("--replicas", setup.replicas, "data parallel (1)")->option_text("N");
  app.add_option("--micro-batches", setup.micro_batches, "of a batch (1)")->option_text("N");
  app.add_option("--stash", stash,
                 "where activations wait: fits (on the chip if they fit), beside (fits)")
      ->option_text("WORD");
  app.add_flag("--search", search, "find the best split of --count devices");
  app.add_option("--count", count, "devices to split with --search (1)")->option_text("N");
  app.add_flag("--json", json, "print one JSON object");
}

namespace {

Result<TrainingCost> wanted_cost(const TrainOptions& options, const devices::Device& device,
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

}  // namespace

Result<ExitStatus> run_device_train(const CLI::App& app, const TrainOptions& options) {
  if (options.search) {
    RETURN_IF_ERROR(refuse_ignored(app, {"--stages", "--replicas", "--micro-batches", "--stash"},
                                   "--search finds the best"));
  } else if (app.count("--count") > 0) {
    return bad_argument("--count goes with --search");
  }
  if (options.uncompressed) {
    RETURN_IF_ERROR(refuse_ignored(app, {"--cf"}, "--uncompressed leaves activations as they are"));
  }
  if (app.count("--count") > 0 && options.count == 0) {
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
    print_no_split(device, workload, found.error().message, options.json);
    return ExitStatus::check_failed;
  }
  TRY(const TrainingCost cost, found);
  if (options.json) {
    print_json(training_to_json(device, workload, cost, baseline), stdout);
  } else {
    print_training(device, workload, cost, baseline);
  }
  return cost.fits() ? ExitStatus::fine : ExitStatus::check_failed;
}

}  // namespace tensorpress::cli
