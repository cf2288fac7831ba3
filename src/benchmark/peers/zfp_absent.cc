// Compiled instead of zfp_peer.cc where ZFP's header was not found.
#include "benchmark/peers/peers.h"

namespace tensorpress::benchmark {

Peers find_zfp_peer() {
  Peers peers;
  peers.missing.emplace_back(
      "this program was built without ZFP's library: apt-get install libzfp-dev, then build again");
  return peers;
}

}  // namespace tensorpress::benchmark
