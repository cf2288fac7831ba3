// Names in emitted Python: which words its variables cannot be called, and open dimensions whose
// names are such words (B and S are what many people call batch and sequence).
#pragma once

#include <string_view>
#include <vector>

#include "model/graph.h"

namespace tensorpress::model {

/// Keywords, what the two passes call, and the functions that emitted files may begin with.
std::vector<std::string_view> reserved_names();

/// The graph with symbols that can be variables: those that are reserved get an underscore, in
/// `sizes` too.
Graph with_python_symbols(Graph graph, Sizes& sizes);

}  // namespace tensorpress::model
