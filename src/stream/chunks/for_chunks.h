// The two ways in which everything here works on many chunks at once: in order, from a source and
// to a sink that take one at a time, or each for itself where all of them lie in memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>

#include "codecs/chunk_codec.h"
#include "stream/chunks/chunk_work.h"
#include "stream/chunks/execution.h"
#include "stream/chunks/in_order.h"

namespace tensorpress::stream {

/// Which chunks, ascending.
class ChunkNumbers {
 public:
  static ChunkNumbers range(std::uint64_t first, std::uint64_t count) { return {first, count, {}}; }
  /// The list must outlive this.
  static ChunkNumbers of(std::span<const std::uint64_t> list) { return {0, list.size(), list}; }

  std::uint64_t size() const { return count_; }
  std::uint64_t operator[](std::uint64_t i) const {
    return list_.empty() ? first_ + i : list_[static_cast<std::size_t>(i)];
  }

 private:
  ChunkNumbers(std::uint64_t first, std::uint64_t count, std::span<const std::uint64_t> list)
      : first_(first), count_(count), list_(list) {}
  std::uint64_t first_;
  std::uint64_t count_;
  std::span<const std::uint64_t> list_;
};

/// Readers and writers hold no more than this in chunks in flight, as long as one chunk fits.
inline constexpr std::uint64_t kWorkingSetBytes = std::uint64_t{160} << 20;

/// A runner goes through all its tasks even when the first of them fails, and a hostile stream may
/// claim 2^50 chunks.
inline constexpr std::uint64_t kChunksAtOnce = std::uint64_t{1} << 16;

/// The places where chunks are worked on; kept by those who come back with more chunks.
template <class Slot>
using Slots = std::deque<Slot>;

/// `read(slot, number)` and `commit(slot, number)` are called in the order of the chunks, one at a
/// time; `work(slot, number)` between them, several at once. Slots are made from an Isa and hold
/// some `bytes_per_chunk` each. in_order.h says how it ends when something fails.
template <class Slot, class Read, class Work, class Commit>
Result<void> for_chunks(const ChunkNumbers& numbers, const Execution& execution,
                        std::uint64_t bytes_per_chunk, Slots<Slot>& slots, const Read& read,
                        const Work& work, const Commit& commit) {
  if (numbers.size() == 0) return {};
  const std::uint64_t fitting = kWorkingSetBytes / std::max<std::uint64_t>(bytes_per_chunk, 1);
  const std::uint64_t threads = std::min<std::uint64_t>(execution.threads, 1024);
  // One more, so that a thread whose chunk is done before its turn goes on with another.
  const std::uint64_t wanted = threads > 1 ? threads + 1 : 1;
  const std::uint64_t useful =
      std::max<std::uint64_t>(std::min({wanted, numbers.size(), fitting}), 1);
  while (slots.size() < useful) slots.emplace_back(execution.isa);
  for (std::uint64_t first = 0; first < numbers.size(); first += kChunksAtOnce) {
    RETURN_IF_ERROR(in_order(
        std::min(numbers.size() - first, kChunksAtOnce), slots, execution.runner,
        [&](Slot& slot, std::uint64_t i) { return read(slot, numbers[first + i]); },
        [&](Slot& slot, std::uint64_t i) { work(slot, numbers[first + i]); },
        [&](Slot& slot, std::uint64_t i) { return commit(slot, numbers[first + i]); }));
  }
  return {};
}

/// `work(number, workspace)` for each, in any order, several at once. The error is that of the
/// lowest number, whatever thread was faster.
template <class Work>
Result<void> for_each_chunk(std::uint64_t count, const Execution& execution, bool stream_stores,
                            const Work& work) {
  WorkspacePool workspaces(execution.isa, stream_stores);
  FirstError first_error;
  execution.runner(static_cast<std::size_t>(count), [&](std::size_t number) {
    if (first_error.is_before(number)) return;
    WorkspacePool::Loan workspace(workspaces);
    Result<void> done = work(number, *workspace);
    if (!done.ok()) first_error.report(number, std::move(done).error());
  });
  return first_error.result();
}

}  // namespace tensorpress::stream
