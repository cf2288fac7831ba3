// What it takes to work on many chunks at once: memory for each thread, the first of several
// errors, and how many chunks may be in flight.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/runner.h"
#include "codecs/chunk_codec.h"

namespace tensorpress::stream {

/// Results of one operation larger than this are written past the cache: they would not fit anyway.
inline constexpr std::uint64_t kStreamStoresAbove = std::uint64_t{16} << 20;
/// Readers and writers of files hold no more than this in chunks in flight, as long as one chunk
/// fits.
inline constexpr std::uint64_t kWorkingSetBytes = std::uint64_t{160} << 20;

using tensorpress::runner_or_threads;

/// How many chunks to hold at once, when each thread has one.
inline std::size_t chunks_in_flight(std::size_t threads, std::uint64_t chunk_count,
                                    std::uint64_t bytes_per_chunk) {
  const std::uint64_t fitting = kWorkingSetBytes / std::max<std::uint64_t>(bytes_per_chunk, 1);
  const std::uint64_t wanted = std::min<std::uint64_t>(threads, 1024);
  const std::uint64_t useful = std::min({wanted, chunk_count, fitting});
  return static_cast<std::size_t>(std::max<std::uint64_t>(useful, 1));
}

/// Workspaces for as many threads as happen to work at once, each made when first needed.
class WorkspacePool {
 public:
  WorkspacePool(Isa isa, bool stream_stores) : isa_(isa), stream_stores_(stream_stores) {}

  /// One workspace, given back when this goes out of scope.
  class Loan {
   public:
    explicit Loan(WorkspacePool& pool) : pool_(pool), workspace_(pool.take()) {}
    ~Loan() { pool_.give_back(std::move(workspace_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ChunkWorkspace& operator*() { return *workspace_; }

   private:
    WorkspacePool& pool_;
    std::unique_ptr<ChunkWorkspace> workspace_;
  };

 private:
  std::unique_ptr<ChunkWorkspace> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      idle_.reserve(made_ + 1);  // so that giving back, which must not fail, needs no memory
      auto workspace = std::make_unique<ChunkWorkspace>(isa_);
      workspace->stream_stores = stream_stores_;
      ++made_;
      return workspace;
    }
    auto workspace = std::move(idle_.back());
    idle_.pop_back();
    return workspace;
  }
  void give_back(std::unique_ptr<ChunkWorkspace> workspace) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

  Isa isa_;
  bool stream_stores_;
  std::mutex mutex_;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<ChunkWorkspace>> idle_;
};

/// Of the errors of many chunks, the one with the lowest number, whatever thread was faster.
/// Runners start chunks in ascending order, so those after a failed one may be left out.
class FirstError {
 public:
  bool is_before(std::uint64_t number) const { return lowest_.load() < number; }
  void report(std::uint64_t number, Error error) {
    const std::lock_guard lock(mutex_);
    if (number >= lowest_) return;
    lowest_ = number;
    error_ = std::move(error);
  }
  Result<void> result() const {
    const std::lock_guard lock(mutex_);
    if (error_) return *error_;
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<std::uint64_t> lowest_ = UINT64_MAX;
  std::optional<Error> error_;
};

}  // namespace tensorpress::stream
