#include "files/tensor/parameter_file.h"

#include "base/errors.h"
#include "files/tensor/codebook_file.h"

namespace tensorpress::files {
namespace {

constexpr ParameterFileKind kCodebook = {
    .contents = "codebook",
    .ending = ".json",
    .read = [](const std::string& path) -> Result<std::string> {
      TRY(const CodebookFile file, read_codebook(path));
      return file.book.to_text();
    }};

}  // namespace

const ParameterFileKind* kind_of(ParameterFile file) {
  switch (file) {
    case ParameterFile::none:
      return nullptr;
    case ParameterFile::codebook:
      return &kCodebook;
  }
  return nullptr;
}

}  // namespace tensorpress::files
