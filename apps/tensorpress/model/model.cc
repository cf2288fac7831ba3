// tensorpress model: a model's text checked, planned, costed, and made into readable PyTorch.
#include "command_line/verb.h"

namespace tensorpress::cli {

// In the order of the help text.
#define MODEL_VERBS(verb) \
  verb(model_check) verb(model_emit) verb(model_plan) verb(model_profile) verb(model_cost)

MODEL_VERBS(TENSORPRESS_DECLARE_VERB)

namespace {

constexpr VerbMaker kVerbs[] = {MODEL_VERBS(TENSORPRESS_LIST_VERB)};

}  // namespace

Verb model_verb() {
  return {.name = "model",
          .summary = "check a model's text and unroll its training step into PyTorch",
          .examples =
              "  tensorpress model check resnet18.tpm\n"
              "  tensorpress model emit resnet18.tpm --plan balanced -o step.py\n",
          .verbs = kVerbs};
}

}  // namespace tensorpress::cli
