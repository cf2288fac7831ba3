#include "wafer/programs/offsets/offset_stages.h"

#include <span>

#include "base/errors.h"

namespace tensorpress::wafer::programs {

MeshLines number_blocks(std::uint32_t width, std::uint32_t height, OffsetOrder order) {
  const bool columns = order == OffsetOrder::column;
  MeshLines lines;
  lines.order = order;
  lines.count = columns ? width : height;
  lines.length = columns ? height : width;
  return lines;
}

Result<MeshLines> route_offsets(Layout& layout, OffsetOrder order, Task first_task, Stage stage) {
  MeshLines lines = number_blocks(layout.width(), layout.height(), order);
  lines.first_task = first_task;
  lines.stage = stage;
  const bool columns = order == OffsetOrder::column;
  TRY(lines.reduce, new_chain_colors(layout, "reduce"));
  TRY(lines.scan, new_chain_colors(layout, "scan"));
  TRY(lines.place, new_chain_colors(layout, "place"));
  const Port along = columns ? Port::south : Port::east;   // away from the head
  const Port across = columns ? Port::east : Port::south;  // to the next line
  for (std::uint32_t line = 0; line < lines.count; ++line) {
    const PeAt head = lines.pe_of(line, 0), tail = lines.pe_of(line, lines.length - 1);
    RETURN_IF_ERROR(route_chain(layout, tail, opposite(along), lines.length, lines.reduce));
    RETURN_IF_ERROR(route_chain(layout, head, along, lines.length, lines.place));
  }
  RETURN_IF_ERROR(route_chain(layout, {0, 0}, across, lines.count, lines.scan));
  return lines;
}

void OffsetStages::begin(Pe& pe, const MeshLines& lines, std::uint32_t length) {
  length_ = length;
  pe.activate(static_cast<Task>(lines.first_task + kReduce));
}

bool OffsetStages::on_task(Pe& pe, const MeshLines& lines, Task task) {
  switch (task - lines.first_task) {
    case kReduce:
      reduce(pe, lines);
      return false;
    case kScan:
      scan(pe, lines);
      return false;
    case kPlace:
      return place(pe, lines);
    default:
      return false;
  }
}

// As in the paper's Figure 11: the far end sends, those between add and pass on, the head keeps.
void OffsetStages::reduce(Pe& pe, const MeshLines& lines) {
  const std::uint32_t place = lines.place_of(pe.at());
  const std::size_t turn = lines.length - 1 - place;  // in the order of the flow
  const auto then = static_cast<Task>(lines.first_task + kScan);
  if (place == 0) {
    sum_ = length_;
    if (lines.length == 1) {
      pe.activate(then);
    } else {
      pe.receive_add(lines.reduce.in(turn), std::span(&sum_, 1), then);
    }
  } else if (turn == 0) {
    pe.send(lines.reduce.out(turn), length_);
    pe.activate(then);
  } else {
    pe.forward_add(lines.reduce.in(turn), lines.reduce.out(turn), std::span(&length_, 1), then);
  }
}

// Heads hand on what stands before them; all others go on to wait for their own.
void OffsetStages::scan(Pe& pe, const MeshLines& lines) {
  const std::uint32_t line = lines.line_of(pe.at()), place = lines.place_of(pe.at());
  const auto then = static_cast<Task>(lines.first_task + kPlace);
  if (place > 0) {
    const bool tail = place + 1 == lines.length;
    if (tail) {
      pe.receive(lines.place.in(place), std::span(&offset_, 1), then);
    } else {
      pe.forward_scan(lines.place.in(place), lines.place.out(place), std::span(&length_, 1),
                      std::span(&offset_, 1), then);
    }
    return;
  }
  if (line == 0) {
    offset_ = 0;
    pe.spend(1, lines.stage);
    if (lines.count > 1) pe.send(lines.scan.out(0), sum_);
    pe.activate(then);
  } else if (line + 1 == lines.count) {
    pe.receive(lines.scan.in(line), std::span(&offset_, 1), then);
  } else {
    pe.forward_scan(lines.scan.in(line), lines.scan.out(line), std::span(&sum_, 1),
                    std::span(&offset_, 1), then);
  }
}

bool OffsetStages::place(Pe& pe, const MeshLines& lines) const {
  if (lines.place_of(pe.at()) == 0) {
    pe.spend(2, lines.stage);  // an addition, and its issue
    if (lines.length > 1) pe.send(lines.place.out(0), offset_ + length_);
  }
  return true;
}

}  // namespace tensorpress::wafer::programs
