#include "benchmark/peers/filter_options.h"

#include <bit>
#include <cmath>

#include "base/errors.h"

namespace tensorpress::benchmark {
namespace {

unsigned high_word(double value) {
  return static_cast<unsigned>(std::bit_cast<std::uint64_t>(value) >> 32);
}

unsigned low_word(double value) {
  return static_cast<unsigned>(std::bit_cast<std::uint64_t>(value));
}

Result<void> check_positive(double bound) {
  if (bound > 0 && std::isfinite(bound)) return {};
  return bad_argument("an absolute bound of ", bound, " is not above 0");
}

}  // namespace

Result<FilterOptions> sz_options(double absolute_bound) {
  RETURN_IF_ERROR(check_positive(absolute_bound));
  constexpr unsigned kAbsolute = 0;
  return FilterOptions{
      kAbsolute, high_word(absolute_bound), low_word(absolute_bound), 0, 0, 0, 0, 0, 0};
}

Result<FilterOptions> sz3_options(double absolute_bound) {
  return sz_options(absolute_bound);
}

Result<FilterOptions> sperr_options(double absolute_bound) {
  RETURN_IF_ERROR(check_positive(absolute_bound));
  constexpr unsigned kPointWise = 3u << 28;
  constexpr unsigned kNegative = 1u << 27;
  constexpr unsigned kNoMissingValues = 0;
  // Our arrays have their fastest axis last. Without this the filter takes it for the slowest, and
  // its ratios are lower; hdf5plugin calls it `swap`, and leaves it out by default.
  constexpr unsigned kSwapAxes = 1u << 31;
  const double scaled = std::log2(absolute_bound) * 65536;
  const unsigned packed = scaled < 0 ? static_cast<unsigned>(std::ceil(-scaled)) | kNegative
                                     : static_cast<unsigned>(std::floor(scaled));
  return FilterOptions{packed | kPointWise | kSwapAxes, kNoMissingValues};
}

Result<FilterOptions> zfp_options(double absolute_bound) {
  RETURN_IF_ERROR(check_positive(absolute_bound));
  constexpr unsigned kAccuracy = 3;
  return FilterOptions{kAccuracy, 0, low_word(absolute_bound), high_word(absolute_bound), 0, 0};
}

Result<FilterOptions> blosc2_zstd_options(double /*absolute_bound*/) {
  constexpr unsigned kLevel = 5, kShuffle = 1, kZstd = 5;
  return FilterOptions{0, 0, 0, 0, kLevel, kShuffle, kZstd};
}

std::array<FilterPeer, 5> filter_peers() {
  return {{{"sz", 32017, false, sz_options},
           {"sz3-3.1", 32024, false, sz3_options},
           {"sperr", 32028, false, sperr_options},
           {"zfp-hdf5", 32013, false, zfp_options},
           {"blosc2-zstd", 32026, true, blosc2_zstd_options}}};
}

}  // namespace tensorpress::benchmark
