// What a verb reports: the same facts for a person and, with --json, for a program. The verb does
// not know which of the two is printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorpress::cli {

enum class ExitStatus { fine = 0, check_failed = 1, bad_input = 2 };

/// Where a report goes: to stderr when stdout carries the data.
enum class Channel { standard_output, standard_error };

struct Report {
  std::string text = {};                  // whole lines
  std::string json = {};                  // a JSON text; "" where --json prints the text, too
  std::vector<std::string> remarks = {};  // a line each on stderr, behind the rest
  ExitStatus status = ExitStatus::fine;
  Channel to = Channel::standard_output;
};

/// Takes what there is to say while a verb works.
class Reporter {
 public:
  virtual ~Reporter() = default;
  /// Lines for a person. --json prints the whole report at the end, and these are not printed then.
  virtual void show(std::string_view text, Channel to) = 0;
  void show(std::string_view text) { show(text, Channel::standard_output); }
  /// A line on stderr.
  virtual void remark(std::string_view sentence) = 0;
};

}  // namespace tensorpress::cli
