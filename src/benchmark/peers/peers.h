// The compressors of others that this machine offers. HDF5's library and ZFP's are opened when they
// are asked for (docs/adr/0007); a build without their headers has neither and says so.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "benchmark/contender.h"

namespace tensorpress::benchmark {

struct Peers {
  std::vector<std::unique_ptr<Contender>> contenders;
  /// A sentence for each that is not here: what is missing and how to get it.
  std::vector<std::string> missing;
};

/// What `name` may be: sz3, pcodec, sz, sz3-3.1, sperr, zfp-hdf5, blosc2-zstd, zfp,
/// hdf5-uncompressed.
std::vector<std::string> peer_names();

/// The peers among `names` that can be had. `plugin_path` is the folder of hdf5plugin's filters, or
/// "" if it is not known.
Peers find_peers(const std::vector<std::string>& names, const std::string& plugin_path);

/// hdf5plugin's filters of these names, each as one chunk of a dataset in HDF5's core driver, which
/// keeps the file in memory; "hdf5-uncompressed" is the same without a filter.
Peers find_hdf5_peers(const std::vector<std::string>& names, const std::string& plugin_path);
/// Python packages in processes of their own (docs/adr/0047): sz3 is pysz, pcodec itself.
Peers find_python_peers(const std::vector<std::string>& names);
std::vector<std::string> python_peer_names();
/// ZFP's own C library.
Peers find_zfp_peer();

}  // namespace tensorpress::benchmark
