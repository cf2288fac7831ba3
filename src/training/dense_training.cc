#include "training/dense_training.h"

#include "base/errors.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/bounded/observing_coder.h"
#include "codecs/dense/lorenzo/lorenzo.h"
#include "files/tensor/raw_format.h"
#include "stream/bounds/survey.h"
#include "stream/bounds/trial.h"
#include "training/train.h"
#include "training/train_interpolation.h"

namespace tensorpress::benchmark {
namespace {

Result<std::unique_ptr<stream::TensorSource>> open(const std::string& path,
                                                   const DenseTrainingOptions& options) {
  if (path.ends_with(".npy")) return files::open_tensor(path, std::nullopt);
  auto format = files::raw_format_of_file(path);
  return files::open_tensor(path, format ? format : options.raw);
}

// Every chunk of every file at every bound, one thread: sums must not depend on an order.
template <class Trainer>
Result<void> show(Trainer& trainer, std::span<const std::string> files,
                  const DenseTrainingOptions& options) {
  TRY(const Isa isa, active_isa());
  const Runner runner = thread_runner(1);
  for (const std::string& path : files) {
    TRY(const auto source, open(path, options));
    RETURN_IF_ERROR(bounded::check_dtype("dense", source->dtype()));
    TRY(const auto grid,
        stream::ChunkGrid::make(
            source->shape(), dense::chunk_shape_of(source->shape(), dense::kLorenzoChunkValues)));
    TRY(const auto survey,
        stream::survey_values(*source, grid, options.fill_values, runner, 1, isa));
    const double width = survey.range.high - survey.range.low;
    for (const double share : options.relative_bounds) {
      const auto codec = bounded::make_bounded_codec(
          bounded::make_observing_coder(
              [&](const auto& field, double bound, ChunkWorkspace& workspace) {
                trainer.add(field, bound, workspace);
              }),
          {.bound = Bound::relative(share), .limit = share * width, .fills = options.fill_values});
      RETURN_IF_ERROR(
          stream::run_trial(*codec, *source, grid, stream::all_chunks(grid), runner, 1, isa));
    }
  }
  return {};
}

}  // namespace

Result<DenseTables> train_dense(std::span<const std::string> files,
                                const DenseTrainingOptions& options) {
  dense::LorenzoLiterals literals = dense::formula_literals();
  for (int round = 0; round < options.rounds; ++round) {
    const dense::LorenzoModel model(literals);
    dense::LorenzoTrainer trainer(model);
    RETURN_IF_ERROR(show(trainer, files, options));
    literals = trainer.finish();
  }
  dense::InterpolationTrainer trainer;
  RETURN_IF_ERROR(show(trainer, files, options));
  std::string bounds;
  for (const double bound : options.relative_bounds) {
    bounds += text(bounds.empty() ? "" : ", ", bound);
  }
  return DenseTables{
      dense::literals_source(literals, text("`tensorpress codebook\n// build --codec dense` over ",
                                            files.size(), " files at REL ", bounds)),
      dense::shapes_source(trainer.finish(dense::formula_shapes()))};
}

}  // namespace tensorpress::benchmark
