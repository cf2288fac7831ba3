// What a training step keeps in memory, for people: the timeline and a table of the activations
// that wait for the backward pass, as a page and as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/drawing/memory_timeline.h"

namespace tensorpress::report {

struct ActivationRow {
  std::string name;
  std::string op = {};     // that makes it
  std::string shape = {};  // "f32[N, 64, 32, 32]"
  std::int64_t bytes = 0;
  std::int64_t stored_bytes = 0;          // while it waits
  std::string storing = {};               // "keep", "quantize 4"
  std::string needed_by = {};             // whose backward reads it
  std::size_t lifetime = 0;               // positions of the step
  double flops = 0;                       // to compute it again
  std::optional<double> zeros = {};       // share of elements that are zero
  std::optional<double> dct_energy = {};  // share that the lowest quarter of coefficients holds
  std::optional<double> score = {};
};

struct MemoryPage {
  std::string title;
  std::vector<std::string> facts = {};  // a paragraph each
  std::vector<MemoryTimeline> timelines = {};
  std::vector<ActivationRow> activations = {};
};

std::string memory_html(const MemoryPage& page);
/// The table alone, with its columns padded.
std::string memory_text(const MemoryPage& page);

}  // namespace tensorpress::report
