// The tensorpress program: the list of its verbs.
#include <array>

#include "command_line/program.h"

namespace tensorpress::cli {

Verb bench_verb(), codebook_verb(), compress_verb(), decompress_verb(), demo_verb(), device_verb(),
    hdf5_verb(), info_verb(), model_verb(), reproduce_verb(), sz3_verb(), test_verb(),
    verify_verb(), wafer_verb(), zfp_verb();

namespace {

// In the order of the help text.
constexpr std::array kVerbs = {
    compress_verb, decompress_verb, info_verb,      verify_verb, test_verb,
    bench_verb,    codebook_verb,   hdf5_verb,      model_verb,  device_verb,
    wafer_verb,    demo_verb,       reproduce_verb, zfp_verb,    sz3_verb,
};

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
