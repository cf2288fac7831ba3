#include "wafer/programs/offsets/look_back.h"

#include "base/errors.h"

namespace tensorpress::wafer::programs {
namespace {

constexpr std::uint32_t kPrefix = kLookBackLengths;

/// From the tail of a line back along it, and across to the next line's head.
Result<void> route_to_next_line(Layout& layout, const MeshLines& lines, std::uint32_t line) {
  const bool columns = lines.order == OffsetOrder::column;
  const Port along = columns ? Port::south : Port::east;
  const Port across = columns ? Port::east : Port::south;
  const Color color = lines.scan.out(line);
  for (std::uint32_t place = 0; place < lines.length; ++place) {
    const Port from = place + 1 == lines.length ? Port::ramp : along;
    const Port to = place == 0 ? across : opposite(along);
    RETURN_IF_ERROR(layout.route(lines.pe_of(line, place), color, Route::fixed({from}, {to})));
  }
  return layout.route(lines.pe_of(line + 1, 0), color,
                      Route::fixed({opposite(across)}, {Port::ramp}));
}

}  // namespace

Result<MeshLines> route_look_back(Layout& layout, OffsetOrder order, Stage stage) {
  if (layout.pe_count() > kMostLookBackPes) {
    return too_large("look-back over ", layout.pe_count(), " PEs would be up to ",
                     layout.pe_count() * (layout.pe_count() - 1) / 2,
                     " wavelets; take a mesh of at most ", kMostLookBackPes,
                     " PEs, or the offsets of the mesh");
  }
  MeshLines lines = number_blocks(layout.width(), layout.height(), order);
  lines.stage = stage;
  TRY(lines.place, new_chain_colors(layout, "states"));
  TRY(lines.scan, new_chain_colors(layout, "states to the next line"));
  const Port along = order == OffsetOrder::column ? Port::south : Port::east;
  for (std::uint32_t line = 0; line < lines.count; ++line) {
    RETURN_IF_ERROR(route_chain(layout, lines.pe_of(line, 0), along, lines.length, lines.place));
    if (line + 1 < lines.count) RETURN_IF_ERROR(route_to_next_line(layout, lines, line));
  }
  return lines;
}

std::uint32_t LookBack::listens(const MeshLines& lines, PeAt pe) {
  const std::uint32_t line = lines.line_of(pe), place = lines.place_of(pe);
  if (place > 0) return 1u << lines.place.in(place);
  return line > 0 ? 1u << lines.scan.in(line) : 0;
}

bool LookBack::begin(Pe& pe, const MeshLines& lines, std::uint32_t length) {
  length_ = length;
  measured_ = true;
  if (lines.number_of(pe.at()) == 0) placed_ = true;
  pe.spend(2, lines.stage);  // an addition, and its issue
  tell(pe, lines, (placed_ ? kPrefix : 0) | (sum_ + length_));
  return placed_;
}

bool LookBack::on_wavelet(Pe& pe, const MeshLines& lines, std::uint32_t state) {
  pe.spend(2, lines.stage);
  sum_ += state & ~kPrefix;
  placed_ = (state & kPrefix) != 0;
  if (measured_) tell(pe, lines, state);
  return measured_ && placed_;
}

void LookBack::tell(Pe& pe, const MeshLines& lines, std::uint32_t state) const {
  const std::uint32_t line = lines.line_of(pe.at()), place = lines.place_of(pe.at());
  if (place + 1 < lines.length) {
    pe.send(lines.place.out(place), state);
  } else if (line + 1 < lines.count) {
    pe.send(lines.scan.out(line), state);
  }
}

std::uint64_t look_back_cycles(std::uint32_t lines, std::uint32_t line_length,
                               const Machine& machine) {
  const std::uint64_t step =
      machine.hop + std::uint64_t{2} * machine.ramp + machine.task_activation + 2;
  const std::uint64_t steps = std::uint64_t{lines} * line_length - 1;
  const std::uint64_t returns = std::uint64_t{lines - 1} * (line_length - 1) * machine.hop;
  return steps * step + returns;
}

}  // namespace tensorpress::wafer::programs
