// The filter as HDF5 sees it: a row of callbacks.
#pragma once

#include "hdf5_abi.h"

namespace tensorpress::hdf5 {

extern const abi::FilterClass kFilterClass;

}  // namespace tensorpress::hdf5
