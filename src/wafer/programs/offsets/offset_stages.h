// Spatial-aware offset computation (CereSZ-II, Section VI-B, Figure 10): what stands before each
// PE's words when those of all PEs are put one after the other, without any shared memory.
//
//   column-major (row-major is the same with x and y exchanged):
//
//     1 reduce each column up      2 scan the first row        3 scan each column down
//        ^   ^   ^                    22 --> 40 --> 52            |   |   |
//        |   |   |                                                v   v   v
//
// A line is a column (or row), its head the PE in the first row (or column). OffsetStages is the
// part of a PE's program that does it; six colors, two for each stage.
#pragma once

#include <cstdint>

#include "tensorpress/wafer/wafer.h"
#include "wafer/programs/coding/chain.h"
#include "wafer/programs/inspect.h"

namespace tensorpress::wafer::programs {

enum class OffsetOrder : std::uint8_t { column, row };

/// How where the words go is found out: on the mesh as the paper does it, by look-back, or by the
/// host, to which it is then left.
enum class OffsetsBy : std::uint8_t { mesh, look_back, host };

/// The paper's rule: columns unless the mesh is higher than wide.
inline OffsetOrder choose_order(std::uint32_t width, std::uint32_t height) {
  return height > width ? OffsetOrder::row : OffsetOrder::column;
}

/// The lines of a mesh, and the colors between their PEs; one for all PEs.
struct MeshLines {
  OffsetOrder order = OffsetOrder::column;
  std::uint32_t count = 1;
  std::uint32_t length = 1;  // of each, in PEs
  ChainColors reduce, scan, place;
  Stage stage = 0;      // what the work is counted for
  Task first_task = 0;  // three from here on

  std::uint32_t line_of(PeAt pe) const { return order == OffsetOrder::column ? pe.x : pe.y; }
  std::uint32_t place_of(PeAt pe) const { return order == OffsetOrder::column ? pe.y : pe.x; }
  PeAt pe_of(std::uint32_t line, std::uint32_t along) const {
    return order == OffsetOrder::column ? PeAt{line, along} : PeAt{along, line};
  }
  /// Consecutive blocks go down a line, then on to the next line.
  std::uint64_t number_of(PeAt pe) const {
    return std::uint64_t{line_of(pe)} * length + place_of(pe);
  }
};

/// The numbers alone, without colors.
MeshLines number_blocks(std::uint32_t width, std::uint32_t height, OffsetOrder order);

/// Takes six colors and routes them over the whole mesh.
Result<MeshLines> route_offsets(Layout& layout, OffsetOrder order, Task first_task, Stage stage);

class OffsetStages {
 public:
  /// Begins in the running task; the program hands tasks of the lines to on_task.
  void begin(Pe& pe, const MeshLines& lines, std::uint32_t length);
  /// True when the PE's offset is known and everything is sent on.
  bool on_task(Pe& pe, const MeshLines& lines, Task task);

  std::uint32_t length() const { return length_; }
  std::uint32_t offset() const { return offset_; }

 private:
  enum : Task { kReduce, kScan, kPlace };
  void reduce(Pe& pe, const MeshLines& lines);
  void scan(Pe& pe, const MeshLines& lines);
  bool place(Pe& pe, const MeshLines& lines) const;

  std::uint32_t length_ = 0;
  std::uint32_t sum_ = 0;  // of the line, in its head
  std::uint32_t offset_ = 0;
};

}  // namespace tensorpress::wafer::programs
