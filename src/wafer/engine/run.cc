// A run from a layout to its report, or to what went wrong.
#include "wafer/engine/run.h"

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <tuple>
#include <variant>

#include "base/errors.h"
#include "wafer/engine/crew.h"
#include "wafer/engine/strip.h"

namespace tensorpress::wafer {
namespace {

using engine::Crew;
using engine::Failure;
using engine::MeshState;
using engine::Strip;

std::vector<std::uint32_t> strip_borders(std::uint32_t height, std::size_t threads) {
  const auto count =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(threads, 1, std::max(height, 1u)));
  std::vector<std::uint32_t> borders;
  for (std::uint32_t i = 0; i <= count; ++i) {
    borders.push_back(static_cast<std::uint32_t>(std::uint64_t{height} * i / count));
  }
  return borders;
}

void sort_parts(Report& report) {
  std::ranges::sort(report.edge_outputs, {}, [](const EdgeOutput& output) {
    return std::tuple(output.pe.y, output.pe.x, output.edge, output.color);
  });
  std::ranges::sort(report.trace, {}, [](const TraceEvent& event) {
    return std::tuple(event.begin, event.pe.y, event.pe.x, event.kind, event.what, event.port,
                      event.end, event.word);
  });
}

Result<void> check_machine(const Machine& machine) {
  constexpr std::uint64_t kAny = ~std::uint64_t{0}, kQueue = 255;
  struct Limit {
    const char* what;
    std::uint64_t value, most;
  };
  for (const auto& [what, value, most] :
       {Limit{"cycles of a hop", machine.hop, kAny}, Limit{"cycles of a ramp", machine.ramp, kAny},
        Limit{"words of a router's queue", machine.router_queue, kQueue},
        Limit{"words of an input queue", machine.input_queue, kQueue},
        Limit{"bits read a cycle", machine.read_bits, kAny},
        Limit{"bits written a cycle", machine.write_bits, kAny}}) {
    if (value < 1) return bad_argument("the machine's ", what, " are 0; they are at least 1");
    if (value > most) {
      return bad_argument("the machine's ", what, " are ", value, "; they are at most ", most);
    }
  }
  return {};
}

/// How a run ends that is no error to everyone.
using Ending = std::variant<Report, Failure>;

Result<Ending> run_to_its_end(Layout& layout, const RunOptions& options) {
  RETURN_IF_ERROR(check_machine(options.machine));
  RETURN_IF_ERROR(layout.check());
  MeshState mesh(layout, options);
  const auto borders = strip_borders(layout.height(), options.threads);
  std::vector<std::unique_ptr<Strip>> strips;
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    strips.push_back(std::make_unique<Strip>(mesh, borders[i], borders[i + 1]));
  }
  Crew crew(std::move(strips), options.shared_from);
  RETURN_IF_ERROR(crew.work(options.max_cycles));
  for (const auto& strip : crew.strips()) {
    if (strip->failure()) return Ending(*strip->failure());
  }
  if (!crew.ended()) {
    return bad_argument("the program is still running after ", options.max_cycles,
                        " cycles; it may never end, or needs a larger limit");
  }
  std::vector<std::string> waiting;
  constexpr std::size_t kListed = 6;
  for (const auto& strip : crew.strips()) strip->list_waiting_pes(waiting, kListed);
  // These come in the order of the strips, so they are sorted: the same words for any threads.
  std::vector<std::string> further;
  for (const auto& strip : crew.strips()) {
    strip->list_waiting_host(further, SIZE_MAX);
    strip->list_waiting_chains(further, SIZE_MAX);
  }
  std::ranges::sort(further);
  for (std::string& sentence : further) {
    if (waiting.size() < kListed) waiting.push_back(std::move(sentence));
  }
  if (!waiting.empty()) {
    std::string list;
    for (const std::string& sentence : waiting) list += text(list.empty() ? "" : "; ", sentence);
    return bad_argument("deadlock: nothing moves any more, but ", list,
                        waiting.size() == kListed ? "; and perhaps more" : "");
  }
  mesh.count_chains();
  Report report;
  for (const auto& strip : crew.strips()) strip->add_to(report);
  sort_parts(report);
  report.finish.reserve(mesh.pes.size());
  report.busy_cycles.reserve(mesh.pes.size());
  for (const auto& pe : mesh.pes) {
    report.finish.push_back(pe.finish);
    report.busy_cycles.push_back(pe.busy_cycles);
    report.last_finish = std::max(report.last_finish, pe.finish);
  }
  report.link_wavelets = std::move(mesh.link_wavelets);
  return Ending(std::move(report));
}

Result<Ending> run_guarded(Layout& layout, const RunOptions& options) {
  // Programs are not all ours, and every wavelet on its way takes memory.
  try {
    return run_to_its_end(layout, options);
  } catch (const std::bad_alloc&) {
    return too_large("memory ran out for a mesh of ", layout.width(), "x", layout.height(),
                     "; a smaller mesh or a run without a trace needs less");
  } catch (const std::exception& thrown) {
    return bad_argument("a program threw an exception: ", thrown.what());
  } catch (...) {
    return bad_argument("a program threw an exception that is not a std::exception");
  }
}

}  // namespace

Result<Report> run(Layout& layout, const RunOptions& options) {
  TRY(Ending ending, run_guarded(layout, options));
  if (const auto* const failure = std::get_if<Failure>(&ending)) {
    return bad_argument(failure->sentence);
  }
  return std::get<Report>(std::move(ending));
}

Result<std::optional<Report>> engine::run_if_alone(Layout& layout, const RunOptions& options) {
  TRY(Ending ending, run_guarded(layout, options));
  if (const auto* const failure = std::get_if<Failure>(&ending)) {
    if (failure->not_alone) return std::optional<Report>();
    return bad_argument(failure->sentence);
  }
  return std::optional(std::get<Report>(std::move(ending)));
}

}  // namespace tensorpress::wafer
