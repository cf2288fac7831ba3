// The one-dimensional transforms on vectors of lanes, each lane its own signal. Per target;
// included by block_transform-inl.h. The order of the operations is part of the .tpz format
// (docs/format.md, codec dct-chop).
#if defined(TENSORPRESS_BUTTERFLIES_INL_H) == defined(HWY_TARGET_TOGGLE)
#  ifdef TENSORPRESS_BUTTERFLIES_INL_H
#    undef TENSORPRESS_BUTTERFLIES_INL_H
#  else
#    define TENSORPRESS_BUTTERFLIES_INL_H
#  endif

#  include <hwy/highway.h>

#  include "kernels/block_transform/constants.h"

#  if TENSORPRESS_SIMD_TARGET
HWY_BEFORE_NAMESPACE();
namespace tensorpress::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// DCT-II on 8 points, orthonormal: the even half by two butterflies and one rotation, the odd half
// as in Loeffler, Ligtenberg and Moschytz (1989) with two rotations.
struct Dct8 {
  static constexpr int kPoints = 8;
  static constexpr bool kOrthonormal = true;

  // y[0..K) from x[0..8). If K < 8, `dropped` becomes the sum of squares of the other coefficients,
  // computed without the ones that are kept, so nothing cancels.
  template <int K, class D, class V = hn::Vec<D>>
  static HWY_INLINE void Forward(D d, const V* HWY_RESTRICT x, V* HWY_RESTRICT y, V& dropped) {
    using namespace hn;
    const V s0 = Add(x[0], x[7]), s1 = Add(x[1], x[6]), s2 = Add(x[2], x[5]), s3 = Add(x[3], x[4]);
    const V d0 = Sub(x[0], x[7]), d1 = Sub(x[1], x[6]), d2 = Sub(x[2], x[5]), d3 = Sub(x[3], x[4]);
    const V a0 = Add(s0, s3), a1 = Add(s1, s2), b0 = Sub(s0, s3), b1 = Sub(s1, s2);
    y[0] = Mul(Add(a0, a1), Set(d, kDctA));
    const V y4 = Mul(Sub(a0, a1), Set(d, kDctA));
    if constexpr (K == 1) {
      const V even = Mul(Add(Square(b0), Square(b1)), Set(d, 0.25f));
      const V odd =
          Mul(Add(Add(Square(d0), Square(d1)), Add(Square(d2), Square(d3))), Set(d, 0.5f));
      dropped = Add(Square(y4), Add(even, odd));
      return;
    }
    const V p = Sub(Mul(d0, Set(d, kDctC3)), Mul(d3, Set(d, kDctC5)));
    const V q = Add(Mul(d0, Set(d, kDctC5)), Mul(d3, Set(d, kDctC3)));
    const V r = Add(Mul(d1, Set(d, kDctC7)), Mul(d2, Set(d, kDctC1)));
    const V t = Sub(Mul(d1, Set(d, kDctC1)), Mul(d2, Set(d, kDctC7)));
    const V m = Add(p, r), n = Add(q, t);
    y[1] = Mul(Add(m, n), Set(d, kSqrtHalf));
    const V y3 = Sub(p, r), y5 = Sub(q, t), y7 = Mul(Sub(m, n), Set(d, kSqrtHalf));
    if constexpr (K == 2) {
      const V even = Mul(Add(Square(b0), Square(b1)), Set(d, 0.25f));
      dropped = Add(Add(Square(y4), even), Add(Square(y3), Add(Square(y5), Square(y7))));
      return;
    }
    if constexpr (K > 2) {
      const V y2 = Add(Mul(b0, Set(d, kDctC2)), Mul(b1, Set(d, kDctC6)));
      const V y6 = Sub(Mul(b0, Set(d, kDctC6)), Mul(b1, Set(d, kDctC2)));
      const V all[8] = {y[0], y[1], y2, y3, y4, y5, y6, y7};
      TENSORPRESS_UNROLL
      for (int v = 2; v < K; ++v) y[v] = all[v];
      if constexpr (K < 8) {
        dropped = Square(all[K]);
        TENSORPRESS_UNROLL
        for (int v = K + 1; v < 8; ++v) dropped = Add(dropped, Square(all[v]));
      }
    }
  }

  // x[0..8) from y[0..K), the others being zero. Which operations disappear depends on K.
  template <int K, class D, class V = hn::Vec<D>>
  static HWY_INLINE void Inverse(D d, const V* HWY_RESTRICT y, V* HWY_RESTRICT x) {
    using namespace hn;
    V e0 = Mul(y[0], Set(d, kDctA)), e1 = e0;
    if constexpr (K > 4) {
      const V y4 = Mul(y[4], Set(d, kDctA));
      e1 = Sub(e0, y4);
      e0 = Add(e0, y4);
    }
    V e2 = e1, e3 = e0;
    if constexpr (K > 2) {
      V u = Mul(y[2], Set(d, kDctC2)), v = Mul(y[2], Set(d, kDctC6));
      if constexpr (K > 6) {
        u = Add(u, Mul(y[6], Set(d, kDctC6)));
        v = Sub(v, Mul(y[6], Set(d, kDctC2)));
      }
      e3 = Sub(e0, u);
      e0 = Add(e0, u);
      e2 = Sub(e1, v);
      e1 = Add(e1, v);
    }
    V o[4];
    InverseOdd<K>(d, y, o);
    const V e[4] = {e0, e1, e2, e3};
    TENSORPRESS_UNROLL
    for (int k = 0; k < 4; ++k) {
      x[k] = K > 1 ? Add(e[k], o[k]) : e[k];
      x[7 - k] = K > 1 ? Sub(e[k], o[k]) : e[k];
    }
  }

