#include "c_api/runner.h"

#include <atomic>
#include <vector>

#include "c_api/border.h"

namespace tensorpress::c_api {
namespace {

// What a task's opaque pointer points to. A careless runner may give a number twice or one that
// does not exist: neither is worked on.
struct Tasks {
  Tasks(std::size_t count, const std::function<void(std::size_t)>& work)
      : task(work), started(count) {}

  void run(std::size_t index) {
    if (index >= started.size() || started[index].exchange(true)) return;
    task(index);
    ++done;
  }

  const std::function<void(std::size_t)>& task;
  std::vector<std::atomic<bool>> started;
  std::atomic<std::size_t> done{0};
};

}  // namespace
}  // namespace tensorpress::c_api

extern "C" {
// The library catches what its tasks throw (base/runner.h), so nothing reaches C.
static void tensorpress_run_task(void* tasks, std::size_t index) {
  static_cast<tensorpress::c_api::Tasks*>(tasks)->run(index);
}
}

namespace tensorpress::c_api {

Runner runner_of(tensorpress_runner runner, void* opaque) {
  if (runner == nullptr) return {};
  return [=](std::size_t count, const std::function<void(std::size_t)>& task) {
    Tasks tasks(count, task);
    const int status = runner(opaque, count, tensorpress_run_task, &tasks);
    if (status != 0 || tasks.done != count) throw RunnerFailed{status, tasks.done, count};
  };
}

}  // namespace tensorpress::c_api
