// What a person reads on stderr: one line each, "tensorpress: <sentence>".
#pragma once

#include <string>
#include <string_view>

#include "tensorpress/result.h"

namespace tensorpress::cli {

/// Line breaks and other control characters, which may come from hostile file names, are replaced.
std::string printable(std::string_view words);

/// Printable, behind the program's name.
void print_message(std::string_view sentence);

/// The library names fields, as `relative` or `edges_per_node`; here they have flags, as --rel and
/// --edges-per-node.
std::string with_flags(std::string_view words);

/// What the library says about an error, with the flags that are its way out.
std::string sentence_of(const Error& error);

/// An error of the library with the file it is about; errors of the operating system name theirs
/// already.
Error about(const std::string& path, Error error);
template <class T>
Result<T> about(const std::string& path, Result<T> result) {
  if (result.ok()) return result;
  return about(path, std::move(result).error());
}

}  // namespace tensorpress::cli
