// The settings of the HDF5 filter from the command line's bound and codec, and in words.
#pragma once

#include <optional>
#include <string>

#include "command_line/options/bound_options.h"
#include "command_line/options/codec_options.h"
#include "command_line/reports/report_fields.h"
#include "files/conventions/hdf5_filter_settings.h"

namespace tensorpress::cli {

Result<files::Hdf5FilterSettings> filter_settings(const CodecOptions& codec,
                                                  const BoundOptions& bound, std::uint32_t threads);

/// What a row of words means, field by field.
ReportFields describe(const files::Hdf5FilterSettings& settings);

/// "1,1,2,3539053052,1062232653".
std::string joined(const std::vector<std::uint32_t>& words);

}  // namespace tensorpress::cli
