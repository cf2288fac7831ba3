// tensorpress codebook: build static codebooks from data, look at them, study what they cost.
#include "command_line/verb.h"

namespace tensorpress::cli {

// In the order of the help text.
#define CODEBOOK_VERBS(verb) verb(codebook_build) verb(codebook_show) verb(codebook_study)

CODEBOOK_VERBS(TENSORPRESS_DECLARE_VERB)

namespace {

constexpr VerbMaker kVerbs[] = {CODEBOOK_VERBS(TENSORPRESS_LIST_VERB)};

}  // namespace

Verb codebook_verb() {
  return {.name = "codebook",
          .summary = "build, show and study the static tables of ceresz2 and dense",
          .examples =
              "  tensorpress codebook build wind.npy temp.npy,salt.npy --rel 1e-4 -o book.json\n"
              "  tensorpress codebook show default\n"
              "  tensorpress codebook study *.npy --rel 1e-4 --html study.html\n",
          .verbs = kVerbs};
}

}  // namespace tensorpress::cli
