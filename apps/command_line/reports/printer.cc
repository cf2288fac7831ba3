#include "command_line/reports/printer.h"

#include <cstdio>

#include "command_line/reports/messages.h"

namespace tensorpress::cli {
namespace {

std::FILE* file_of(Channel channel) {
  return channel == Channel::standard_output ? stdout : stderr;
}

void write(std::string_view text, Channel to) {
  std::fwrite(text.data(), 1, text.size(), file_of(to));
}

}  // namespace

void Printer::show(std::string_view text, Channel to) {
  if (form_ == Form::json) return;
  write(text, to);
  std::fflush(file_of(to));
}

void Printer::remark(std::string_view sentence) {
  print_message(sentence);
}

void Printer::print(const Report& report) {
  write(form_ == Form::json && !report.json.empty() ? report.json : report.text, report.to);
  for (const std::string& remark : report.remarks) print_message(remark);
}

}  // namespace tensorpress::cli
