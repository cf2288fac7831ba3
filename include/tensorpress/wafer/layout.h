// Who runs what, and which color goes where: the layout of a program on a rectangle of PEs. Every
// call says at once what is wrong with it; check() looks at what only the whole can show.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensorpress/result.h"
#include "tensorpress/wafer/fabric.h"
#include "tensorpress/wafer/program.h"

namespace tensorpress::wafer {

/// Words that the host streams in over the edge of the wafer, one a cycle from cycle `start` on.
struct EdgeInput {
  PeAt pe;  // at that edge
  Port edge = Port::west;
  Color color = 0;
  std::vector<std::uint32_t> words;
  /// Every so many words, the last one is marked `advance`; 0: none.
  std::uint32_t advance_every = 0;
  std::uint64_t start = 0;
  /// A promise that lets the engine move the words at once: while they go along the row, no other
  /// wavelet uses its links their way or comes to a PE that receives. A run that breaks it fails.
  bool alone = false;
};

class Layout {
 public:
  /// 1x1 to 757x996.
  static Result<Layout> make(std::uint64_t width, std::uint64_t height);

  std::uint32_t width() const { return width_; }
  std::uint32_t height() const { return height_; }
  std::uint64_t pe_count() const { return std::uint64_t{width_} * height_; }

  /// A color that is not in use yet; the error says what uses the 24.
  Result<Color> new_color(std::string name);
  const std::string& color_name(Color color) const { return color_names_[color]; }

  /// One route for each color at each router.
  Result<void> route(PeAt pe, Color color, const Route& route);
  /// For every PE of the rectangle [x0, x1) x [y0, y1).
  Result<void> route(PeAt first, PeAt end, Color color, const Route& route);

  /// Fails when the program's memory does not fit, saying what takes how much.
  Result<void> place(PeAt pe, std::unique_ptr<PeProgram> program);
  PeProgram* program(PeAt pe) { return programs_[index(pe)].get(); }
  const PeProgram* program(PeAt pe) const { return programs_[index(pe)].get(); }
  /// The bytes that the largest of the placed programs takes.
  std::size_t largest_memory() const { return largest_memory_; }

  Result<void> edge_input(EdgeInput input);
  /// Wavelets of `color` may leave over the wafer's edge; the host takes one a cycle. `alone` is
  /// a promise that PEs send nothing else from then on and that nothing else uses their links.
  Result<void> edge_output(Color color, bool alone = false);

  Result<void> stage_name(Stage stage, std::string name);
  const std::string& stage_name(Stage stage) const { return stage_names_[stage]; }

  /// Every wavelet that a router may send on is taken next door, and no color runs in a circle.
  Result<void> check() const;

  // For the engine.
  std::size_t index(PeAt pe) const { return std::size_t{pe.y} * width_ + pe.x; }
  bool inside(PeAt pe) const { return pe.x < width_ && pe.y < height_; }
  const Route* route_at(std::size_t pe, Color color) const;
  std::span<const EdgeInput> edge_inputs() const { return edge_inputs_; }
  bool is_edge_output(Color color) const { return (edge_outputs_ >> color & 1u) != 0; }
  bool is_alone(Color color) const { return (alone_ >> color & 1u) != 0; }
  std::uint32_t used_colors() const { return used_colors_; }
  /// What stands behind port `port` of `pe`; false at the edge.
  bool neighbour(PeAt pe, Port port, PeAt& beside) const;

 private:
  Layout(std::uint32_t width, std::uint32_t height);
  Result<void> check_circles(Color color) const;

  std::uint32_t width_;
  std::uint32_t height_;
  std::uint32_t used_colors_ = 0;
  std::uint32_t edge_outputs_ = 0;
  std::uint32_t alone_ = 0;
  std::array<std::string, kColors> color_names_;
  std::array<std::string, kStages> stage_names_;
  std::vector<Route> routes_;                              // the different ones
  std::array<std::vector<std::uint16_t>, kColors> where_;  // by color, by PE: 0 or index + 1
  std::vector<std::unique_ptr<PeProgram>> programs_;
  std::vector<EdgeInput> edge_inputs_;
  std::size_t largest_memory_ = 0;
};

}  // namespace tensorpress::wafer
