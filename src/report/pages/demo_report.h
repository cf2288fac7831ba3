// The demonstration's page: what was done, a table, a rate-distortion plot and pictures for each
// data set.
#pragma once

#include <span>
#include <string>

#include "report/pages/demo_data_set.h"

namespace tensorpress::report {

Result<std::string> demo_html(std::span<const DemoDataSet> sets);

}  // namespace tensorpress::report
