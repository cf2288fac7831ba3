// The block transform in plain scalar code, the truth that every SIMD target must match bit by bit:
// the same operations in the same order, without their vectors. Read this one first.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "kernels/block_transform/constants.h"
#include "kernels/block_transform/variants.h"

namespace tensorpress::kernels {
namespace {

float square(float value) {
  return value * value;
}

// y[0..8) from x; `dropped` is the sum of squares of y[keep..8).
void dct_forward(int keep, const float* x, float* y, float& dropped) {
  const float s0 = x[0] + x[7], s1 = x[1] + x[6], s2 = x[2] + x[5], s3 = x[3] + x[4];
  const float d0 = x[0] - x[7], d1 = x[1] - x[6], d2 = x[2] - x[5], d3 = x[3] - x[4];
  const float a0 = s0 + s3, a1 = s1 + s2, b0 = s0 - s3, b1 = s1 - s2;
  const float p = d0 * kDctC3 - d3 * kDctC5, q = d0 * kDctC5 + d3 * kDctC3;
  const float r = d1 * kDctC7 + d2 * kDctC1, t = d1 * kDctC1 - d2 * kDctC7;
  const float m = p + r, n = q + t;
  y[0] = (a0 + a1) * kDctA;
  y[4] = (a0 - a1) * kDctA;
  y[2] = b0 * kDctC2 + b1 * kDctC6;
  y[6] = b0 * kDctC6 - b1 * kDctC2;
  y[1] = (m + n) * kSqrtHalf;
  y[7] = (m - n) * kSqrtHalf;
  y[3] = p - r;
  y[5] = q - t;
  // y2² + y6² = (b0² + b1²) / 4 and the odd ones alike, without computing them.
  const float even = (square(b0) + square(b1)) * 0.25f;
  if (keep == 1) {
    const float odd = ((square(d0) + square(d1)) + (square(d2) + square(d3))) * 0.5f;
    dropped = square(y[4]) + (even + odd);
  } else if (keep == 2) {
    dropped = (square(y[4]) + even) + (square(y[3]) + (square(y[5]) + square(y[7])));
  } else if (keep < 8) {
    dropped = square(y[keep]);
    for (int v = keep + 1; v < 8; ++v) dropped += square(y[v]);
  }
}

void dct_inverse(int kept, const float* y, float* x) {
  float e[4] = {}, o[4] = {};
  e[0] = e[1] = y[0] * kDctA;
  if (kept > 4) {
    const float y4 = y[4] * kDctA;
    e[1] = e[0] - y4;
    e[0] = e[0] + y4;
  }
  e[2] = e[1];
  e[3] = e[0];
  if (kept > 2) {
    float u = y[2] * kDctC2, v = y[2] * kDctC6;
    if (kept > 6) {
      u = u + y[6] * kDctC6;
      v = v - y[6] * kDctC2;
    }
    e[3] = e[0] - u;
    e[0] = e[0] + u;
    e[2] = e[1] - v;
    e[1] = e[1] + v;
  }
  if (kept == 1) {
    for (int k = 0; k < 4; ++k) x[k] = x[7 - k] = e[k];
    return;
  }
  if (kept < 6) {
    o[0] = y[1] * kDctC1;
    o[1] = y[1] * kDctC3;
    o[2] = y[1] * kDctC5;
    o[3] = y[1] * kDctC7;
    if (kept > 3) {
      o[0] = o[0] + y[3] * kDctC3;
      o[1] = o[1] - y[3] * kDctC7;
      o[2] = o[2] - y[3] * kDctC1;
      o[3] = o[3] - y[3] * kDctC5;
    }
  } else {
    float m = y[1] * kSqrtHalf, n = m;
    if (kept > 7) {
      m = (y[1] + y[7]) * kSqrtHalf;
      n = (y[1] - y[7]) * kSqrtHalf;
    }
    const float p = m + y[3], r = m - y[3], q = n + y[5], t = n - y[5];
    o[0] = p * kDctC3 + q * kDctC5;
    o[1] = r * kDctC7 + t * kDctC1;
    o[2] = r * kDctC1 - t * kDctC7;
    o[3] = q * kDctC3 - p * kDctC5;
  }
  for (int k = 0; k < 4; ++k) {
    x[k] = e[k] + o[k];
    x[7 - k] = e[k] - o[k];
  }
}

void zfp_forward(int /*keep*/, const float* x, float* y, float& /*dropped*/) {
  const float s0 = x[0] + x[3], s1 = x[1] + x[2], d0 = x[0] - x[3], d1 = x[1] - x[2];
  y[0] = (s0 + s1) * 0.25f;
  y[1] = d0 * 0.3125f + d1 * 0.0625f;
  y[2] = (s1 - s0) * 0.25f;
  y[3] = d1 * 0.375f - d0 * 0.125f;
}

void zfp_inverse(int kept, const float* y, float* x) {
  if (kept == 1) {
    x[0] = x[1] = x[2] = x[3] = y[0];
    return;
  }
  const float e0 = kept > 2 ? y[0] - y[2] : y[0], e1 = kept > 2 ? y[0] + y[2] : y[0];
  float o0 = y[1] * 1.5f, o1 = y[1] * 0.5f;
  if (kept > 3) {
    o0 = o0 - y[3] * 0.25f;
    o1 = o1 + y[3] * 1.25f;
  }
  x[0] = e0 + o0;
  x[3] = e0 - o0;
  x[1] = e1 + o1;
  x[2] = e1 - o1;
}

struct Dct {
  static constexpr Transform kTransform = Transform::dct;
  static constexpr bool kOrthonormal = true;
  static constexpr auto kForward = dct_forward;
  static constexpr auto kInverse = dct_inverse;
};
struct Zfp {
  static constexpr Transform kTransform = Transform::zfp;
  static constexpr bool kOrthonormal = false;
  static constexpr auto kForward = zfp_forward;
  static constexpr auto kInverse = zfp_inverse;
};

// The sums of squares in the lanes and the order that Tiling defines.
struct EnergyLanes {
  std::array<float, Tiling::kLanes> column_dropped{}, row_dropped{}, row_kept{};

