// What this run writes into the `history` of NetCDF and HDF5 files: when, which program, and how it
// was called, as NCO and CDO do.
#pragma once

#include <string>

#include "tensorpress/result.h"

namespace tensorpress::cli {

/// To be called once, with what `main` was given.
void remember_command(int argc, const char* const* argv);

/// "2026-11-18T00:31:00Z tensorpress 0.9.0: compress in.nc --rel 1e-4 -o small.nc". The time is
/// that of SOURCE_DATE_EPOCH, if set, so that the same call makes the same file.
Result<std::string> history_line();

}  // namespace tensorpress::cli
