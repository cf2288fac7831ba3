// Byte streams in files and pipes, and files that appear whole or not at all.
#pragma once

#include <memory>
#include <string>

#include "tensorpress/streaming.h"

namespace tensorpress::files {

/// A file for reading at any position. Directories, missing files and pipes are errors with their
/// reason.
Result<std::unique_ptr<ByteSource>> open_bytes(const std::string& path);
/// Standard input.
std::unique_ptr<ByteInput> standard_input();

/// A file that appears under its name only when `finish` has synced and renamed it; otherwise no
/// trace is left.
class AtomicFile : public ByteSink {
 public:
  /// "-" is standard output, which cannot be atomic. A file made from one input file gets the
  /// permissions, times and (as far as this user may give it away) owner of that file, `made_from`,
  /// and no other user can read it before it is finished. Without: those of the file it replaces,
  /// or the usual ones; so too when `made_from` is no regular file.
  static Result<std::unique_ptr<AtomicFile>> create(const std::string& path,
                                                    const std::string& made_from = {});
  /// False for standard output, pipes and devices, which are written in order and directly.
  virtual bool can_write_at() const = 0;
  virtual Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual Result<void> finish() = 0;
};

/// A file that others write: several processes together, or another library. It is created
/// here, they open it by the path of the temporary file, and it appears under its own name only
/// when `finish` is called after all of them are done. Otherwise no trace is left.
class SharedFile {
 public:
  virtual ~SharedFile() = default;
  /// `made_from` as of AtomicFile.
  static Result<std::unique_ptr<SharedFile>> create(const std::string& path,
                                                    const std::string& made_from = {});
  virtual const std::string& temporary_path() const = 0;
  virtual Result<void> finish() = 0;
};

}  // namespace tensorpress::files
