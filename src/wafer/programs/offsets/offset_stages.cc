#include "wafer/programs/offsets/offset_stages.h"

#include <span>

#include "base/errors.h"

namespace tensorpress::wafer::programs {

OffsetPlan number_blocks(std::uint32_t width, std::uint32_t height, OffsetOrder order) {
  const bool columns = order == OffsetOrder::column;
  OffsetPlan plan;
  plan.order = order;
  plan.lines = columns ? width : height;
  plan.line_length = columns ? height : width;
  return plan;
}

Result<OffsetPlan> plan_offsets(Layout& layout, OffsetOrder order, Task first_task, Stage stage) {
  OffsetPlan plan = number_blocks(layout.width(), layout.height(), order);
  plan.first_task = first_task;
  plan.stage = stage;
  const bool columns = order == OffsetOrder::column;
  TRY(plan.reduce, new_chain_colors(layout, "reduce"));
  TRY(plan.scan, new_chain_colors(layout, "scan"));
  TRY(plan.place, new_chain_colors(layout, "place"));
  const Port along = columns ? Port::south : Port::east;   // away from the head
  const Port across = columns ? Port::east : Port::south;  // to the next line
  for (std::uint32_t line = 0; line < plan.lines; ++line) {
    const PeAt head = plan.pe_of(line, 0), tail = plan.pe_of(line, plan.line_length - 1);
    RETURN_IF_ERROR(route_chain(layout, tail, opposite(along), plan.line_length, plan.reduce));
    RETURN_IF_ERROR(route_chain(layout, head, along, plan.line_length, plan.place));
  }
  RETURN_IF_ERROR(route_chain(layout, {0, 0}, across, plan.lines, plan.scan));
  return plan;
}

void OffsetStages::begin(Pe& pe, const OffsetPlan& plan, std::uint32_t length) {
  length_ = length;
  pe.activate(static_cast<Task>(plan.first_task + kReduce));
}

bool OffsetStages::on_task(Pe& pe, const OffsetPlan& plan, Task task) {
  switch (task - plan.first_task) {
    case kReduce:
      reduce(pe, plan);
      return false;
    case kScan:
      scan(pe, plan);
      return false;
    case kPlace:
      return place(pe, plan);
    default:
      return false;
  }
}

// As in the paper's Figure 11: the far end sends, those between add and pass on, the head keeps.
void OffsetStages::reduce(Pe& pe, const OffsetPlan& plan) {
  const std::uint32_t place = plan.place_of(pe.at());
  const std::size_t turn = plan.line_length - 1 - place;  // in the order of the flow
  const auto then = static_cast<Task>(plan.first_task + kScan);
  if (place == 0) {
    sum_ = length_;
    if (plan.line_length == 1) {
      pe.activate(then);
    } else {
      pe.receive_add(plan.reduce.in(turn), std::span(&sum_, 1), then);
    }
  } else if (turn == 0) {
    pe.send(plan.reduce.out(turn), length_);
    pe.activate(then);
  } else {
    pe.forward_add(plan.reduce.in(turn), plan.reduce.out(turn), std::span(&length_, 1), then);
  }
}

// Heads hand on what stands before them; all others go on to wait for their own.
void OffsetStages::scan(Pe& pe, const OffsetPlan& plan) {
  const std::uint32_t line = plan.line_of(pe.at()), place = plan.place_of(pe.at());
  const auto then = static_cast<Task>(plan.first_task + kPlace);
  if (place > 0) {
    const bool tail = place + 1 == plan.line_length;
    if (tail) {
      pe.receive(plan.place.in(place), std::span(&offset_, 1), then);
    } else {
      pe.forward_scan(plan.place.in(place), plan.place.out(place), std::span(&length_, 1),
                      std::span(&offset_, 1), then);
    }
    return;
  }
  if (line == 0) {
    offset_ = 0;
    pe.spend(1, plan.stage);
    if (plan.lines > 1) pe.send(plan.scan.out(0), sum_);
    pe.activate(then);
  } else if (line + 1 == plan.lines) {
    pe.receive(plan.scan.in(line), std::span(&offset_, 1), then);
  } else {
    pe.forward_scan(plan.scan.in(line), plan.scan.out(line), std::span(&sum_, 1),
                    std::span(&offset_, 1), then);
  }
}

bool OffsetStages::place(Pe& pe, const OffsetPlan& plan) const {
  if (plan.place_of(pe.at()) == 0) {
    pe.spend(2, plan.stage);  // an addition, and its issue
    if (plan.line_length > 1) pe.send(plan.place.out(0), offset_ + length_);
  }
  return true;
}

}  // namespace tensorpress::wafer::programs
