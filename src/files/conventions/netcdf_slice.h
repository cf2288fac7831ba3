// The notes about a NetCDF variable for a part of it.
#pragma once

#include "base/tensor/region.h"
#include "files/conventions/netcdf_notes.h"

namespace tensorpress::files {

/// Names and coordinates of the axes that a slice of a tensor of `shape` keeps. Notes about another
/// number of axes stay as they are; writing them says what is wrong.
NetcdfNotes notes_of_part(NetcdfNotes notes, const Slice& slice, const Shape& shape);

}  // namespace tensorpress::files
