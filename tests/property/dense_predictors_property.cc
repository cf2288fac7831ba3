// Properties of the predictors of dense that its choice would rarely take for small chunks:
// wavelets with every filter, stencils on every set of axes, and lines as lanes, over hostile
// values and shapes with sides of 1, 2 and 3. What a predictor codes keeps its bound and its zeros,
// and the bytes are those of the scalar kernels; what it cannot code it refuses.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "codecs/dense/interpolation/interpolation.h"
#include "codecs/dense/lattice/folding.h"
#include "codecs/dense/wavelet/trial.h"
#include "codecs/dense/wavelet/wavelet.h"

namespace tensorpress::dense {
namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  double symmetric() { return static_cast<double>(random_() >> 11) * 0x1p-52 - 1; }

  Shape shape() {
    static constexpr std::uint64_t kSides[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 25, 33, 40};
    const auto side = [&] { return kSides[below(std::size(kSides))]; };
    switch (below(5)) {
      case 0:
        return Shape{8 + below(3000)};
      case 1:
        return Shape{side(), side() + 8};
      case 2:
        return Shape{side(), side(), side() % 17 + 1, side() % 5 + 1};
      default:
        return Shape{side(), side() % 20 + 1, side()};
    }
  }

  // From 1e-38 to 1e38 in f32, from 1e-300 in f64; subnormals too.
  template <class T>
  std::vector<T> values(std::size_t count) {
    constexpr int kMost = std::numeric_limits<T>::max_exponent10;
    const double scale = std::pow(10.0, (kMost - 2) * symmetric());
    const std::uint64_t kind = below(8);
    const double pace = 0.01 + 0.5 * std::fabs(symmetric());
    std::vector<T> out(count);
    double walk = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double x = static_cast<double>(i);
      walk += symmetric();
      out[i] = static_cast<T>(of_kind(kind, x, pace, walk) * scale);
      if (kind == 6)
        out[i] = static_cast<T>(symmetric() * 9) * std::numeric_limits<T>::denorm_min();
    }
    return out;
  }

 private:
  double of_kind(std::uint64_t kind, double x, double pace, double walk) {
    switch (kind) {
      case 0:
        return std::sin(x * pace);
      case 1:
        return std::sin(x * pace) + 1e-3 * symmetric();
      case 2:
        return walk;
      case 3:
        return std::fmod(x, 40) < 25 ? 0 : std::sin(x * pace);
      case 4:
        return one_in(50) ? 40 * symmetric() : std::sin(x * pace);
      case 5:
        return 1e6 + std::sin(x * pace);
      case 7:
        return std::fmod(x, 90) < 45 ? 1 : 2;
      default:
        return symmetric();
    }
  }

  std::mt19937_64 random_;
};

template <class T>
struct Case {
  std::vector<T> values;
  std::vector<bounded::Hole> holes;
  Shape shape;
  double bound = 0;

  Case(Random& random, const Shape& of_shape)
      : values(random.values<T>(of_shape.element_count())), shape(of_shape) {
    for (std::uint64_t at = random.below(900); random.one_in(2) && at + 1 < values.size();) {
      const std::uint64_t length =
          std::min<std::uint64_t>(1 + random.below(60), values.size() - at);
      holes.push_back({at, length});
      at += length + 1 + random.below(500);
    }
    // A hole has the value before it, as the codec fills it.
    for (const bounded::Hole& hole : holes) {
      for (std::uint64_t i = hole.start; i < hole.start + hole.length; ++i) {
        values[i] = values[hole.start == 0 ? values.size() - 1 : hole.start - 1];
      }
    }
    double largest = 0;
    for (const T value : values) largest = std::max(largest, std::fabs(double{value}));
    bound = largest * std::pow(10.0, -1.5 + 3.5 * random.symmetric());
    bound = std::clamp<double>(bound, std::numeric_limits<T>::min(),
                               std::numeric_limits<T>::max() / 16);
  }

  bounded::Field<T> field() const { return {values, shape, holes, true}; }

  void check(const std::vector<T>& back) const {
    std::vector<bool> held(values.size(), true);
    for (const bounded::Hole& hole : holes) {
      for (std::uint64_t i = hole.start; i < hole.start + hole.length; ++i) held[i] = false;
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!held[i]) continue;
      RC_ASSERT(std::fabs(double{values[i]} - double{back[i]}) <= bound);
      RC_ASSERT(values[i] != 0 || back[i] == 0);
    }
  }
};

