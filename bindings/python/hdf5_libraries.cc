#include "hdf5_libraries.h"

#include <string>
#include <vector>

#ifdef __linux__
#  include <dlfcn.h>
#  include <link.h>
#endif

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tensorpress::python {
namespace {

#ifdef __linux__

// Names only: what is called meanwhile must not load or unload anything.
int note_hdf5(dl_phdr_info* library, std::size_t /*size*/, void* opaque) {
  const std::string path = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  const std::string file = path.substr(path.rfind('/') + 1);
  const bool named = file.find("hdf5") != std::string::npos;
  if (named) static_cast<std::vector<std::string>*>(opaque)->push_back(path);
  return 0;
}

bool add_to(const std::string& library, const char* folder) {
  void* const handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  // herr_t H5PLappend(const char *search_path), since HDF5 1.10.1. Those beside HDF5 itself, such
  // as libhdf5_hl, do not have it, but dlsym finds it in what they depend on: the same library.
  auto* const append = reinterpret_cast<int (*)(const char*)>(dlsym(handle, "H5PLappend"));
  Dl_info owner{};
  const bool own = append != nullptr &&
                   dladdr(reinterpret_cast<const void*>(append), &owner) != 0 &&
                   owner.dli_fname != nullptr && library == owner.dli_fname;
  const bool added = own && append(folder) >= 0;
  dlclose(handle);
  return added;
}

#endif

/// How many HDF5 libraries now look for filters in the folder too.
std::size_t add_hdf5_plugin_path([[maybe_unused]] const nb::bytes& folder) {
  std::size_t added = 0;
#ifdef __linux__
  std::vector<std::string> libraries;
  dl_iterate_phdr(note_hdf5, &libraries);
  for (const std::string& library : libraries) added += add_to(library, folder.c_str()) ? 1 : 0;
#endif
  return added;
}

}  // namespace

void define_hdf5_libraries(nb::module_& module) {
  module.def("add_hdf5_plugin_path", &add_hdf5_plugin_path, "folder"_a);
}

}  // namespace tensorpress::python
