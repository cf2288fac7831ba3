// From statements to the graph: blocks are expanded, repetitions unrolled, names and types
// resolved.
#pragma once

#include <string>

#include "model/graph/graph.h"
#include "model/text/syntax.h"

namespace tensorpress::model {

/// The graph of a text; every mistake is an error that shows its line.
Result<Graph> elaborate(const SourceText& source);

/// The same from a file; its name stands in the messages.
Result<Graph> read_model(const std::string& path);

}  // namespace tensorpress::model
