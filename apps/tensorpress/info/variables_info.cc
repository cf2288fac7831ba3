#include "variables_info.h"

#include "array_files/array_files.h"
#include "array_files/table.h"
#include "base/errors.h"
#include "command_line/reports/messages.h"
#include "files/netcdf/file.h"
#include "hdf5/filter_settings.h"
#include "stream/container/history.h"

namespace tensorpress::cli {
namespace {

Json describe_filter(const files::StoredFilter& filter) {
  Json fields;
  fields["id"] = filter.id;
  fields["values"] = filter.values;
  if (filter.id == files::kHdf5FilterId) {
    const auto settings = files::Hdf5FilterSettings::from_words(filter.values);
    if (settings.ok()) fields["tensorpress"] = describe(*settings).to_json();
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

}  // namespace

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

}  // namespace tensorpress::cli
