// Chunks read in order, worked on by several threads at once, and taken over in order again: no
// thread waits for a batch to be complete, only for its own turn.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "tensorpress/parallel.h"

namespace tensorpress::stream {

/// For each i < count, on one of the slots: `read(slot, i)` and `commit(slot, i)` in ascending
/// order, one at a time; `work(slot, i)` between them, at any time. The first error in that order
/// ends it. One task of the runner is one chunk, so a runner gets its turn between any two of them
/// and may end the work there by leaving the rest out and throwing. A task whose chunk is done
/// before those ahead of it leaves it to the task that is last; with more slots than threads it
/// does not wait for that. Works with any Runner: a number is taken only by a task that runs and
/// has a slot, and needs no other to be finished but those taken before it. What the functions
/// throw (memory ran out, a callback of the user's) also ends it and is thrown again on the calling
/// thread: no task waits for a chunk that will not come.
template <class Slots, class Read, class Work, class Commit>
Result<void> in_order(std::uint64_t count, Slots& slots, const Runner& runner, const Read& read,
                      const Work& work, const Commit& commit) {
  using Slot = typename Slots::value_type;
  std::mutex mutex;
  std::condition_variable turn;
  std::vector<Slot*> idle;
  idle.reserve(slots.size());
  for (Slot& slot : slots) idle.push_back(&slot);
  // What has been worked on, by the number of its chunk: no more are under way than there are
  // slots.
  std::vector<Slot*> done(slots.size(), nullptr);
  const auto place_of = [&](std::uint64_t number) -> Slot*& { return done[number % done.size()]; };
  std::uint64_t next = 0, committed = 0;
  std::optional<Error> error;
  std::exception_ptr thrown;
  std::uint64_t failed = count;  // number of the chunk with the error

  const auto fail = [&](std::uint64_t number, Error reason) {
    if (number < failed) {
      failed = number;
      error = std::move(reason);
    }
  };
  const auto commit_all_done = [&] {
    while (committed < failed && place_of(committed) != nullptr) {
      Slot* const slot = std::exchange(place_of(committed), nullptr);
      idle.push_back(slot);
      if (auto kept = commit(*slot, committed); !kept.ok()) {
        return fail(committed, std::move(kept).error());
      }
      ++committed;
    }
  };
  // One chunk, as far as there is no error at or before it.
  const auto process = [&](Slot* slot, std::uint64_t number, std::unique_lock<std::mutex>& lock) {
    if (auto ready = read(*slot, number); !ready.ok()) {
      return fail(number, std::move(ready).error());
    }
    lock.unlock();
    work(*slot, number);
    lock.lock();
    place_of(number) = slot;
    commit_all_done();
  };
  runner(static_cast<std::size_t>(count), [&](std::size_t) {
    std::unique_lock lock(mutex);
    // A runner may work on more at once than there are slots.
    turn.wait(lock, [&] { return !idle.empty() || next >= failed; });
    if (next >= failed) return;
    Slot* const slot = idle.back();
    idle.pop_back();
    const std::uint64_t number = next++;
    try {
      process(slot, number, lock);
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      if (!thrown) thrown = std::current_exception();
      failed = std::min(failed, std::min(number, committed));
    }
    turn.notify_all();
  });
  if (thrown) std::rethrow_exception(thrown);
  if (error) return *std::move(error);
  return {};
}

}  // namespace tensorpress::stream
