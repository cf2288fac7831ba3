// What a dataset that is being created says of its elements, chunks and fill value, asked of the
// HDF5 library that creates it.
#pragma once

#include "files/conventions/hdf5_filter_settings.h"
#include "host.h"

namespace tensorpress::hdf5 {

struct ElementType {
  DType dtype = DType::f32;
  bool big_endian = false;
};

/// f16, bf16, f32 and f64 in either byte order; the error says what else it is.
Result<ElementType> element_type(const Host& host, abi::hid_t type);

Result<files::Hdf5Chunk> dataset_chunk(const Host& host, abi::hid_t creation, abi::hid_t type);

/// The filter's values in a property list, and the flags beside them.
struct StoredValues {
  unsigned flags = 0;
  std::vector<std::uint32_t> words;
};
Result<StoredValues> stored_values(const Host& host, abi::hid_t creation);
Result<void> replace_values(const Host& host, abi::hid_t creation, const StoredValues& values);

}  // namespace tensorpress::hdf5
