#include "in_step.h"

#include <mpi.h>

#include <exception>
#include <filesystem>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/reports/messages.h"

namespace tensorpress::mpi {

Result<cli::Report> in_step(const std::function<Result<cli::Report>()>& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    cli::print_message(text("internal error: ", error.what()));
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(cli::ExitStatus::bad_input));
  }
  return internal_error("the job was ended");
}

Result<void> check_files(const std::string& input, const std::string& output,
                         const cli::ForceOption& force) {
  if (cli::is_pipe(input) || cli::is_pipe(output)) {
    return bad_argument(
        "many processes cannot share a pipe; name files, or use tensorpress without -mpi");
  }
  std::error_code ignored;  // what cannot be looked at is an error when it is opened
  const auto status = std::filesystem::status(input, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_directory(status) &&
      !std::filesystem::is_regular_file(status)) {
    return bad_argument(input,
                        " is a pipe or a device, which many processes cannot share; name a file");
  }
  return force.check({input}, output);
}

}  // namespace tensorpress::mpi
