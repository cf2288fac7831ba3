// CereSZ as its authors mapped it: three neighbours are a pipeline, one for each part of the work.
//
//   west edge -> words in, past the two others ----------------------------+
//                                                                          v
//   [bit planes] <--34 words-- [prediction, sign, maximum] <--34 words-- [prequantization]
//        +--> words out, to the east edge
//
// What does not depend on the planes is divided evenly between the first two. The first words say
// the width and whether all values hold; of a block that does not, the values themselves are passed
// on and stored. The pipeline runs westwards, because links to the east carry other pipelines'
// words while it works.
#pragma once

#include "wafer/programs/coding/coding_pe.h"

namespace tensorpress::wafer::programs {

/// Fills in the rest of `run`; nothing if its words were not alone (engine::run_if_alone).
Result<std::optional<MeshRun>> compress_in_threes(CodingJob& job, const MeshOptions& options,
                                                  const RunOptions& run_options, MeshRun run);

}  // namespace tensorpress::wafer::programs
