#include "command_line/reports/progress_bar.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/text.h"

namespace tensorpress::cli {
namespace {

constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::milliseconds kBetweenDraws{100};
constexpr std::uint64_t kCells = 30;
constexpr const char* kWipeLine = "\r\033[K";

}  // namespace

ProgressBar::ProgressBar(std::string doing)
    : doing_(std::move(doing)),
      on_terminal_(isatty(STDERR_FILENO) == 1),
      begin_(Clock::now()),
      next_draw_(begin_ + kPatience) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs(kWipeLine, stderr);
}

Progress ProgressBar::callback() {
  if (!on_terminal_) return {};
  return [this](std::uint64_t done, std::uint64_t total) { update(done, total); };
}

void ProgressBar::update(std::uint64_t done, std::uint64_t total) {
  const auto now = Clock::now();
  if (now < next_draw_ || total == 0) return;
  next_draw_ = now + kBetweenDraws;
  drawn_ = true;

  const double part = static_cast<double>(done) / static_cast<double>(total);
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  const auto full = static_cast<std::uint64_t>(part * kCells);
  std::string bar;
  for (std::uint64_t cell = 0; cell < kCells; ++cell) bar += cell < full ? '#' : '.';
  std::string line = text(kWipeLine, doing_, " [", bar, "] ", static_cast<int>(part * 100), " %");
  if (part > 0) line += text(", ", static_cast<int>(seconds / part - seconds) + 1, " s left");
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace tensorpress::cli
