#include "files/bytes/text_files.h"

#include <span>

#include "base/errors.h"
#include "files/bytes/byte_files.h"

namespace tensorpress::files {

Result<std::string> read_text(const std::string& path, std::uint64_t most, std::string_view what) {
  if (path == "-") return bad_argument(what, " is read from a file, not from standard input");
  TRY(const auto file, open_bytes(path));
  if (file->size() > most) {
    return too_large(path, " has ", file->size(), " bytes; ", what, " has at most ", most);
  }
  std::string content(static_cast<std::size_t>(file->size()), '\0');
  RETURN_IF_ERROR(file->read_at(0, std::as_writable_bytes(std::span(content))));
  return content;
}

Result<void> write_text(const std::string& path, std::string_view content) {
  TRY(const auto file, AtomicFile::create(path));
  RETURN_IF_ERROR(file->append(std::as_bytes(std::span(content))));
  return file->finish();
}

}  // namespace tensorpress::files
