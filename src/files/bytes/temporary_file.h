// A file that vanishes unless it is given a name. Where the file system allows (O_TMPFILE) it has
// no name at all until then, so that even a killed process leaves nothing behind; elsewhere it has
// a random hidden name, removed by the destructor.
#pragma once

#include <sys/types.h>

#include <string>

#include "files/bytes/file_descriptor.h"

namespace tensorpress::files {

class TemporaryFile {
 public:
  enum class Kind { nameless_if_possible, named };

  /// In an existing directory ("" is the current one); `mode` is subject to the umask.
  static Result<TemporaryFile> create(const std::string& directory, mode_t mode,
                                      Kind kind = Kind::nameless_if_possible);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&& other) noexcept = default;
  TemporaryFile& operator=(TemporaryFile&& other) = delete;
  ~TemporaryFile();

  const FileDescriptor& descriptor() const { return file_; }
  /// Inside its directory; "" when it has none.
  const std::string& name() const { return name_; }
  /// Syncs the file and puts it in place of `name` in its directory, in one step for every program
  /// that looks. To be called once.
  Result<void> rename_to(const std::string& name);
  /// Gives it a random name in its directory, if it has none.
  Result<void> appear();
  /// Gives up the name for good: the file lives as long as the descriptor.
  FileDescriptor take_nameless() &&;

 private:
  TemporaryFile(FileDescriptor directory, FileDescriptor file, std::string name)
      : directory_(std::move(directory)), file_(std::move(file)), name_(std::move(name)) {}
  Result<void> give_random_name();
  Result<void> sync_directory() const;

  FileDescriptor directory_;
  FileDescriptor file_;
  std::string name_;  // "" when it has none
};

/// A nameless file in TMPDIR (or /tmp) for data that must be seen in another order than it comes.
/// The error says how much room is needed: `bytes`.
Result<FileDescriptor> create_spool(std::uint64_t bytes);
/// The same as a file that can be given a name: it vanishes with the object.
Result<TemporaryFile> create_spool_file(std::uint64_t bytes);
/// Where they are: TMPDIR or /tmp.
std::string spool_directory();
/// "a temporary file in '/tmp'", for messages about it.
std::string spool_name();
/// Writes to a spool; the error says what to do.
Result<void> write_spool(const FileDescriptor& spool, std::uint64_t offset,
                         std::span<const std::byte> bytes);

}  // namespace tensorpress::files
