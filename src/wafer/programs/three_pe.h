// CereSZ as its authors mapped it: three neighbours are a pipeline, one for each part of the work.
//
//   [prequantization] --33 words--> [prediction, sign, maximum] --34 words--> [bit planes]
//
// The first word says whether all values hold; of a block that does not, the values themselves are
// passed on and stored.
#pragma once

#include "wafer/programs/coding_pe.h"

namespace tensorpress::wafer::programs {

/// Fills in what compress_on_mesh would; the blocks are in the first PEs' SRAM.
Result<void> compress_in_threes(CodingPlan& plan, const MeshOptions& options, MeshRun& run);

}  // namespace tensorpress::wafer::programs
