#include "command_line/inputs/variable_source.h"

#include "base/errors.h"
#include "files/rewriting/provenance.h"
#include "stream/container/history.h"

namespace tensorpress::cli {

Result<VariableSource> open_variable(files::NetcdfFile& file, const files::NetcdfVariable& variable,
                                     const files::EarlierLoss& loss, CompressOptions& write) {
  VariableSource opened;
  TRY(opened.source, file.source(variable));
  TRY(files::NetcdfNotes notes, file.notes(variable));
  if (!notes.left_behind.empty()) {
    std::string listed;
    for (const auto& name : notes.left_behind) listed += text(listed.empty() ? "" : ", ", name);
    opened.remark =
        text("a .tpz keeps no coordinates that are text or have several dimensions: ", listed);
  }
  TRY(const auto history, files::history_of(file, variable, write.threads));
  RETURN_IF_ERROR(
      files::count_from_first_values(text("variable '", variable.path, "'"), history, loss, write));
  // Our own attributes tell about the file; a stream has its own way to say it.
  files::erase_own_attributes(notes.attributes);
  for (Attribute& attribute : files::to_attributes(notes)) {
    write.attributes.push_back(std::move(attribute));
  }
  if (!history.empty()) {
    write.attributes.push_back({std::string(stream::kHistoryAttribute), stream::to_text(history)});
  }
  // Fill values of packed numbers are NaN by now.
  if (!variable.packed) {
    auto& fills = write.fill_values;
    fills.insert(fills.end(), variable.fill_values.begin(), variable.fill_values.end());
  }
  return opened;
}

}  // namespace tensorpress::cli
