#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tensorpress/parallel.h"

namespace tensorpress {
namespace {

TEST(ThreadRunner, CallsEveryIndexOnce) {
  for (const std::size_t threads : {0, 1, 2, 3, 16}) {
    for (const std::size_t count : {0, 1, 2, 3, 15, 16, 17, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      thread_runner(threads)(count, [&](std::size_t index) { ++calls.at(index); });
      for (std::size_t index = 0; index < count; ++index) {
        EXPECT_EQ(calls[index], 1)
            << "index " << index << " of " << count << ", threads " << threads;
      }
    }
  }
}

TEST(ThreadRunner, WithOneThreadStaysOnTheCallersAndInOrder) {
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<std::size_t> order;
  thread_runner(1)(5, [&](std::size_t index) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(index);
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

TEST(ThreadRunner, UsesNoMoreThreadsThanAskedFor) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  thread_runner(3)(500, [&](std::size_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  EXPECT_LE(seen.size(), 3U);
  EXPECT_GE(seen.size(), 1U);
}

TEST(ThreadRunner, ReallyRunsTasksAtTheSameTime) {
  // Each of the two tasks waits for the other to start; one thread alone would never end.
  std::atomic<int> started{0};
  thread_runner(2)(2, [&](std::size_t) {
    ++started;
    while (started < 2) std::this_thread::yield();
  });
  EXPECT_EQ(started, 2);
}

TEST(ThreadRunner, MayBeUsedInsideATask) {
  std::atomic<int> calls{0};
  const Runner runner = thread_runner(2);
  runner(3, [&](std::size_t) { runner(4, [&](std::size_t) { ++calls; }); });
  EXPECT_EQ(calls, 12);
}

}  // namespace
}  // namespace tensorpress
