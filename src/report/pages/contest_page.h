// How `bench --peers` is shown: a page with rate-distortion and speed-ratio plots, of the means and
// of every field, and tables for the terminal.
#pragma once

#include <string>
#include <vector>

#include "benchmark/contest.h"

namespace tensorpress::report {

/// Against this one's figures the summary divides.
inline constexpr std::string_view kContestReference = "sz3";

std::string contest_html(const std::vector<benchmark::ContestRow>& rows);

/// The terminal's table, a line at a time: "field codec bound ratio ...".
std::string contest_text_heading();
std::string contest_text(const benchmark::ContestRow& row);
/// Geometric means over fields, and the quotients against kContestReference.
std::string contest_text_summary(const std::vector<benchmark::ContestRow>& rows);

}  // namespace tensorpress::report
