#include "command_line/reports/batch.h"

#include <algorithm>

#include "base/errors.h"
#include "command_line/interruption.h"
#include "command_line/reports/messages.h"

namespace tensorpress::cli {
namespace {

/// One file alone is reported as ever.
Report report_on(FileReport file) {
  return {.text = std::move(file.lines),
          .json = file.fields.is_null() ? "" : json_text(file.fields),
          .remarks = std::move(file.remarks),
          .status = file.status,
          .to = file.to};
}

struct Summary {
  std::size_t files = 0;
  std::size_t failures = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  ExitStatus status = ExitStatus::fine;

  void add(const FileReport& report) {
    ++files;
    if (report.status != ExitStatus::fine) ++failures;
    bytes_in += report.bytes_in;
    bytes_out += report.bytes_out;
    status = std::max(status, report.status);
  }

  Json to_json() const {
    Json fields = {{"files", files}, {"failures", failures}};
    fields["bytes_in"] = bytes_in;
    fields["bytes_out"] = bytes_out;
    fields["ratio"] = json_number(ratio());
    return fields;
  }
  /// "3 files: 2 MiB -> 100 KiB, ratio 20.48, 1 failed".
  std::string in_words() const {
    std::string sizes;
    if (bytes_out > 0) {
      sizes = text(human_bytes(bytes_in), " -> ", human_bytes(bytes_out), ", ratio ",
                   rounded(ratio()), ", ");
    }
    return text(files, " files: ", sizes, failures == 0 ? "none" : text(failures), " failed\n");
  }

 private:
  double ratio() const { return static_cast<double>(bytes_in) / static_cast<double>(bytes_out); }
};

/// An error of one of several is a report as well.
FileReport failed(const std::string& file, const Error& error) {
  const std::string sentence = sentence_of(about(file, error));
  return {.status = ExitStatus::bad_input, .fields = {{"error", sentence}}, .remarks = {sentence}};
}

Json with_name(const std::string& file, const FileReport& report) {
  Json fields = {{"file", file}, {"status", static_cast<int>(report.status)}};
  for (const auto& [name, value] : report.fields.items()) fields[name] = value;
  return fields;
}

}  // namespace

Result<Report> work_on_files(const std::vector<std::string>& files, Reporter& reporter,
                             const FileWork& work, Headings headings) {
  if (files.size() == 1) {
    TRY(FileReport only, work(files.front()));
    return report_on(std::move(only));
  }
  Summary summary;
  Json all = Json::array();
  for (const std::string& file : files) {
    auto done = work(file);
    RETURN_IF_ERROR(check_interruption());
    const FileReport report = done.ok() ? std::move(*done) : failed(file, done.error());
    all.push_back(with_name(file, report));
    if (!report.lines.empty()) {
      const bool named = headings == Headings::names;
      reporter.show(text(named && summary.files > 0 ? "\n" : "",
                         named ? text(printable(file), ":\n") : "", report.lines));
    }
    for (const std::string& remark : report.remarks) reporter.remark(remark);
    summary.add(report);
  }
  return Report{.text = text(headings == Headings::names ? "\n" : "", summary.in_words()),
                .json = json_text({{"files", std::move(all)}, {"summary", summary.to_json()}}),
                .status = summary.status};
}

}  // namespace tensorpress::cli
