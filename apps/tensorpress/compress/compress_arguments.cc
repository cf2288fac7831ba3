#include "compress_arguments.h"

#include "base/errors.h"

namespace tensorpress::cli {

void CompressArguments::declare(Arguments& arguments) {
  arguments
      .option("IN", inputs,
              ".npy, raw, NetCDF or HDF5 files to compress; - is standard input. A raw file may "
              "say its shape and type in its name: field_20x180x360.f32")
      .required()
      .shown_as("...");
  arguments
      .option("-o,--output", output,
              "output file, or a directory (DIR/), which several inputs need; - is standard "
              "output; .nc or .h5: a copy of the whole NetCDF or HDF5 file with its "
              "floating-point variables compressed")
      .shown_as("OUT (IN with .tpz)");
  force.declare(arguments);
  arguments
      .option("--var", variables,
              "variable of a NetCDF or HDF5 file (GROUP/NAME); may be repeated; '*' is all data")
      .shown_as("NAME")
      .one_at_a_time();
  bound.declare_per_variable(arguments);
  codec.declare(arguments);
  raw.declare(arguments);
  arguments
      .flag("--from-here", from_here,
            "of values that were compressed before: the bound counts from the values as they "
            "are now; what was lost before is added to the history")
      .group(kBoundGroup);
  threads.declare(arguments);
  arguments
      .option("--device", device,
              "compress on a device that `tensorpress info` lists, opencl or opencl:N; the stream "
              "is the same, and the tensor has to fit into the host's memory")
      .shown_as("NAME");
  stream.declare(arguments);
  arguments.flag("--verify", verify,
                 "read the result back and compare, as `tensorpress verify` does");
}

files::EarlierLoss CompressArguments::earlier_loss() const {
  return {.from_here = from_here, .from_here_name = "--from-here"};
}

Result<CompressOptions> CompressArguments::write_options(CompressOptions asked) const {
  asked.threads = threads.threads();
  RETURN_IF_ERROR(stream.apply_to(asked));
  return asked;
}

Result<CompressOptions> CompressArguments::write_options() const {
  TRY(auto asked, bound.options_for_all());
  return write_options(std::move(asked));
}

}  // namespace tensorpress::cli
