#include "shared_output.h"

#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>

#include "files/bytes/byte_files.h"
#include "files/bytes/file_descriptor.h"

namespace tensorpress::mpi {
namespace {

// MPI counts in int.
constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

// When a rank dies, mpirun ends the others by SIGTERM. Each rank that gets the signal removes the
// temporary file.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a signal handler has no
// other.
char path_to_remove[4096];

void remove_and_end(int signal) {
  ::unlink(path_to_remove);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void remove_on_signals(const std::string& path) {
  if (path.size() >= sizeof path_to_remove) return;
  std::memcpy(path_to_remove, path.c_str(), path.size() + 1);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, remove_and_end);
}

void keep_on_signals() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, SIG_DFL);
}

std::string in_words(int error) {
  char words[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, words, &length);
  return {words, static_cast<std::size_t>(length)};
}

}  // namespace

struct SharedOutput::State {
  std::unique_ptr<files::SharedFile> file;  // of the first rank
  std::string temporary_path;
  MPI_File handle = MPI_FILE_NULL;

  // Called by all ranks.
  int close() { return handle == MPI_FILE_NULL ? MPI_SUCCESS : MPI_File_close(&handle); }
};

SharedOutput::SharedOutput(const Crew& crew, std::string name, std::unique_ptr<State> state)
    : crew_(crew), name_(std::move(name)), state_(std::move(state)) {}

// A rank that unwinds without the others must not wait for them: its exception ends the job.
SharedOutput::~SharedOutput() {
  if (std::uncaught_exceptions() == 0) state_->close();
  state_->file.reset();
  keep_on_signals();
}

Result<std::unique_ptr<SharedOutput>> SharedOutput::create(const Crew& crew,
                                                           const std::string& path,
                                                           const std::string& made_from) {
  auto state = std::make_unique<State>();
  RETURN_IF_ERROR(crew.first_alone([&]() -> Result<void> {
    TRY(state->file, files::SharedFile::create(path, made_from));
    state->temporary_path = state->file->temporary_path();
    return {};
  }));
  state->temporary_path = crew.from_first(state->temporary_path);
  remove_on_signals(state->temporary_path);
  std::unique_ptr<SharedOutput> output(
      new SharedOutput(crew, files::output_name(path), std::move(state)));
  const int status = MPI_File_open(MPI_COMM_WORLD, output->state_->temporary_path.c_str(),
                                   MPI_MODE_WRONLY, MPI_INFO_NULL, &output->state_->handle);
  RETURN_IF_ERROR(crew.agree(status == MPI_SUCCESS
                                 ? Result<void>()
                                 : io_error("cannot write ", output->name_, " on rank ",
                                            crew.rank(), ": ", in_words(status))));
  return output;
}

// Not MPI_File_write_at_all: Open MPI 4.1 reports success from it when the disk was full.
Result<void> SharedOutput::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), kPieceBytes));
    MPI_Status status;
    const int done =
        MPI_File_write_at(state_->handle, static_cast<MPI_Offset>(offset), piece.data(),
                          static_cast<int>(piece.size()), MPI_BYTE, &status);
    int written = 0;
    if (done == MPI_SUCCESS) MPI_Get_count(&status, MPI_BYTE, &written);
    if (done != MPI_SUCCESS || written != static_cast<int>(piece.size())) {
      return io_error(
          "cannot write ", name_, " on rank ", crew_.rank(), ": ",
          done != MPI_SUCCESS ? in_words(done) : "the file takes no more bytes; is the disk full?");
    }
    offset += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  return {};
}

Result<void> SharedOutput::finish(std::uint64_t total_bytes) {
  const int synced = MPI_File_sync(state_->handle);
  const int closed = state_->close();
  const int status = synced != MPI_SUCCESS ? synced : closed;
  RETURN_IF_ERROR(crew_.agree(
      status == MPI_SUCCESS
          ? Result<void>()
          : io_error("cannot write ", name_, " on rank ", crew_.rank(), ": ", in_words(status))));
  return crew_.first_alone([&]() -> Result<void> {
    struct stat found {};
    if (::stat(state_->temporary_path.c_str(), &found) != 0) {
      return files::while_doing(text("cannot write ", name_), files::last_error());
    }
    if (static_cast<std::uint64_t>(found.st_size) != total_bytes) {
      return io_error("cannot write ", name_, ": it has ", found.st_size, " bytes instead of ",
                      total_bytes, "; is the disk full?");
    }
    return state_->file->finish();
  });
}

}  // namespace tensorpress::mpi
