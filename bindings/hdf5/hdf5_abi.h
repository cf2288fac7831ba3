// The part of HDF5's binary interface that a filter meets, in our own words: nothing of HDF5 is
// needed to build the plugin, and nothing of it is linked. It has been the same since HDF5 1.10,
// where identifiers became 64 bits wide. tests/unit/hdf5/abi_test.cc compares it with HDF5's
// headers.
#pragma once

#include <sys/types.h>
#include <cstddef>
#include <cstdint>

namespace tensorpress::hdf5::abi {

using hid_t = std::int64_t;
using herr_t = int;  // negative is a failure
using htri_t = int;  // positive yes, 0 no, negative a failure
using hsize_t = unsigned long long;

using CanApply = htri_t(hid_t creation, hid_t type, hid_t space);
using SetLocal = herr_t(hid_t creation, hid_t type, hid_t space);
using Filter = std::size_t(unsigned flags, std::size_t value_count, const unsigned values[],
                           std::size_t bytes, std::size_t* capacity, void** buffer);

/// H5Z_class2_t.
struct FilterClass {
  int version;
  int id;
  unsigned encoder_present;
  unsigned decoder_present;
  const char* name;
  CanApply* can_apply;
  SetLocal* set_local;
  Filter* filter;
};

inline constexpr int kFilterClassVersion = 1;     // H5Z_CLASS_T_VERS
inline constexpr int kPluginTypeFilter = 0;       // H5PL_TYPE_FILTER
inline constexpr unsigned kFlagReverse = 0x0100;  // H5Z_FLAG_REVERSE
inline constexpr int kClassFloat = 1;             // H5T_FLOAT
inline constexpr int kOrderLittle = 0;            // H5T_ORDER_LE
inline constexpr int kOrderBig = 1;               // H5T_ORDER_BE
inline constexpr int kFillUserDefined = 2;        // H5D_FILL_VALUE_USER_DEFINED
inline constexpr hid_t kDefaultErrorStack = 0;    // H5E_DEFAULT

// Functions, by their names in the library.
using H5Tget_class = int(hid_t type);
using H5Tget_size = std::size_t(hid_t type);
using H5Tget_order = int(hid_t type);
using H5Tget_ebias = std::size_t(hid_t type);
using H5Tget_fields = herr_t(hid_t type, std::size_t* sign, std::size_t* exponent,
                             std::size_t* exponent_bits, std::size_t* mantissa,
                             std::size_t* mantissa_bits);
using H5Pget_chunk = int(hid_t creation, int room, hsize_t extents[]);
using H5Pget_filter_by_id2 = herr_t(hid_t creation, int id, unsigned* flags, std::size_t* count,
                                    unsigned values[], std::size_t name_room, char name[],
                                    unsigned* config);
using H5Pmodify_filter = herr_t(hid_t creation, int id, unsigned flags, std::size_t count,
                                const unsigned values[]);
using H5Pfill_value_defined = herr_t(hid_t creation, int* status);
using H5Pget_fill_value = herr_t(hid_t creation, hid_t type, void* value);
using H5Zregister = herr_t(const void* filter_class);
using H5Epush2 = herr_t(hid_t stack, const char* file, const char* function, unsigned line,
                        hid_t error_class, hid_t major, hid_t minor, const char* format, ...);

}  // namespace tensorpress::hdf5::abi
