// tensorpress wafer: runs codecs and their parts on a simulated wafer.
#include "command_line/verb.h"

namespace tensorpress::cli {

// In the order of the help text.
#define WAFER_VERBS(verb) \
  verb(wafer_run) verb(wafer_heatmap) verb(wafer_trace) verb(wafer_offsets) verb(wafer_check)

WAFER_VERBS(TENSORPRESS_DECLARE_VERB)

namespace {

constexpr VerbMaker kVerbs[] = {WAFER_VERBS(TENSORPRESS_LIST_VERB)};

}  // namespace

Verb wafer_verb() {
  return {.name = "wafer",
          .summary = "run ceresz2, ceresz and the offset computation on a simulated wafer",
          .examples =
              "  tensorpress wafer run wind.npy --rel 1e-4 --mesh 512x512 --verify\n"
              "  tensorpress wafer offsets --mesh 100x50\n"
              "  tensorpress wafer heatmap wind.npy --rel 1e-4 -o cycles.html\n"
              "  tensorpress wafer check layout.csl --params=M:4,N:6\n",
          .verbs = kVerbs};
}

}  // namespace tensorpress::cli
