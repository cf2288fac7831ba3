// Prints what verbs report: the one place that knows whether --json was given.
#pragma once

#include "command_line/reports/report.h"

namespace tensorpress::cli {

enum class Form { text, json };

class Printer : public Reporter {
 public:
  explicit Printer(Form form) : form_(form) {}

  using Reporter::show;
  void show(std::string_view text, Channel to) override;
  void remark(std::string_view sentence) override;
  /// The end of the work.
  void print(const Report& report);

 private:
  Form form_;
};

/// Of many processes that do the same, one speaks; the others report to this one.
class SilentReporter : public Reporter {
 public:
  using Reporter::show;
  void show(std::string_view /*text*/, Channel /*to*/) override {}
  void remark(std::string_view /*sentence*/) override {}
};

}  // namespace tensorpress::cli
