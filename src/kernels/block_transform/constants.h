// Constants of the 8-point DCT as literals, so that no math library has a say: A = 1/sqrt(8), Cn =
// cos(n pi / 16) / 2.
#pragma once

namespace tensorpress::kernels {

inline constexpr float kDctA = 0.353553390593273762f;
inline constexpr float kDctC1 = 0.490392640201615225f;
inline constexpr float kDctC2 = 0.461939766255643378f;
inline constexpr float kDctC3 = 0.415734806151272618f;
inline constexpr float kDctC5 = 0.277785116509801112f;
inline constexpr float kDctC6 = 0.191341716182544886f;
inline constexpr float kDctC7 = 0.0975451610080641339f;
inline constexpr float kSqrtHalf = 0.707106781186547524f;

}  // namespace tensorpress::kernels
