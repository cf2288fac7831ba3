// How many bytes a file in NetCDF's classic formats (CDF-1, -2 and -5) must have, from its header.
// The NetCDF library reads what is missing at the end of a cut off file as zeros, without a word.
#pragma once

#include <cstdint>

#include "stream/container/byte_io.h"
#include "tensorpress/result.h"

namespace tensorpress::files {

/// Where the last variable's last element ends. Errors: not such a file, or a header that
/// contradicts itself. A file that is still being streamed into (unknown number of records) gives
/// the end of what does not grow.
Result<std::uint64_t> netcdf_classic_size(const stream::ByteSource& file);

}  // namespace tensorpress::files
