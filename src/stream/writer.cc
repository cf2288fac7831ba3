// write_stream: a tensor whose regions are asked for.
#include <algorithm>

#include "base/errors.h"
#include "stream/assembly.h"
#include "stream/bounds/resolve.h"
#include "stream/chunks/record_compressor.h"
#include "stream/plan.h"
#include "tensorpress/streaming.h"

namespace tensorpress {

using namespace stream;

namespace {

Result<void> check_order(const TensorSource& source, const ChunkGrid& grid) {
  if (source.random_access() || grid.is_sequential()) return {};
  // About as many elements, cut along the slow axes only.
  Shape suggestion = grid.chunk_shape();
  std::uint64_t budget = suggestion.element_count();
  for (std::size_t axis = suggestion.rank(); axis-- > 0;) {
    suggestion[axis] = std::clamp<std::uint64_t>(budget, 1, grid.shape()[axis]);
    budget = suggestion[axis] < grid.shape()[axis] ? 1 : budget / suggestion[axis];
  }
  return bad_argument("a pipe gives its elements in order, but chunks of shape ",
                      grid.chunk_shape().to_string(),
                      " need them out of order; use a file, or chunks of whole rows such as ",
                      suggestion.to_string());
}

/// All chunks between the assembly's beginning and its end.
Result<StreamInfo> write_chunks(const StreamPlan& plan, std::span<const ChunkHint> hints,
                                TensorSource& source, ByteSink& sink, StreamAssembly& assembly,
                                const Execution& execution) {
  RETURN_IF_ERROR(check_order(source, plan.grid));
  RETURN_IF_ERROR(assembly.begin());
  RecordCompressor records(plan, hints, source, execution);
  RETURN_IF_ERROR(records.compress(
      0, plan.grid.chunk_count(), [&] { return sink.room(); },
      [&](std::uint64_t number, const CompressedChunk& chunk, std::span<const std::byte> record) {
        return assembly.append(number, chunk, record);
      }));
  return assembly.finish();
}

}  // namespace

Result<StreamInfo> write_stream(const Codec& codec, TensorSource& source, ByteSink& sink,
                                const CompressOptions& options) {
  TRY(const Execution execution, Execution::of(options));
  const auto look = look_of_this_process(source, execution);
  TRY(Resolution resolution, Resolution::begin(codec, source, options, *look));
  if (!sink.can_rewind()) RETURN_IF_ERROR(resolution.settle());
  while (true) {
    const ResolvedCodec& resolved = resolution.resolved();
    TRY(const auto plan, plan_stream(resolved.codec, source.dtype(), source.shape(),
                                     options.chunk_shape, options.attributes, options.fill_values));
    StreamAssembly assembly(plan, sink, options);
    TRY(StreamInfo info, write_chunks(plan, resolved.hints, source, sink, assembly, execution));
    if (!sink.can_rewind() || !resolution.is_on_trial()) return info;
    TRY(const bool again, resolution.reconsider(assembly.outcome(info)));
    if (!again) return info;
    RETURN_IF_ERROR(sink.rewind());
  }
}

}  // namespace tensorpress
