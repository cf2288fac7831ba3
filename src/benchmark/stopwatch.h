// Seconds that a piece of work takes.
#pragma once

#include <chrono>

namespace tensorpress::benchmark {

template <class Work>
double seconds_of(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace tensorpress::benchmark
