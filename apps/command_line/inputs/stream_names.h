// Names of the streams that are made of a file, and the streams of a file in a directory.
#pragma once

#include <string>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::cli {

/// What follows the file's own name without its extension: ".tpz", or ".ocean.TEMP.tpz" for the
/// variable "ocean/TEMP".
std::string stream_extension(std::string variable);

/// What `compress ORIGINAL -o DIRECTORY/` has made: NAME.tpz, or NAME.VARIABLE.tpz for each
/// variable of an array file, sorted; of one variable only if it is named. It is an error if there
/// is no stream.
Result<std::vector<std::string>> streams_made_of(const std::string& original,
                                                 const std::string& directory,
                                                 const std::string& variable);

}  // namespace tensorpress::cli
