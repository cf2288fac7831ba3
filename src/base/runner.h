// The runner that work is given to: the caller's, or threads of our own.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>

#include "tensorpress/parallel.h"

namespace tensorpress {

/// What a task throws, as when memory runs out, would end the process on a thread that is not the
/// caller's. It is caught there and thrown again on the calling thread when all tasks are done.
inline Runner runner_or_threads(const Runner& runner, std::size_t threads) {
  return [run = runner ? runner : thread_runner(threads)](
             std::size_t count, const std::function<void(std::size_t)>& task) {
    std::mutex mutex;
    std::exception_ptr thrown;
    run(count, [&](std::size_t i) {
      try {
        task(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!thrown) thrown = std::current_exception();
      }
    });
    if (thrown) std::rethrow_exception(thrown);
  };
}

}  // namespace tensorpress
