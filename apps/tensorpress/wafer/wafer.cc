// tensorpress wafer: runs codecs and their parts on a simulated wafer. The sub-verbs are in
// wafer_*.cc.
#include "wafer_options.h"

namespace tensorpress::cli {
namespace {

struct SubVerb {
  const char* name;
  const char* summary;
  Action (*declare)(CLI::App& app);
};

constexpr SubVerb kSubVerbs[] = {
    {"run", "a field through ceresz2 or ceresz: stream, cycles, GB/s", declare_wafer_run},
    {"heatmap", "how long each PE works (CereSZ-II, Figure 8): svg, png, or html",
     declare_wafer_heatmap},
    {"trace", "tasks and wavelets of a program on a small mesh, for Perfetto", declare_wafer_trace},
    {"offsets", "the offset computation by itself (CereSZ-II, Table II)", declare_wafer_offsets},
};

Action declare(CLI::App& app) {
  app.require_subcommand(1);
  struct Declared {
    const CLI::App* app;
    Action action;
  };
  std::vector<Declared> all;
  for (const SubVerb& verb : kSubVerbs) {
    CLI::App* const own = app.add_subcommand(verb.name, verb.summary);
    all.push_back({own, verb.declare(*own)});
  }
  return [all]() -> Result<ExitStatus> {
    for (const Declared& each : all) {
      if (each.app->parsed()) return each.action();
    }
    return ExitStatus::bad_input;
  };
}

}  // namespace

Verb wafer_verb() {
  return {"wafer", "run ceresz2, ceresz and the offset computation on a simulated wafer",
          "  tensorpress wafer run wind.npy --rel 1e-4 --mesh 512x512 --verify\n"
          "  tensorpress wafer offsets --mesh 100x50\n"
          "  tensorpress wafer heatmap wind.npy --rel 1e-4 -o cycles.html\n",
          declare};
}

}  // namespace tensorpress::cli
