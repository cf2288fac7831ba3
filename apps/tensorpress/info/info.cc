// tensorpress info: what a file holds, or without a file what this program can do.
#include <algorithm>
#include <array>
#include <memory>

#include "array_files/array_files.h"
#include "array_files/table.h"
#include "base/cpu.h"
#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/reports/batch.h"
#include "command_line/reports/messages.h"
#include "command_line/reports/stream_report.h"
#include "command_line/verb.h"
#include "files/bytes/byte_files.h"
#include "files/tensor/npy.h"
#include "files/tensor/tensor_files.h"
#include "hdf5/filter_settings.h"
#include "stream/chunks/section_reader.h"
#include "stream/reader.h"
#include "tensorpress/version.h"

namespace tensorpress::cli {
namespace {

struct Options {
  std::vector<std::string> files;
  bool json = false;
};

Result<Json> describe_program() {
  TRY(const Isa active, active_isa());
  Json fields;
  fields["version"] = TENSORPRESS_VERSION_STRING;
  fields["format_version"] = kFormatVersion;
  fields["isa"] = name_of(active);
  fields["detected_isa"] = name_of(detected_isa());
  Json all = Json::object();
  for (const CodecInfo& codec : codecs()) {
    Json parameters = Json::object();
    for (const ParameterInfo& parameter : codec.parameters) {
      parameters[std::string(parameter.name)] = parameter.choices;
    }
    all[std::string(codec.name)] = parameters;
  }
  fields["codecs"] = all;
  return fields;
}

/// Codecs one a line, with what they are for.
std::string program_in_words(Json fields) {
  fields.erase("codecs");
  std::string lines = text(fields_in_words(fields), "\nCodecs:\n");
  std::size_t width = 0;
  for (const CodecInfo& codec : codecs()) width = std::max(width, codec.name.size());
  for (const CodecInfo& codec : codecs()) {
    lines += text("  ", codec.name, std::string(width + 2 - codec.name.size(), ' '), codec.summary,
                  "\n");
  }
  return lines;
}

/// A pipe is read to its end, where the statistics are, and every chunk is checked on the way.
Result<StreamInfo> info_of_pipe() {
  struct Discard : TensorSink {
    Result<void> write(const Region&, const TensorView&) override { return {}; }
  };
  const auto input = files::standard_input();
  const auto make_sink = [](const StreamInfo&) -> Result<std::unique_ptr<TensorSink>> {
    return std::unique_ptr<TensorSink>(std::make_unique<Discard>());
  };
  return read_sequentially(*input, make_sink, {});
}

Result<bool> is_npy(const ByteSource& source) {
  std::array<std::byte, files::kNpyMagic.size()> begin{};
  if (source.size() < begin.size()) return false;
  RETURN_IF_ERROR(source.read_at(0, begin));
  return std::ranges::equal(begin, std::as_bytes(std::span(files::kNpyMagic)));
}

Result<Json> describe_npy(const std::string& path, const ByteSource& source) {
  // Opened for the check of its size; the header alone knows the order.
  TRY(const auto tensor, files::open_tensor(path, std::nullopt));
  stream::SourceInput input(source, 0, source.size());
  TRY(const auto header, files::read_npy_header(input));
  Json fields;
  fields["format"] = "npy";
  fields["dtype"] = name_of(tensor->dtype());
  fields["shape"] = to_json(tensor->shape());
  fields["order"] = header.fortran_order ? "fortran" : "c";
  fields["byte_order"] = header.big_endian ? "big" : "little";
  fields["bytes_in"] = tensor->shape().element_count() * size_of(tensor->dtype());
  return fields;
}

std::string lower_case(std::string word) {
  for (char& letter : word) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return word;
}

Result<Json> describe_file(const std::string& path) {
  if (is_pipe(path)) {
    TRY(const StreamInfo info, info_of_pipe());
    return describe(info);
  }
  TRY(const auto source, files::open_bytes(path));
  TRY(const bool npy, is_npy(*source));
  if (npy) return describe_npy(path, *source);
  if (files::is_array_file_name(path)) {
    return corrupt(source->size() == 0
                       ? "the file is empty"
                       : "the file begins like neither NetCDF nor HDF5; it may be cut off");
  }
  RETURN_IF_ERROR(check_is_stream(path));
  const auto reader = StreamReader::open(*source);
  if (reader.ok()) return cli::describe(reader->info());
  // What its name says goes before what its bytes are not.
  const std::string name = lower_case(path);
  if (name.ends_with(".npy")) RETURN_IF_ERROR(files::open_tensor(path, std::nullopt));
  if (name.ends_with(".raw")) {
    return bad_argument("raw numbers do not say their shape and type, which compress is told with ",
                        "--shape and --dtype");
  }
  return reader.error();
}

Json describe_filter(const files::StoredFilter& filter) {
  Json fields;
  fields["id"] = filter.id;
  fields["values"] = filter.values;
  if (filter.id == files::kHdf5FilterId) {
    const auto settings = files::Hdf5FilterSettings::from_words(filter.values);
    if (settings.ok()) fields["tensorpress"] = describe(*settings);
  }
  return fields;
}

/// "tensorpress dense abs 0.01", "filter 1".
std::string in_words(const files::StoredFilter& filter) {
  if (filter.id == files::kHdf5FilterId) {
    const auto settings = files::Hdf5FilterSettings::from_words(filter.values);
    if (settings.ok()) {
      return text("tensorpress ", settings->codec.name(), settings->bound ? " " : "",
                  settings->bound ? settings->bound->to_string() : "");
    }
  }
  switch (filter.id) {
    case 1:
      return "deflate";
    case 2:
      return "shuffle";
    case 3:
      return "fletcher32";
    default:
      return text("filter ", filter.id);
  }
}

/// "lost abs 0.07 in 2 steps: dense abs 0.05; dense abs 0.02"; "" where nothing was lost.
std::string in_words(const stream::History& history) {
  if (history.empty()) return {};
  const auto lost = stream::error_of(history);
  return text("lost ", lost ? lost->to_string() : "an unknown amount", " in ", history.size(),
              history.size() == 1 ? " step: " : " steps: ", stream::to_text(history));
}

Json describe_variable(const files::NetcdfVariable& variable) {
  Json fields;
  fields["name"] = variable.path;
  fields["type"] = variable.type;
  fields["dimensions"] = variable.dimensions;
  fields["shape"] = variable.extents;
  fields["bytes"] = variable.bytes;
  if (!variable.chunk_extents.empty()) fields["chunk_shape"] = variable.chunk_extents;
  if (variable.packed) fields["packed"] = true;
  fields["coordinate"] = variable.coordinate;
  fields["compressible"] = variable.refusal.empty();
  for (const auto& filter : variable.filters) fields["filters"].push_back(describe_filter(filter));
  if (!variable.history.empty()) {
    fields["history"] = stream::to_text(variable.history);
    const auto lost = stream::error_of(variable.history);
    fields["lost"] = lost ? Json(lost->to_string()) : Json();
  }
  return fields;
}

Result<FileReport> list_variables(const std::string& path) {
  RETURN_IF_ERROR(prepare_for(path));
  TRY(const auto file, about(path, files::NetcdfFile::open(path)));
  Json all = Json::array();
  std::vector<TableRow> rows;
  for (const auto& variable : file->variables()) {
    all.push_back(describe_variable(variable));
    std::string remark = variable.coordinate ? "coordinate" : variable.refusal;
    if (variable.packed) remark += text(remark.empty() ? "" : ", ", "packed");
    for (const auto& filter : variable.filters) {
      remark += text(remark.empty() ? "" : ", ", in_words(filter));
    }
    remark +=
        text(remark.empty() || variable.history.empty() ? "" : ", ", in_words(variable.history));
    TRY(const std::uint64_t stored, about(path, file->stored_bytes(variable)));
    if (stored > 0) all.back()["stored_bytes"] = stored;
    rows.push_back({.variable = variable.path,
                    .type = variable.type,
                    .extents = variable.extents,
                    .bytes_in = variable.bytes,
                    .bytes_out = stored,
                    .remark = remark});
  }
  const bool classic = files::array_format_of(path) == files::ArrayFormat::netcdf_classic;
  return FileReport{.lines = table_of(rows),
                    .fields = {{"format", classic ? "netcdf" : "hdf5"}, {"variables", all}}};
}

Result<FileReport> info_of(const std::string& file) {
  if (files::array_format_of(file) != files::ArrayFormat::other) return list_variables(file);
  TRY(Json fields, about(file, describe_file(file)));
  FileReport report{.lines = fields_in_words(fields)};
  const bool stream = fields.contains("bytes_out");
  report.bytes_in = stream ? fields["bytes_in"].get<std::uint64_t>() : 0;
  report.bytes_out = stream ? fields["bytes_out"].get<std::uint64_t>() : 0;
  report.fields = std::move(fields);
  return report;
}

Result<ExitStatus> run(const Options& options) {
  if (!options.files.empty()) {
    RETURN_IF_ERROR(check_several(options.files));
    return work_on_files(options.files, options.json, info_of, Headings::names);
  }
  TRY(const Json fields, describe_program());
  if (options.json) {
    print_json(fields, stdout);
  } else {
    std::fputs(program_in_words(fields).c_str(), stdout);
  }
  return ExitStatus::fine;
}

Action declare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option(
         "FILE", options->files,
         ".tpz, .npy, NetCDF or HDF5 files; - is a .tpz stream on standard input; without a "
         "file: this program's version, instruction set and codecs")
      ->option_text("...");
  app.add_flag("--json", options->json, "print one JSON object");
  return [options] { return run(*options); };
}

}  // namespace

Verb info_verb() {
  return {"info", "say what a .tpz, .npy, NetCDF or HDF5 file holds, or what this program can do",
          "  tensorpress info x.tpz\n"
          "  tensorpress info *.tpz --json\n"
          "  tensorpress info run.nc\n"
          "  tensorpress info",
          declare};
}

}  // namespace tensorpress::cli
