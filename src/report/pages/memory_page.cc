#include "report/pages/memory_page.h"

#include <algorithm>

#include "base/text.h"
#include "report/drawing/html.h"
#include "report/drawing/numbers.h"

namespace tensorpress::report {
namespace {

using model::ProfiledActivation;

std::string bytes_text(std::int64_t bytes) {
  return human_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

std::string flops_text(double flops) {
  if (flops <= 0) return "";
  if (flops >= 1e9) return text(rounded(flops / 1e9, 3), " G");
  if (flops >= 1e6) return text(rounded(flops / 1e6, 3), " M");
  return rounded(flops, 3);
}

std::string share(const std::optional<double>& value) {
  return value ? percent(*value) : "";
}

bool any(const MemoryPage& page, std::optional<double> ProfiledActivation::*member) {
  return std::ranges::any_of(
      page.activations, [&](const ProfiledActivation& row) { return (row.*member).has_value(); });
}

/// Columns that nothing was measured for are left out.
Table table_of(const MemoryPage& page) {
  const bool zeros = any(page, &ProfiledActivation::zeros);
  const bool energy = any(page, &ProfiledActivation::dct_energy);
  const bool score = any(page, &ProfiledActivation::score);
  Table table;
  table.columns = {{"activation", "", false, true},
                   {"op", "the operator that makes it", false},
                   {"shape", "", false},
                   {"bytes", "as it is computed", true},
                   {"stored", "while it waits for the backward pass", true},
                   {"as", "how it waits", false, true},
                   {"needed by", "whose backward reads it", false, true},
                   {"lifetime", "positions of the step from its making to its last use", true},
                   {"flops", "to compute it again", true}};
  if (zeros) table.columns.push_back({"zeros", "share of elements that are zero", true});
  if (energy) {
    table.columns.push_back(
        {"DCT energy", "share in the lowest quarter of each 8 x 8 block's coefficients", true});
  }
  if (score) {
    table.columns.push_back({"score", "0...1: what its gradient keeps; 1 is exact", true});
  }
  for (const ProfiledActivation& row : page.activations) {
    std::vector<std::string> cells = {row.name,
                                      row.op,
                                      row.shape,
                                      bytes_text(row.bytes),
                                      bytes_text(row.stored_bytes),
                                      row.storing,
                                      row.needed_by,
                                      text(row.lifetime),
                                      flops_text(row.flops)};
    if (zeros) cells.push_back(share(row.zeros));
    if (energy) cells.push_back(share(row.dct_energy));
    if (score) cells.push_back(row.score ? fixed(*row.score, 3) : "");
    table.rows.push_back(std::move(cells));
  }
  return table;
}

MemoryTimeline timeline_of(const model::StepMemory& memory, const std::string& title) {
  MemoryTimeline timeline{
      .title = title,
      .layers = {"weights", "optimizer state", "inputs", "weight gradients", "saved activations",
                 "working activations", "their gradients", "scratch"}};
  timeline.first_backward = memory.first_backward;
  for (const model::StepPosition& each : memory.positions) {
    timeline.positions.push_back({each.name,
                                  {each.parameters, each.state, each.inputs, each.weight_gradients,
                                   each.saved, each.activations, each.gradients, each.scratch}});
  }
  return timeline;
}

}  // namespace

MemoryPage memory_page(const model::Graph& graph, const model::Profile& profile,
                       const model::StepOptions& options) {
  std::string sizes;
  for (const auto& [symbol, size] : options.lowering.sizes) {
    sizes += text(sizes.empty() ? "" : ", ", symbol, " = ", size);
  }
  const double ratio = static_cast<double>(profile.plain.saved_bytes) /
                       static_cast<double>(std::max<std::int64_t>(profile.memory.saved_bytes, 1));
  MemoryPage page{.title = text("Memory of a training step of ", graph.name)};
  page.facts.push_back(text(
      sizes.empty() ? "" : sizes + ". ", "Predicted from the lines of the emitted step with plan ",
      profile.policy.name, ": peak ", bytes_text(profile.memory.peak_bytes()), " at ",
      profile.memory.positions[profile.memory.peak].name, "; ",
      bytes_text(profile.memory.saved_bytes), " wait between the passes, where autograd keeps ",
      bytes_text(profile.plain.saved_bytes), " (", fixed(ratio, 2), " times)."));
  page.timelines.push_back(timeline_of(profile.memory, text("Plan ", profile.policy.name)));
  if (profile.policy.name != "off") {
    page.timelines.push_back(timeline_of(profile.plain, "Plan off: what autograd keeps"));
    const std::int64_t most = std::max(profile.memory.peak_bytes(), profile.plain.peak_bytes());
    for (MemoryTimeline& each : page.timelines) each.scale_bytes = most;
  }
  page.activations = profile.activations;
  return page;
}

std::string memory_html(const MemoryPage& page) {
  HtmlDocument document(page.title);
  for (const std::string& fact : page.facts) document.paragraph(fact);
  for (const MemoryTimeline& timeline : page.timelines) {
    document.heading(3, timeline.title);
    document.add(figure(timeline_html(timeline),
                        "Each column is one operation. Rest the pointer on it to see what is in "
                        "memory while it runs."));
  }
  document.heading(2, "Activations that wait for the backward pass");
  document.add(html_of(table_of(page)));
  return document.html();
}

std::string memory_text(const MemoryPage& page) {
  const Table table = table_of(page);
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(column.title.size());
  for (const auto& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  const auto add_row = [&](auto&& cell_at) {
    std::string line;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      const std::string cell = cell_at(i);
      const std::string air(widths[i] - cell.size(), ' ');
      line += i == 0 ? "" : "  ";
      line += table.columns[i].number ? air + cell : cell + air;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_row([&](std::size_t i) { return table.columns[i].title; });
  for (const auto& row : table.rows) {
    add_row([&](std::size_t i) { return row[i]; });
  }
  return out;
}

}  // namespace tensorpress::report
