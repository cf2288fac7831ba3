#include "stream/writer.h"

#include <algorithm>

#include "base/errors.h"
#include "stream/bounds/resolve.h"
#include "stream/chunks/chunk_decoder.h"
#include "stream/chunks/chunk_work.h"
#include "stream/chunks/section_compressor.h"
#include "stream/plan.h"

namespace tensorpress::stream {
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

class Writer {
 public:
  Writer(StreamPlan plan, const std::vector<ChunkHint>& hints, TensorSource& source, ByteSink& sink,
         const WriteOptions& options)
      : plan_(std::move(plan)),
        hints_(hints),
        source_(source),
        sink_(sink),
        options_(options),
        totals_(plan_.opening.size()) {}

  /// What was written, for those who look for a limit.
  Outcome outcome(const StreamInfo& info) const {
    return {.mean_squared_error = tried_.mean_squared_error(),
            .bytes_in = info.bytes_in(),
            .bytes_out = info.bytes_out};
  }

  Result<StreamInfo> write(Isa isa) {
    RETURN_IF_ERROR(check_order(source_, plan_.grid));
    RETURN_IF_ERROR(sink_.append(plan_.opening));
    if (plan_.grid.chunk_count() > 0) RETURN_IF_ERROR(write_chunks(isa));
    return finish();
  }

 private:
  Result<void> write_chunks(Isa isa) {
    SectionCompressor sections(plan_, hints_, source_, isa,
                               runner_or_threads(options_.runner, options_.threads),
                               options_.threads);
    return sections.compress(
        0, plan_.grid.chunk_count(), [&] { return sink_.room(); },
        [&](std::uint64_t number, const CompressedChunk& chunk,
            std::span<const std::byte> section) { return append(number, chunk, section); });
  }

  Result<void> append(std::uint64_t number, const CompressedChunk& chunk,
                      std::span<const std::byte> section) {
    RETURN_IF_ERROR(sink_.append(section));
    totals_.add(chunk);
    const std::uint64_t elements = plan_.grid.region(number).extent.element_count();
    tried_.add(
        {.elements = elements - chunk.special_elements, .squared_error = chunk.squared_error});
    elements_done_ += elements;
    if (options_.progress) options_.progress(elements_done_, plan_.grid.shape().element_count());
    return {};
  }

  Result<StreamInfo> finish() {
    const std::uint64_t offset = totals_.offset();
    const std::uint64_t payload_bytes = totals_.payload_bytes();
    Footer footer = std::move(totals_).footer();
    TRY(const auto closing, encode_closing(footer, offset));
    RETURN_IF_ERROR(sink_.append(closing));
    StreamInfo info = info_of(plan_.header, plan_.grid);
    info.attributes = options_.attributes;
    info.statistics = std::move(footer.statistics);
    info.bytes_out = offset + closing.size();
    info.payload_bytes = payload_bytes;
    return info;
  }

  StreamPlan plan_;
  const std::vector<ChunkHint>& hints_;  // of every chunk, or none
  TensorSource& source_;
  ByteSink& sink_;
  const WriteOptions& options_;
  StreamTotals totals_;
  Trial tried_;
  std::uint64_t elements_done_ = 0;
};

}  // namespace

Result<void> ByteSink::rewind() {
  return internal_error("bytes that are gone cannot be taken back");
}

Result<StreamInfo> write_stream(const Codec& codec, TensorSource& source, ByteSink& sink,
                                const WriteOptions& options) {
  TRY(const Isa isa, active_isa());
  const auto look = look_of_this_process(source, options, isa);
  TRY(Resolution resolution, Resolution::begin(codec, source, options, *look));
  if (!sink.can_rewind()) RETURN_IF_ERROR(resolution.settle());
  while (true) {
    const ResolvedCodec& resolved = resolution.resolved();
    TRY(auto plan, plan_stream(resolved.codec, source.dtype(), source.shape(), options.chunk_shape,
                               options.attributes, options.bound.fill_values));
    Writer writer(std::move(plan), resolved.hints, source, sink, options);
    TRY(StreamInfo info, writer.write(isa));
    if (!sink.can_rewind() || !resolution.is_on_trial()) return info;
    TRY(const bool again, resolution.reconsider(writer.outcome(info)));
    if (!again) return info;
    RETURN_IF_ERROR(sink.rewind());
  }
}

}  // namespace tensorpress::stream
