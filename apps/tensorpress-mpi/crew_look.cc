#include "crew_look.h"

namespace tensorpress::mpi {
namespace {

std::span<const std::uint64_t> part_of(std::span<const std::uint64_t> chunks, const Share& share) {
  return chunks.subspan(static_cast<std::size_t>(share.begin),
                        static_cast<std::size_t>(share.count()));
}

}  // namespace

CrewLook::CrewLook(const Crew& crew, TensorSource& source, const stream::Execution& execution)
    : crew_(crew), source_(source), execution_(execution) {}

Result<std::vector<stream::Sighting>> CrewLook::look_at(const stream::ChunkGrid& grid,
                                                        std::span<const std::uint64_t> chunks,
                                                        std::span<const double> fill_values) {
  TRY(const auto mine, crew_.together([&] {
    return stream::look_at_chunks(source_, grid, part_of(chunks, crew_.share_of(chunks.size())),
                                  fill_values, execution_);
  }));
  std::vector<ChunkHint> my_hints;
  std::vector<std::uint64_t> my_counts;
  std::vector<double> my_samples;
  for (const stream::Sighting& sighting : mine) {
    my_hints.push_back(sighting.hint);
    my_counts.push_back(sighting.samples.size());
    my_samples.insert(my_samples.end(), sighting.samples.begin(), sighting.samples.end());
  }
  const auto hints = crew_.gather(std::span<const ChunkHint>(my_hints));
  const auto counts = crew_.gather(std::span<const std::uint64_t>(my_counts));
  const auto samples = crew_.gather(std::span<const double>(my_samples));
  std::vector<stream::Sighting> all(hints.size());
  auto next = samples.begin();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto end = next + static_cast<std::ptrdiff_t>(counts[i]);
    all[i] = {hints[i], {next, end}};
    next = end;
  }
  return all;
}

Result<stream::Trial> CrewLook::trial(const ChunkCodec& codec, const stream::ChunkGrid& grid,
                                      std::span<const std::uint64_t> chunks) {
  TRY(const auto mine, crew_.together([&] {
    return stream::try_chunks(codec, source_, grid, part_of(chunks, crew_.share_of(chunks.size())),
                              execution_);
  }));
  return stream::sum_of(crew_.gather(std::span<const stream::ChunkTrial>(mine)));
}

Result<void> CrewLook::show_to(Learner& learner, const stream::ChunkGrid& grid) {
  RETURN_IF_ERROR(trial(learner.codec(), grid, stream::all_chunks(grid)));
  crew_.sum_in_place(learner.counts());
  return {};
}

}  // namespace tensorpress::mpi
