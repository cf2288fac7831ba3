// What a training step keeps in memory, for people: the timeline and a table of the activations
// that wait for the backward pass, as a page and as text.
#pragma once

#include <string>
#include <vector>

#include "model/memory/profile.h"
#include "report/drawing/memory_timeline.h"

namespace tensorpress::report {

struct MemoryPage {
  std::string title;
  std::vector<std::string> facts = {};  // a paragraph each
  std::vector<MemoryTimeline> timelines = {};
  std::vector<model::ProfiledActivation> activations = {};
};

MemoryPage memory_page(const model::Graph& graph, const model::Profile& profile,
                       const model::StepOptions& options);

std::string memory_html(const MemoryPage& page);
/// The table alone, with its columns padded.
std::string memory_text(const MemoryPage& page);

}  // namespace tensorpress::report
