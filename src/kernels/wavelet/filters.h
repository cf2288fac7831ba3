// The symmetric biorthogonal filter pairs of the wavelet transform: maximally flat pairs whose two
// halves are as alike as their length allows (nearly orthogonal, so that an error in a coefficient
// is about as large in the values). src/training/wavelet_filters.py derives them; 9/7 is the pair
// of Cohen, Daubechies and Feauveau that JPEG 2000 and SPERR use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tensorpress::kernels {

enum class WaveletFilter : std::uint8_t { taps_9_7, taps_13_11, taps_17_11, taps_25_19 };
inline constexpr std::size_t kWaveletFilters = 4;

/// One half of each filter; [0] is the middle. `low` makes averages and `high` differences, whose
/// taps change sign from one to the next. Synthesis uses them the other way round.
template <std::size_t Low, std::size_t High>
struct WaveletTaps {
  static constexpr std::size_t kLow = Low, kHigh = High;
  static constexpr std::size_t kReach = (Low > High ? Low : High) - 1;
  std::array<double, Low> low;
  std::array<double, High> high;
};

template <WaveletFilter filter>
inline constexpr auto kWaveletTaps =
    WaveletTaps<5, 4>{{0.85269867900940341931, 0.37740285561265376411, -0.11062440441842340885,
                       -0.023849465019380001913, 0.037828455506995461393},
                      {0.78848561640566439785, 0.41809227322221220084, -0.040689417609558436724,
                       -0.064538882628938438637}};
template <>
inline constexpr auto kWaveletTaps<WaveletFilter::taps_13_11> =
    WaveletTaps<7, 6>{{0.7672451593927264899, 0.38326926132438284439, -0.068878114190598548534,
                       -0.033475081047796548561, 0.047281752828826580371, 0.003759210316687466375,
                       -0.0084728277413175145857},
                      {0.8328475700934146588, 0.44810859992638517047, -0.069162710120294709037,
                       -0.10873736522437496684, 0.0062923156668611418396, 0.014182155891263558576}};
template <>
inline constexpr auto kWaveletTaps<WaveletFilter::taps_17_11> = WaveletTaps<9, 6>{
    {0.82592299745843962332, 0.42079628460983925932, -0.094059203495761629775,
     -0.077263173167211342143, 0.049732903490937653558, 0.011934565279726731368,
     -0.016990639867607099394, -0.0019142861290808863435, 0.0019088317364850261524},
    {0.7589077294537631342, 0.41784910915032023165, -0.040367979030381903749,
     -0.078722001062668716945, 0.01446750489677409885, 0.014426282505622247498}};
template <>
inline constexpr auto kWaveletTaps<WaveletFilter::taps_25_19> = WaveletTaps<13, 10>{
    {0.76706211565270358942, 0.42351505115674712051, -0.053787208202458763169,
     -0.082682870091785393611, 0.043171646187683118529, 0.016834421612434481223,
     -0.025971450580697795832, -0.0049342327965431202565, 0.0079184379251408642798,
     0.00091149222791602111785, -0.0014190951644441969956, -0.000090471515495346782141,
     0.00011000260169874067875},
    {0.78220806023706261964, 0.43701892891033622227, -0.061237654858083276682,
     -0.11638129409874000598, 0.027335338077184588284, 0.039509846032046163021,
     -0.0042764891121127935161, -0.007357865836244977373, 0.00062816636775393429428,
     0.00076377558587636026418}};

/// How far a filter reads to each side.
constexpr std::size_t wavelet_reach(WaveletFilter filter) {
  switch (filter) {
    case WaveletFilter::taps_9_7:
      return kWaveletTaps<WaveletFilter::taps_9_7>.kReach;
    case WaveletFilter::taps_13_11:
      return kWaveletTaps<WaveletFilter::taps_13_11>.kReach;
    case WaveletFilter::taps_17_11:
      return kWaveletTaps<WaveletFilter::taps_17_11>.kReach;
    default:
      return kWaveletTaps<WaveletFilter::taps_25_19>.kReach;
  }
}
inline constexpr std::size_t kMostWaveletReach = 12;

}  // namespace tensorpress::kernels
