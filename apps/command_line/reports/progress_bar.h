// A bar on stderr for work that takes more than a second; only when stderr is a terminal.
#pragma once

#include <chrono>
#include <string>

#include "tensorpress/streaming.h"

namespace tensorpress::cli {

class ProgressBar {
 public:
  /// `doing` is a word or two in front of the bar: "compressing x.npy".
  explicit ProgressBar(std::string doing);
  /// Wipes the bar away.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// For WriteOptions and ReadOptions; empty when there is no terminal. The bar must outlive it.
  Progress callback();

 private:
  using Clock = std::chrono::steady_clock;

  void update(std::uint64_t done, std::uint64_t total);

  const std::string doing_;
  const bool on_terminal_;
  const Clock::time_point begin_;
  Clock::time_point next_draw_;
  bool drawn_ = false;
};

}  // namespace tensorpress::cli
