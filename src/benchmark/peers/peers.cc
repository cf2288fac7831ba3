#include "benchmark/peers/peers.h"

#include <algorithm>

#include "base/text.h"
#include "benchmark/peers/filter_options.h"

namespace tensorpress::benchmark {

std::vector<std::string> peer_names() {
  std::vector<std::string> names;
  for (const FilterPeer& peer : filter_peers()) names.emplace_back(peer.name);
  names.emplace_back("zfp");
  names.emplace_back("hdf5-uncompressed");
  return names;
}

Peers find_peers(const std::vector<std::string>& names, const std::string& plugin_path) {
  std::vector<std::string> through_hdf5 = names;
  const bool wants_zfp = std::erase(through_hdf5, "zfp") > 0;
  Peers found;
  if (!through_hdf5.empty()) found = find_hdf5_peers(through_hdf5, plugin_path);
  if (wants_zfp) {
    Peers zfp = find_zfp_peer();
    std::ranges::move(zfp.contenders, std::back_inserter(found.contenders));
    std::ranges::move(zfp.missing, std::back_inserter(found.missing));
  }
  return found;
}

}  // namespace tensorpress::benchmark
