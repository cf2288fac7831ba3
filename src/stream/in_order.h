// Chunks read in order, worked on by several threads at once, and taken over in order again: no
// thread waits for a batch to be complete, only for its own turn.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/errors.h"
#include "tensorpress/parallel.h"

namespace tensorpress::stream {

/// For each i < count, on one of the slots: `read(slot, i)` and `commit(slot, i)` in ascending
/// order, one at a time; `work(slot, i)` between them, at any time. The first error in that order
/// ends it. Works with any Runner: a number is taken only by a task that runs, and needs no other
/// to be finished but those taken before it.
template <class Slots, class Read, class Work, class Commit>
Result<void> in_order(std::uint64_t count, Slots& slots, const Runner& runner, const Read& read,
                      const Work& work, const Commit& commit) {
  std::mutex mutex;
  std::condition_variable turn;
  std::uint64_t next = 0, committed = 0;
  std::optional<Error> error;
  std::uint64_t failed = count;  // number of the chunk with the error

  const auto fail = [&](std::uint64_t number, Error reason) {
    if (number < failed) {
      failed = number;
      error = std::move(reason);
    }
    turn.notify_all();
  };
  runner(slots.size(), [&](std::size_t i) {
    auto& slot = slots[i];
    std::unique_lock lock(mutex);
    while (next < failed) {
      const std::uint64_t number = next++;
      if (auto done = read(slot, number); !done.ok()) {
        fail(number, std::move(done).error());
        return;
      }
      lock.unlock();
      work(slot, number);
      lock.lock();
      turn.wait(lock, [&] { return committed == number || failed < number; });
      if (failed < number) return;
      if (auto done = commit(slot, number); !done.ok()) {
        fail(number, std::move(done).error());
        return;
      }
      ++committed;
      turn.notify_all();
    }
  });
  if (error) return *std::move(error);
  return {};
}

}  // namespace tensorpress::stream
