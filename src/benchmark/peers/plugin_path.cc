#include "benchmark/peers/plugin_path.h"

#include <cstdlib>

#include "base/text.h"
#include "benchmark/peers/python/pythons.h"

namespace tensorpress::benchmark {
namespace {

/// Finds the package without importing it, which would take h5py and half a second.
constexpr const char* kQuestion =
    "import importlib.util as u; print(u.find_spec('hdf5plugin').submodule_search_locations[0])";

/// "" when it is not set.
std::string from_environment(const char* name) {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): on the only thread
  return value == nullptr ? "" : value;
}

}  // namespace

std::string find_plugin_path(const std::string& given) {
  if (!given.empty()) return given;
  std::string path = from_environment("HDF5_PLUGIN_PATH");
  if (!path.empty()) return path;
  for (const std::string& python : pythons()) {
    const std::string package = answer_of(python, kQuestion);
    if (!package.empty()) return text(package, "/plugins");
  }
  return {};
}

}  // namespace tensorpress::benchmark
