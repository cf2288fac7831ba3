// The HDF5 library that called us. A process may hold several (h5py and netCDF4 each bring their
// own), so functions are looked for in the one that the return address of a callback points into,
// and among all symbols only if that fails (HDF5 linked into the program itself).
#pragma once

#include <string_view>

#include "hdf5_abi.h"
#include "tensorpress/result.h"

namespace tensorpress::hdf5 {

class Host {
 public:
  /// `caller` is an address inside the library: __builtin_return_address(0) in a callback.
  explicit Host(const void* caller);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host();

  /// abi::H5Tget_size* get_size; host.find("H5Tget_size", get_size); the error names what is
  /// missing.
  template <class Function>
  Result<void> find(const char* name, Function*& function) const {
    void* const address = symbol(name);
    if (address == nullptr) return missing(name);
    function = reinterpret_cast<Function*>(address);
    return {};
  }

  /// Puts a sentence onto HDF5's error stack, where h5py and the tools find it. To be called last:
  /// most calls into HDF5 wipe the stack.
  void push_error(const char* function, std::string_view sentence) const;

 private:
  void* symbol(const char* name) const;
  static Error missing(const char* name);

  void* handle_ = nullptr;
};

}  // namespace tensorpress::hdf5
