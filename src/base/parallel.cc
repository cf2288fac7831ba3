#include "tensorpress/parallel.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace tensorpress {

Runner thread_runner(std::size_t threads) {
  return [threads](std::size_t count, const std::function<void(std::size_t)>& task) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < count; i = next++) task(i);
    };
    const std::size_t helpers =
        std::min(std::max<std::size_t>(threads, 1), count) - (count > 0 ? 1 : 0);
    std::vector<std::jthread> crew;
    crew.reserve(helpers);
    for (std::size_t i = 0; i < helpers; ++i) {
      try {
        crew.emplace_back(work);
      } catch (const std::system_error&) {
        break;  // no more threads to be had: the ones we have do all the work
      }
    }
    work();
  };
}

}  // namespace tensorpress
