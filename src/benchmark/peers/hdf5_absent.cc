// Compiled instead of hdf5_peers.cc where HDF5's header was not found.
#include "base/text.h"
#include "benchmark/peers/peers.h"

namespace tensorpress::benchmark {

Peers find_hdf5_peers(const std::vector<std::string>& names, const std::string& /*plugin_path*/) {
  std::string listed;
  for (const std::string& name : names) listed += text(listed.empty() ? "" : ", ", name);
  Peers peers;
  peers.missing.push_back(text("this program was built without HDF5, needed for ", listed,
                               ": apt-get install libhdf5-dev, then build again"));
  return peers;
}

}  // namespace tensorpress::benchmark
