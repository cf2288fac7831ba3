#include "variable_source.h"

#include "base/errors.h"

namespace tensorpress::cli {

Result<VariableSource> open_variable(files::NetcdfFile& file, const files::NetcdfVariable& variable,
                                     stream::WriteOptions& write) {
  VariableSource opened;
  TRY(opened.source, file.source(variable));
  TRY(const files::NetcdfNotes notes, file.notes(variable));
  if (!notes.left_behind.empty()) {
    std::string listed;
    for (const auto& name : notes.left_behind) listed += text(listed.empty() ? "" : ", ", name);
    opened.remark =
        text("a .tpz keeps no coordinates that are text or have several dimensions: ", listed);
  }
  for (Attribute& attribute : files::to_attributes(notes)) {
    write.attributes.push_back(std::move(attribute));
  }
  // Fill values of packed numbers are NaN by now.
  if (!variable.packed) {
    auto& fills = write.bound.fill_values;
    fills.insert(fills.end(), variable.fill_values.begin(), variable.fill_values.end());
  }
  return opened;
}

}  // namespace tensorpress::cli
