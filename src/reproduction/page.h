// All reproductions on a page with plots, and as Markdown for docs/reproduction.md.
#pragma once

#include <string>
#include <vector>

#include "reproduction/reproduction.h"

namespace tensorpress::report {

std::string reproductions_html(const std::vector<ReproductionTable>& tables);
std::string reproductions_markdown(const std::vector<ReproductionTable>& tables,
                                   const std::string& command);

}  // namespace tensorpress::report
