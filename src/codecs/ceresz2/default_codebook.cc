// The codebook that ships with the library, from seven data sets that no figure is reported on.
// Made with (one line)
//
//   tensorpress codebook build --codec ceresz2 odd2d.npy lena.npy
//     combustor_mx.npy,combustor_rho.npy hacc_x.npy,hacc_y.npy md_adk_x.npy
//     $(ls esku_heat_budget_*.npy | paste -sd,)
//     monthly_navy_winds_UWND.npy,monthly_navy_winds_VWND.npy
//     --rel 1e-4 --fill 1e34 --fill -99.9 --text
//
// of the SPERR test fields (odd2d, lena), VTK's annular combustor, HACC positions, the MDAnalysis
// trajectory of adenylate kinase, and the variables of two files of Debian's
// ferret-datasets, each saved as .npy.
#include "codecs/ceresz2/codebook.h"

namespace tensorpress::ceresz2 {

const std::string_view kDefaultCodebookText =
    "R10Q126P226O159N137M91L68K23J68I46H38G7FCF2G7H37I46J68K23L68M91N22MN114O159P228Q125R8";

}  // namespace tensorpress::ceresz2