  Energy total() const {
    Energy sum;
    for (std::size_t i = 0; i < Tiling::kLanes; ++i) {
      sum.dropped += static_cast<double>(column_dropped[i]);
      sum.dropped += static_cast<double>(row_dropped[i]);
      sum.kept += static_cast<double>(row_kept[i]);
    }
    return sum;
  }
};

float sum_of_squares(const float* values, int count) {
  float sum = square(values[0]);
  for (int v = 1; v < count; ++v) sum += square(values[v]);
  return sum;
}

// One tile of one block row: P rows of `columns` values.
struct Tile {
  const float* input;
  std::size_t width;    // distance of the rows
  std::size_t columns;  // at most Tiling::kColumns
};

template <class T, int K>
void columns_forward(const Tile& tile, float (&t)[K][Tiling::kColumns], EnergyLanes& lanes) {
  constexpr std::size_t P = points_of(T::kTransform);
  for (std::size_t c = 0; c < tile.columns; ++c) {
    float x[P], y[P], dropped = 0;
    for (std::size_t i = 0; i < P; ++i) x[i] = tile.input[i * tile.width + c];
    T::kForward(K, x, y, dropped);
    for (std::size_t u = 0; u < K; ++u) t[u][c] = y[u];
    lanes.column_dropped[c % Tiling::kLanes] += dropped;
  }
}

template <class T, int K>
void columns_inverse(const float (&t)[K][Tiling::kColumns], std::size_t width, std::size_t columns,
                     float* output) {
  constexpr std::size_t P = points_of(T::kTransform);
  for (std::size_t c = 0; c < columns; ++c) {
    float x[P], y[P] = {};
    for (std::size_t u = 0; u < K; ++u) y[u] = t[u][c];
    T::kInverse(K, y, x);
    for (std::size_t i = 0; i < P; ++i) output[i * width + c] = x[i];
  }
}

template <class T, int K>
Energy forward_square(const float* input, std::size_t block_rows, std::size_t width, float* output,
                      NextInput) {
  constexpr std::size_t P = points_of(T::kTransform);
  const std::size_t blocks = width / P;
  const Tiling tiling = tiling_for(width, P, K, true);
  EnergyLanes lanes;
  for (std::size_t b = 0; b < block_rows; ++b) {
    for (std::size_t c = 0; c < width; c += tiling.columns) {
      const std::size_t columns = std::min(tiling.columns, width - c);
      float t[K][Tiling::kColumns];
      columns_forward<T, K>({input + b * P * width + c, width, columns}, t, lanes);
      for (std::size_t u = 0; u < K; ++u) {
        for (std::size_t x = 0; x < columns / P; ++x) {
          float y[P], dropped = 0;
          T::kForward(K, t[u] + x * P, y, dropped);
          std::copy(y, y + K, output + ((b * K + u) * blocks + c / P + x) * K);
          const std::size_t group =
              tiling.columns == width ? (b % tiling.block_rows * K + u) * blocks + x : x;
          lanes.row_dropped[group % Tiling::kLanes] += dropped;
          lanes.row_kept[group % Tiling::kLanes] += sum_of_squares(y, K);
        }
      }
    }
  }
  return T::kOrthonormal ? lanes.total() : Energy{};
}

// K coefficients, which need not be aligned.
template <class T, int K>
void inverse_line(const std::byte* input, float* x) {
  float y[points_of(T::kTransform)] = {};
  std::memcpy(y, input, K * sizeof(float));
  T::kInverse(K, y, x);
}

template <class T, int K>
void inverse_square(const std::byte* input, std::size_t block_rows, std::size_t width,
                    float* output, bool, NextInput) {
  constexpr std::size_t P = points_of(T::kTransform);
  const std::size_t blocks = width / P;
  for (std::size_t b = 0; b < block_rows; ++b) {
    for (std::size_t c = 0; c < width; c += Tiling::kColumns) {
      const std::size_t columns = std::min(Tiling::kColumns, width - c);
      float t[K][Tiling::kColumns];
      for (std::size_t u = 0; u < K; ++u) {
        for (std::size_t x = 0; x < columns / P; ++x) {
          const std::size_t first = ((b * K + u) * blocks + c / P + x) * K;
          inverse_line<T, K>(input + first * sizeof(float), t[u] + x * P);
        }
      }
      columns_inverse<T, K>(t, width, columns, output + b * P * width + c);
    }
  }
}

template <class T, int K>
Energy forward_triangle(const float* input, std::size_t block_rows, std::size_t width,
                        float* output, NextInput) {
  constexpr std::size_t P = points_of(T::kTransform);
  const std::size_t blocks = width / P;
  const Tiling tiling = tiling_for(width, P, K, false);
  EnergyLanes lanes;
  for (std::size_t b = 0; b < block_rows; ++b) {
    for (std::size_t c = 0; c < width; c += tiling.columns) {
      const std::size_t columns = std::min(tiling.columns, width - c);
      float t[K][Tiling::kColumns];
      columns_forward<T, K>({input + b * P * width + c, width, columns}, t, lanes);
      for (std::size_t x = 0; x < columns / P; ++x) {
        float* to = output + (b * blocks + c / P + x) * (K * (K + 1) / 2);
        float dropped = 0, kept = 0;
        for (int u = 0; u < K; ++u) {
          float y[P], row_dropped = 0;
          T::kForward(K - u, t[u] + x * P, y, row_dropped);
          to = std::copy(y, y + (K - u), to);
          dropped += row_dropped;
          kept += sum_of_squares(y, K - u);
        }
        const std::size_t block = tiling.columns == width ? b % tiling.block_rows * blocks + x : x;
        lanes.row_dropped[block % Tiling::kLanes] += dropped;
        lanes.row_kept[block % Tiling::kLanes] += kept;
      }
    }
  }
  return T::kOrthonormal ? lanes.total() : Energy{};
}

template <class T, int K>
void inverse_triangle(const std::byte* input, std::size_t block_rows, std::size_t width,
                      float* output, bool, NextInput) {
  constexpr std::size_t P = points_of(T::kTransform);
  const std::size_t blocks = width / P;
  for (std::size_t b = 0; b < block_rows; ++b) {
    for (std::size_t c = 0; c < width; c += Tiling::kColumns) {
      const std::size_t columns = std::min(Tiling::kColumns, width - c);
      float t[K][Tiling::kColumns];
      for (std::size_t x = 0; x < columns / P; ++x) {
        constexpr std::size_t kValues = K * (K + 1) / 2;
        float y[kValues];
        std::memcpy(y, input + (b * blocks + c / P + x) * sizeof y, sizeof y);
        const float* from = y;
        for (int u = 0; u < K; from += K - u, ++u) T::kInverse(K - u, from, t[u] + x * P);
      }
      columns_inverse<T, K>(t, width, columns, output + b * P * width + c);
    }
  }
}

template <class T, int K>
Energy forward_linear(const float* input, std::size_t, std::size_t width, float* output,
                      NextInput) {
  constexpr std::size_t P = points_of(T::kTransform);
  EnergyLanes lanes;
  for (std::size_t g = 0; g < width / P; ++g) {
    float y[P], dropped = 0;
    T::kForward(K, input + g * P, y, dropped);
    std::copy(y, y + K, output + g * K);
    lanes.row_dropped[g % Tiling::kLanes] += dropped;
    lanes.row_kept[g % Tiling::kLanes] += sum_of_squares(y, K);
  }
  return T::kOrthonormal ? lanes.total() : Energy{};
}

template <class T, int K>
void inverse_linear(const std::byte* input, std::size_t, std::size_t width, float* output, bool,
                    NextInput) {
  constexpr std::size_t P = points_of(T::kTransform);
  for (std::size_t g = 0; g < width / P; ++g) {
    inverse_line<T, K>(input + g * K * sizeof(float), output + g * P);
  }
}

template <class T, int K>
BlockTransform for_layout(Layout layout) {
  switch (layout) {
    case Layout::square:
      return {forward_square<T, K>, inverse_square<T, K>};
    case Layout::triangle:
      return {forward_triangle<T, K>, inverse_triangle<T, K>};
    case Layout::linear:
      break;
  }
  return {forward_linear<T, K>, inverse_linear<T, K>};
}

template <class T, int K = 1>
BlockTransform for_chop_factor(Layout layout, int chop_factor) {
  if constexpr (K < points_of(T::kTransform)) {
    if (chop_factor > K) return for_chop_factor<T, K + 1>(layout, chop_factor);
  }
  return for_layout<T, K>(layout);
}

}  // namespace

BlockTransform reference_block_transform(Transform transform, Layout layout, int chop_factor) {
  return transform == Transform::dct ? for_chop_factor<Dct>(layout, chop_factor)
                                     : for_chop_factor<Zfp>(layout, chop_factor);
}

}  // namespace tensorpress::kernels
