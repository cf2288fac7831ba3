// Names in emitted Python: which words its variables and modules cannot be called, open dimensions
// whose names are such words (B and S are what many people call batch and sequence), and names of
// files in its comments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/graph/graph.h"

namespace tensorpress::model {

/// Keywords, what the two passes call, and the functions that emitted files may begin with.
std::vector<std::string_view> reserved_names();

/// A file of this name with .py behind it can be imported, and is not the one that it imports.
bool is_module_name(std::string_view name);

/// Words from outside, such as names of files, for a comment or a string: they end neither, and a
/// string shows them as they were.
std::string escaped_for_python(std::string_view words);

/// The graph with symbols that can be variables: those that are reserved get an underscore, in
/// `sizes` too.
Graph with_python_symbols(Graph graph, Sizes& sizes);

}  // namespace tensorpress::model
