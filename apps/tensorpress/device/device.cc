// tensorpress device: accelerators on paper. What there is, what compiles and fits, how long it
// takes.
#include "command_line/verb.h"

namespace tensorpress::cli {

// In the order of the help text.
#define DEVICE_VERBS(verb) \
  verb(device_list) verb(device_show) verb(device_check) verb(device_train) verb(device_time)

DEVICE_VERBS(TENSORPRESS_DECLARE_VERB)

namespace {

constexpr VerbMaker kVerbs[] = {DEVICE_VERBS(TENSORPRESS_LIST_VERB)};

}  // namespace

Verb device_verb() {
  return {
      .name = "device",
      .summary = "accelerators on paper: what compiles, what fits, how long it takes",
      .examples =
          "  tensorpress device list\n"
          "  tensorpress device check --device sn30 --codec dct-chop --cf 4 --shape 100x3x512x512\n"
          "  tensorpress device time --device ipu --codec dct-chop --cf 2 --decompress\n"
          "  tensorpress device train resnet34 --device ipu --search --count 16\n",
      .verbs = kVerbs};
}

}  // namespace tensorpress::cli
