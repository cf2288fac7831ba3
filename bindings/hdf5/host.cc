#include "host.h"

#include <dlfcn.h>

#include <string>

#include "base/errors.h"

namespace tensorpress::hdf5 {

Host::Host(const void* caller) {
  Dl_info info{};
  if (dladdr(caller, &info) != 0 && info.dli_fname != nullptr) {
    handle_ = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  // A caller that is no HDF5 library: the program itself, or a test.
  if (handle_ != nullptr && dlsym(handle_, "H5Epush2") == nullptr) {
    dlclose(handle_);
    handle_ = nullptr;
  }
}

Host::~Host() {
  if (handle_ != nullptr) dlclose(handle_);
}

void* Host::symbol(const char* name) const {
  return dlsym(handle_ != nullptr ? handle_ : RTLD_DEFAULT, name);
}

Error Host::missing(const char* name) {
  return unsupported("the HDF5 library of this process has no ", name,
                     "; the filter works with HDF5 1.10 and later");
}

void Host::push_error(const char* function, std::string_view sentence) const {
  auto* const push = reinterpret_cast<abi::H5Epush2*>(symbol("H5Epush2"));
  const auto* const error_class = static_cast<abi::hid_t*>(symbol("H5E_ERR_CLS_g"));
  const auto* const major = static_cast<abi::hid_t*>(symbol("H5E_PLINE_g"));
  const auto* const minor = static_cast<abi::hid_t*>(symbol("H5E_CALLBACK_g"));
  if (push == nullptr || error_class == nullptr || major == nullptr || minor == nullptr) return;
  const std::string message(sentence);
  push(abi::kDefaultErrorStack, "tensorpress", function, 0, *error_class, *major, *minor, "%s",
       message.c_str());
}

}  // namespace tensorpress::hdf5