// encode(workspace, output) and decode(bytes, workspace, back), on the best and the simplest
// instruction set. Whether anything was coded.
template <class T, class Encode, class Decode>
bool round_trip(const Case<T>& given, const Encode& encode, const Decode& decode) {
  std::vector<std::byte> first;
  for (const Isa isa : {detected_isa(), Isa::scalar}) {
    ChunkWorkspace workspace(isa);
    std::vector<std::byte> bytes(given.values.size() * sizeof(T) + 4000);
    const std::optional<std::size_t> size = encode(workspace, std::span(bytes));
    bytes.resize(size.value_or(0));
    if (isa == Isa::scalar) {
      RC_ASSERT(bytes == first);
      return size.has_value();
    }
    first = bytes;
    if (!size) continue;
    std::vector<T> back(given.values.size());
    RC_ASSERT(decode(std::span<const std::byte>(bytes), workspace, std::span(back)).ok());
    given.check(back);
  }
  return false;
}

template <class T>
bool by_wavelet(const Case<T>& given, const WaveletMode& mode) {
  const auto field = given.field();
  return round_trip(
      given,
      [&](ChunkWorkspace& workspace, std::span<std::byte> output) -> std::optional<std::size_t> {
        const auto zeros = zeros_of(field, given.bound, workspace);
        const auto coded = encode_wavelet(field, given.bound, mode, zeros, output, workspace);
        return coded ? std::optional(coded->bytes) : std::nullopt;
      },
      [&](std::span<const std::byte> bytes, ChunkWorkspace& workspace, std::span<T> back) {
        return decode_wavelet<T>(bytes, given.shape, given.bound, back, workspace,
                                 wavelet_form_of(given.shape));
      });
}

template <class T>
bool by_stencils(const Case<T>& given, unsigned axes, bool keep_zeros) {
  const auto field = given.field();
  InterpolationMode mode = first_mode(field, given.bound);
  mode.stencils = true;
  mode.keep_zeros = keep_zeros;
  for (unsigned axis = 0; axis < 3; ++axis) mode.along[axis] = ((axes >> axis) & 1) != 0;
  return round_trip(
      given,
      [&](ChunkWorkspace& workspace, std::span<std::byte> output) {
        const auto zeros = zeros_of(field, given.bound, workspace);
        return encode_interpolation(field, given.bound, mode, zeros, output, workspace);
      },
      [&](std::span<const std::byte> bytes, ChunkWorkspace& workspace, std::span<T> back) {
        return decode_interpolation<T>(bytes, given.shape, given.bound, back, workspace);
      });
}

WaveletMode random_mode(Random& random) {
  WaveletMode mode;
  mode.filter = static_cast<kernels::WaveletFilter>(random.below(4));
  mode.ends = static_cast<kernels::WaveletEnds>(random.below(2));
  mode.step = static_cast<std::uint8_t>(1 + random.below(127));
  mode.fit_weights = random.one_in(2);
  mode.rare = random.one_in(4) ? 0 : kRare;
  return mode;
}

template <class T>
void try_wavelets(std::uint64_t seed) {
  Random random(seed);
  const Shape shape = random.shape();
  RC_TAG(by_wavelet(Case<T>(random, shape), random_mode(random)) ? "coded" : "refused");
}

template <class T>
void try_stencils(std::uint64_t seed) {
  Random random(seed);
  const Shape shape = random.shape();
  const auto axes = static_cast<unsigned>(1 + random.below(7));
  RC_TAG(by_stencils(Case<T>(random, shape), axes, random.one_in(2)) ? "coded" : "refused");
}

RC_GTEST_PROP(DenseWaveletProperty, KeepsBoundsOfF32, (std::uint64_t seed)) {
  try_wavelets<float>(seed);
}
RC_GTEST_PROP(DenseWaveletProperty, KeepsBoundsOfF64, (std::uint64_t seed)) {
  try_wavelets<double>(seed);
}
RC_GTEST_PROP(DenseStencilProperty, KeepsBoundsOfF32, (std::uint64_t seed)) {
  try_stencils<float>(seed);
}
RC_GTEST_PROP(DenseStencilProperty, KeepsBoundsOfF64, (std::uint64_t seed)) {
  try_stencils<double>(seed);
}

// Lanes are long: a dozen lines, not hundreds.
TEST(DenseLanesProperty, KeepBounds) {
  unsigned coded = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Random random(1000 + seed);
    const Shape shape{65536 + random.below(64)};
    coded += by_wavelet(Case<float>(random, shape), random_mode(random)) ? 1u : 0u;
    coded += by_wavelet(Case<double>(random, shape), random_mode(random)) ? 1u : 0u;
  }
  EXPECT_GT(coded, 5u);
}

}  // namespace
}  // namespace tensorpress::dense
