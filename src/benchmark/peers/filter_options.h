// The numbers ("cd_values") that HDF5 hands to the filters of other compressors, from the bound
// that they have to keep. Layouts as in each filter's own documentation; hdf5plugin packs the same.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorpress/result.h"

namespace tensorpress::benchmark {

using FilterOptions = std::vector<unsigned>;

struct FilterPeer {
  std::string_view name;  // "sperr"
  unsigned id;            // as registered with The HDF Group
  bool lossless;
  Result<FilterOptions> (*options)(double absolute_bound);
};

/// SZ 2, absolute mode: the mode, then absolute, relative, point-wise and PSNR bounds as doubles,
/// high word first.
Result<FilterOptions> sz_options(double absolute_bound);
/// SZ 3 as hdf5plugin has it, absolute mode: laid out as SZ 2's, with an L2 bound in the third
/// place.
Result<FilterOptions> sz3_options(double absolute_bound);
/// SPERR, point-wise error: bits 31..28 say how (0011), bit 27 is the sign of the tolerance's
/// binary logarithm, bits 26..0 its size in 1/65536, rounded so that the tolerance never grows.
Result<FilterOptions> sperr_options(double absolute_bound);
/// ZFP, fixed accuracy (mode 3): the tolerance as a double, low word first.
Result<FilterOptions> zfp_options(double absolute_bound);
/// Blosc 2 with Zstandard, level 5, bytes shuffled. Lossless: the bound is not used.
Result<FilterOptions> blosc2_zstd_options(double absolute_bound);

std::array<FilterPeer, 5> filter_peers();

}  // namespace tensorpress::benchmark
