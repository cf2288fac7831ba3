#include "benchmark/peers/peers.h"

#include <algorithm>

#include "base/text.h"
#include "benchmark/peers/filter_options.h"

namespace tensorpress::benchmark {

namespace {

/// Removes from `names` those that are also in `some`, and returns them.
std::vector<std::string> take(std::vector<std::string>& names,
                              const std::vector<std::string>& some) {
  const auto taken = std::ranges::stable_partition(
      names, [&](const std::string& name) { return std::ranges::find(some, name) == some.end(); });
  std::vector<std::string> out(taken.begin(), taken.end());
  names.erase(taken.begin(), taken.end());
  return out;
}

void append(Peers& all, Peers some) {
  std::ranges::move(some.contenders, std::back_inserter(all.contenders));
  std::ranges::move(some.missing, std::back_inserter(all.missing));
}

}  // namespace

std::vector<std::string> peer_names() {
  std::vector<std::string> names = python_peer_names();
  for (const FilterPeer& peer : filter_peers()) names.emplace_back(peer.name);
  names.emplace_back("zfp");
  names.emplace_back("hdf5-uncompressed");
  return names;
}

Peers find_peers(const std::vector<std::string>& names, const std::string& plugin_path) {
  std::vector<std::string> through_hdf5 = names;
  const auto through_python = take(through_hdf5, python_peer_names());
  const auto linked = take(through_hdf5, {"zfp"});
  Peers found;
  if (!through_python.empty()) append(found, find_python_peers(through_python));
  if (!through_hdf5.empty()) append(found, find_hdf5_peers(through_hdf5, plugin_path));
  if (!linked.empty()) append(found, find_zfp_peer());
  return found;
}

}  // namespace tensorpress::benchmark
