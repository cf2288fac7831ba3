// A look at a tensor by many ranks: each looks at its share of the chunks, and then all know what
// one process would have found, to the last bit.
#pragma once

#include "crew.h"
#include "stream/bounds/resolve.h"

namespace tensorpress::mpi {

class CrewLook : public stream::DataLook {
 public:
  CrewLook(const Crew& crew, TensorSource& source, const stream::Execution& execution);

  Result<std::vector<stream::Sighting>> look_at(const stream::ChunkGrid& grid,
                                                std::span<const std::uint64_t> chunks,
                                                std::span<const double> fill_values) override;
  Result<stream::Trial> trial(const ChunkCodec& codec, const stream::ChunkGrid& grid,
                              std::span<const std::uint64_t> chunks) override;
  Result<void> show_to(Learner& learner, const stream::ChunkGrid& grid) override;

 private:
  const Crew& crew_;
  TensorSource& source_;
  const stream::Execution& execution_;
};

}  // namespace tensorpress::mpi