 private:
  template <class V>
  static HWY_INLINE V Square(V value) {
    return hn::Mul(value, value);
  }

  template <int K, class D, class V = hn::Vec<D>>
  static HWY_INLINE void InverseOdd(D d, const V* HWY_RESTRICT y, V* HWY_RESTRICT o) {
    using namespace hn;
    if constexpr (K == 1) {
      o[0] = o[1] = o[2] = o[3] = y[0];  // not used
    } else if constexpr (K < 6) {        // at most y1 and y3: direct sums are shorter
      o[0] = Mul(y[1], Set(d, kDctC1));
      o[1] = Mul(y[1], Set(d, kDctC3));
      o[2] = Mul(y[1], Set(d, kDctC5));
      o[3] = Mul(y[1], Set(d, kDctC7));
      if constexpr (K > 3) {
        o[0] = Add(o[0], Mul(y[3], Set(d, kDctC3)));
        o[1] = Sub(o[1], Mul(y[3], Set(d, kDctC7)));
        o[2] = Sub(o[2], Mul(y[3], Set(d, kDctC1)));
        o[3] = Sub(o[3], Mul(y[3], Set(d, kDctC5)));
      }
    } else {  // the forward rotations transposed
      V m = Mul(y[1], Set(d, kSqrtHalf)), n = m;
      if constexpr (K > 7) {
        m = Mul(Add(y[1], y[7]), Set(d, kSqrtHalf));
        n = Mul(Sub(y[1], y[7]), Set(d, kSqrtHalf));
      }
      const V p = Add(m, y[3]), r = Sub(m, y[3]), q = Add(n, y[5]), t = Sub(n, y[5]);
      o[0] = Add(Mul(p, Set(d, kDctC3)), Mul(q, Set(d, kDctC5)));
      o[1] = Add(Mul(r, Set(d, kDctC7)), Mul(t, Set(d, kDctC1)));
      o[2] = Sub(Mul(r, Set(d, kDctC1)), Mul(t, Set(d, kDctC7)));
      o[3] = Sub(Mul(q, Set(d, kDctC3)), Mul(p, Set(d, kDctC5)));
    }
  }
};

// ZFP's transform on four points and its true inverse (Lindstrom 2014):
//          ( 4  4  4  4)                 ( 4  6 -4 -1)
//   1/16 · ( 5  1 -1 -5)          1/4 ·  ( 4  2  4  5)
//          (-4  4  4 -4)                 ( 4 -2  4 -5)
//          (-2  6 -6  2)                 ( 4 -6 -4  1)
struct Zfp4 {
  static constexpr int kPoints = 4;
  static constexpr bool kOrthonormal = false;

  template <int K, class D, class V = hn::Vec<D>>
  static HWY_INLINE void Forward(D d, const V* HWY_RESTRICT x, V* HWY_RESTRICT y, V& /*dropped*/) {
    using namespace hn;
    const V s0 = Add(x[0], x[3]), s1 = Add(x[1], x[2]);
    y[0] = Mul(Add(s0, s1), Set(d, 0.25f));
    if constexpr (K > 1) {
      const V d0 = Sub(x[0], x[3]), d1 = Sub(x[1], x[2]);
      y[1] = Add(Mul(d0, Set(d, 0.3125f)), Mul(d1, Set(d, 0.0625f)));
      if constexpr (K > 3) y[3] = Sub(Mul(d1, Set(d, 0.375f)), Mul(d0, Set(d, 0.125f)));
    }
    if constexpr (K > 2) y[2] = Mul(Sub(s1, s0), Set(d, 0.25f));
  }

  template <int K, class D, class V = hn::Vec<D>>
  static HWY_INLINE void Inverse(D d, const V* HWY_RESTRICT y, V* HWY_RESTRICT x) {
    using namespace hn;
    V e0 = y[0], e1 = y[0];
    if constexpr (K > 2) {
      e0 = Sub(y[0], y[2]);
      e1 = Add(y[0], y[2]);
    }
    if constexpr (K == 1) {
      x[0] = x[1] = x[2] = x[3] = y[0];
    } else {
      V o0 = Mul(y[1], Set(d, 1.5f)), o1 = Mul(y[1], Set(d, 0.5f));
      if constexpr (K > 3) {
        o0 = Sub(o0, Mul(y[3], Set(d, 0.25f)));
        o1 = Add(o1, Mul(y[3], Set(d, 1.25f)));
      }
      x[0] = Add(e0, o0);
      x[3] = Sub(e0, o0);
      x[1] = Add(e1, o1);
      x[2] = Sub(e1, o1);
    }
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace tensorpress::kernels
HWY_AFTER_NAMESPACE();
#  endif

#endif
