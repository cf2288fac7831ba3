// A codebook of ceresz2 as a JSON file:
//   {"codec": "ceresz2", "symbols": 2000, "first_symbol": -1000, "lengths": [...], "made_with":
//   "..."}
#pragma once

#include <string>

#include "codecs/ceresz2/codebook.h"
#include "tensorpress/result.h"

namespace tensorpress::files {

/// `made_with` says how it came about: the command line.
Result<void> write_codebook(const std::string& path, const ceresz2::Codebook& book,
                            const std::string& made_with);

struct CodebookFile {
  ceresz2::Codebook book;
  std::string made_with;
};

/// Errors name the file and what is wrong with it.
Result<CodebookFile> read_codebook(const std::string& path);

}  // namespace tensorpress::files
