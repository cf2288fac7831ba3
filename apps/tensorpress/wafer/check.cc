// tensorpress wafer check: what a compiler says of a CSL program.
#include <fstream>
#include <iterator>
#include <memory>

#include "base/errors.h"
#include "command_line/reports/json_output.h"
#include "command_line/verb.h"
#include "csl/build/build.h"
#include "files/bytes/text_files.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::string layout;
  std::vector<std::string> params;
  std::string architecture = "wse2";
  std::vector<std::string> folders;
};

std::optional<std::string> file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Json to_json(const csl::Sources& sources, const csl::Diagnostic& one) {
  static constexpr const char* kSeverities[] = {"error", "warning", "note"};
  const csl::Sources::Place place = sources.place(one.at);
  Json made = {{"severity", kSeverities[static_cast<int>(one.severity)]},
               {"message", one.message},
               {"way_out", one.way_out}};
  if (!place.path.empty()) {
    made["file"] = std::string(place.path);
    made["line"] = place.line;
    made["column"] = place.column;
  }
  return made;
}

/// A tile program: who takes how much of its SRAM.
Json to_json(const csl::Program& program) {
  std::uint32_t data = 0;
  for (const csl::Symbol& symbol : program.symbols) data += symbol.bytes;
  return {
      {"file", program.path}, {"data_bytes", data}, {"estimated_code_bytes", program.code_bytes()}};
}

Result<Report> run(const Options& options) {
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 24;
  RETURN_IF_ERROR(files::read_text(options.layout, kLargest, "a CSL program"));
  csl::Compilation all;
  all.read = file_text;
  all.architecture =
      options.architecture == "wse3" ? csl::Architecture::wse3 : csl::Architecture::wse2;
  all.import_folders = options.folders;
  for (const std::string& one : options.params) {
    const std::size_t colon = one.find(':');
    if (colon == std::string::npos) {
      return bad_argument("--params ", one, "; write NAME:VALUE,NAME:VALUE");
    }
    all.params[one.substr(0, colon)] = one.substr(colon + 1);
  }
  const std::unique_ptr<csl::Executable> built = csl::built(all, options.layout);
  Report report;
  Json said = Json::array(), programs = Json::array();
  for (const csl::Diagnostic& one : all.diagnostics.all()) {
    report.text += rendered(all.sources, one);
    said.push_back(to_json(all.sources, one));
  }
  for (const std::string& line : all.prints) report.text += line + "\n";
  if (built != nullptr) {
    report.text += text(options.layout, ": ", built->width, " x ", built->height, " PEs, ",
                        built->programs.size(),
                        built->programs.size() == 1 ? " tile program\n" : " tile programs\n");
    for (const auto& program : built->programs) {
      programs.push_back(to_json(*program));
      report.text +=
          text("  ", program->path, ": ", programs.back()["data_bytes"].get<std::uint32_t>(),
               " bytes of data, about ", program->code_bytes(), " of code\n");
    }
  } else {
    report.status = ExitStatus::check_failed;
    const auto errors = all.diagnostics.errors();
    report.text += text(errors, errors == 1 ? " error\n" : " errors\n");
  }
  report.json = json_text({{"layout", options.layout},
                           {"ok", built != nullptr},
                           {"width", built != nullptr ? built->width : 0},
                           {"height", built != nullptr ? built->height : 0},
                           {"programs", std::move(programs)},
                           {"diagnostics", std::move(said)}});
  return report;
}

Action declare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.option("LAYOUT", options->layout, "the file with the layout block").required();
  arguments.option("--params", options->params, "values of its params")
      .shown_as("NAME:VALUE,…")
      .separated_by_commas();
  arguments.option("--arch", options->architecture, "wse2 or wse3 (wse2)")
      .one_of(std::vector<std::string>{"wse2", "wse3"});
  arguments.option("--import-path", options->folders, "where imports are also looked for")
      .shown_as("FOLDER")
      .one_at_a_time();
  return [options](Reporter&) { return run(*options); };
}

}  // namespace

Verb wafer_check_verb() {
  return {.name = "check",
          .summary = "what a compiler says of a CSL program: mistakes, memory, routes",
          .json = kOneObject,
          .declare = declare};
}

}  // namespace tensorpress::cli
