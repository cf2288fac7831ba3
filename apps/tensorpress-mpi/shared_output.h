// One file written by all ranks through MPI-IO. It lies beside its name under a temporary one until
// all are done; then the first rank renames it. A job that fails or dies leaves the old file, if
// there was one, as it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "crew.h"

namespace tensorpress::mpi {

class SharedOutput {
 public:
  /// Called by all ranks, as is `finish`. The file gets the permissions and times of `made_from`.
  static Result<std::unique_ptr<SharedOutput>> create(const Crew& crew, const std::string& path,
                                                      const std::string& made_from);
  ~SharedOutput();
  SharedOutput(const SharedOutput&) = delete;
  SharedOutput& operator=(const SharedOutput&) = delete;

  /// This rank alone; bytes that do not all arrive are an error.
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Syncs, checks the size and gives the file its name.
  Result<void> finish(std::uint64_t total_bytes);

 private:
  struct State;
  SharedOutput(const Crew& crew, std::string name, std::unique_ptr<State> state);

  const Crew& crew_;
  std::string name_;
  std::unique_ptr<State> state_;
};

}  // namespace tensorpress::mpi
