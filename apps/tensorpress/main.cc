// The tensorpress program: the list of its verbs.
#include "command_line/program.h"

namespace tensorpress::cli {

// In the order of the help text.
#define TENSORPRESS_VERBS(verb)                                                                 \
  verb(compress) verb(decompress) verb(info) verb(verify) verb(test) verb(bench) verb(codebook) \
      verb(hdf5) verb(model) verb(device) verb(wafer) verb(demo) verb(reproduce) verb(zfp)      \
          verb(sz3)

TENSORPRESS_VERBS(TENSORPRESS_DECLARE_VERB)

namespace {

constexpr VerbMaker kVerbs[] = {TENSORPRESS_VERBS(TENSORPRESS_LIST_VERB)};

}  // namespace
}  // namespace tensorpress::cli

int main(int argc, char** argv) {
  return tensorpress::cli::run_program(
      {.name = "tensorpress",
       .summary = "Compresses tensors with a stated error.",
       .footer =
           "`tensorpress help VERB` explains a verb, `tensorpress version` prints the version. "
           "`-` as a file is a\npipe. Shapes are in NumPy order. Status: 0 fine, 1 a check "
           "failed, 2 bad usage or bad input.",
       .verbs = tensorpress::cli::kVerbs},
      argc, argv);
}
