#include "likely_fill_details.h"

#include <nanobind/nanobind.h>

#include "base/cpu.h"
#include "base/errors.h"
#include "errors.h"
#include "interruption.h"
#include "stream/bounds/likely_fill.h"
#include "stream/bounds/resolve.h"
#include "stream/memory_io.h"
#include "stream/plan.h"

namespace nb = nanobind;

namespace tensorpress::python {
namespace {

// The library's error is a sentence. Its numbers are found again, the same way.
Result<std::optional<stream::LikelyFill>> find_again(const Codec& codec,
                                                     const CompressOptions& options,
                                                     const TensorView& view, const Runner& runner) {
  TRY(const Isa isa, active_isa());
  TRY(const auto plan, stream::plan_stream(codec, view.dtype, view.shape, options.chunk_shape, {}));
  stream::ViewSource source(view);
  stream::WriteOptions write;
  write.threads = options.threads;
  write.runner = runner;
  const auto look = stream::look_of_this_process(source, write, isa);
  TRY(const auto survey, look->survey(plan.grid, options.fill_values));
  return stream::find_likely_fill(survey, *look, plan.grid, options.fill_values);
}

}  // namespace

void raise_likely_fill(const Error& error, const Codec& codec, const CompressOptions& options,
                       const TensorView& view) {
  const auto fill = interruptible(options.threads, [&](const Runner& runner) {
    return find_again(codec, options, view, runner);
  });
  const Error complete{error.code, text(error.message,
                                        ": fill_values=, value_range=(low, high) or "
                                        "whole_range=True")};
  if (!fill.ok() || !*fill) raise(complete);
  const nb::object raised = exception_of(complete);
  raised.attr("value") = (*fill)->value;
  raised.attr("count") = (*fill)->count;
  raised.attr("value_range") = nb::make_tuple((*fill)->without_it.low, (*fill)->without_it.high);
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
  nb::raise_python_error();
}

}  // namespace tensorpress::python
