// tensorpress-mpi: compress and decompress by many processes. Run by mpirun; alone it is one rank.
#include <mpi.h>

#include "command_line/program.h"
#include "crew.h"

namespace tensorpress::mpi {

using cli::Verb;

#define MPI_VERBS(verb) verb(compress) verb(decompress)

MPI_VERBS(TENSORPRESS_DECLARE_VERB)

namespace {

constexpr cli::VerbMaker kVerbs[] = {MPI_VERBS(TENSORPRESS_LIST_VERB)};

}  // namespace
}  // namespace tensorpress::mpi

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const int status = tensorpress::cli::run_program(
      {.name = "tensorpress-mpi",
       .summary = "Compresses tensors with many processes; writes the same bytes as tensorpress.",
       .footer =
           "  mpirun -n 4 tensorpress-mpi compress big.raw --shape 512x1024x1024 --dtype f32 "
           "--rel 1e-4\n"
           "`tensorpress-mpi VERB --help` explains a verb. Files only: every rank reads and writes "
           "its part.\nStatus: 0 fine, 2 bad usage or bad input.",
       .verbs = tensorpress::mpi::kVerbs,
       .silent = !tensorpress::mpi::Crew().is_first()},
      argc, argv);
  MPI_Finalize();
  return status;
}
