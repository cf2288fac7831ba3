// tensorpress hdf5: the HDF5 filter's values for the tools that take them as numbers, and what such
// numbers mean.
#include "command_line/verb.h"

namespace tensorpress::cli {

// In the order of the help text.
#define HDF5_VERBS(verb) verb(hdf5_args) verb(hdf5_decode)

HDF5_VERBS(TENSORPRESS_DECLARE_VERB)

namespace {

constexpr VerbMaker kVerbs[] = {HDF5_VERBS(TENSORPRESS_LIST_VERB)};

}  // namespace

Verb hdf5_verb() {
  return {.name = "hdf5",
          .summary = "values of the HDF5 filter for h5repack and nccopy, and what they mean",
          .examples =
              "  tensorpress hdf5 args --rel 1e-4\n"
              "  tensorpress hdf5 args --abs 0.01 --fill -1e34 --var TEMP\n"
              "  tensorpress hdf5 decode 1,1,2,3539053052,1062232653",
          .verbs = kVerbs};
}

}  // namespace tensorpress::cli
