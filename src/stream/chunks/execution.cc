#include "stream/chunks/execution.h"

#include <exception>
#include <mutex>

#include "base/errors.h"

namespace tensorpress::stream {

Runner runner_or_threads(const Runner& runner, std::size_t threads) {
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

Result<Execution> Execution::on(const Runner& runner, std::size_t threads) {
  TRY(const Isa isa, active_isa());
  return on(runner, threads, isa);
}

}  // namespace tensorpress::stream
