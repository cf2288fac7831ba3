#include "stream/reader.h"

#include <algorithm>

#include "base/errors.h"
#include "base/tensor/region.h"
#include "base/text.h"
#include "stream/chunks/chunk_flow.h"
#include "stream/container/compact/reading.h"
#include "stream/container/format.h"
#include "stream/container/framed/reading.h"

namespace tensorpress {

using namespace stream;

struct StreamReader::State {
  ChunkDecoder decoder;
  StreamInfo info;
  std::unique_ptr<const ChunkDirectory> chunks;

  /// Chunks in any order, found by the directory.
  class Feed : public ChunkFeed {
   public:
    explicit Feed(const State& state) : state_(state) {}
    Result<FetchedChunk> fetch(std::uint64_t number, AlignedBuffer& scratch) override {
      return state_.chunks->fetch(number, scratch);
    }
    bool survives_errors() const override { return true; }

   private:
    const State& state_;
  };

  Result<void> decode(const ChunkNumbers& numbers, TensorSink& sink,
                      const DecompressOptions& options) const {
    Feed feed(*this);
    return decode_in_order(decoder, feed, numbers, sink, options);
  }
};

namespace {

// Reading any part of a stream holds at least one whole chunk.
Result<void> check_chunk_size(const StreamInfo& info, const ChunkGrid& grid,
                              std::uint64_t max_bytes) {
  if (grid.chunk_count() == 0) return {};
  const Shape largest = grid.region(0).extent;
  const std::uint64_t bytes = largest.element_count() * size_of(info.dtype);
  if (bytes <= max_bytes) return {};
  return too_large("the stream has chunks of shape ", largest.to_string(), ", ", human_bytes(bytes),
                   ", and parts are read by whole chunks; the limit is ", human_bytes(max_bytes),
                   " (max_bytes)");
}

Result<unsigned> version_of(const ByteSource& source) {
  SourceInput bytes(source, 0, source.size());
  return StreamInput(bytes, 0).read_prologue();
}

// Passes on what lies inside `part`, in its coordinates.
class CroppingSink : public TensorSink {
 public:
  CroppingSink(const Region& part, TensorSink& sink) : part_(part), sink_(sink) {}

  Result<void> write(const Region& region, const TensorView& elements) override {
    Region inside{{}, region.extent}, target{{}, region.extent};
    for (std::size_t axis = 0; axis < region.extent.rank(); ++axis) {
      const std::uint64_t begin = std::max(region.origin[axis], part_.origin[axis]);
      const std::uint64_t end = std::min(region.origin[axis] + region.extent[axis],
                                         part_.origin[axis] + part_.extent[axis]);
      inside.origin[axis] = begin - region.origin[axis];
      target.origin[axis] = begin - part_.origin[axis];
      inside.extent[axis] = target.extent[axis] = end - begin;
    }
    return sink_.write(target, elements.part(inside));
  }

 private:
  Region part_;
  TensorSink& sink_;
};

}  // namespace

Result<StreamReader> StreamReader::open(const ByteSource& source) {
  TRY(const unsigned version, version_of(source));
  TRY(auto opened, version == 1 ? framed::open(source) : compact::open(source));
  return StreamReader(std::make_shared<const State>(
      State{opened.decoder, std::move(opened.info), std::move(opened.chunks)}));
}

Result<StreamReader> StreamReader::open_without_footer(const ByteSource& source) {
  TRY(const unsigned version, version_of(source));
  TRY(auto opened,
      version == 1 ? framed::open_without_footer(source) : compact::open_without_footer(source));
  return StreamReader(std::make_shared<const State>(
      State{opened.decoder, std::move(opened.info), std::move(opened.chunks)}));
}

const StreamInfo& StreamReader::info() const {
  return state_->info;
}

StreamReader::StreamReader(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Region StreamReader::chunk(std::uint64_t number) const {
  return state_->decoder.grid().region(number);
}

const ChunkGrid& ReaderAccess::grid(const StreamReader& reader) {
  return reader.state_->decoder.grid();
}

Result<FetchedChunk> ReaderAccess::fetch(const StreamReader& reader, std::uint64_t number,
                                         AlignedBuffer& scratch) {
  return reader.state_->chunks->fetch(number, scratch);
}

Result<void> ReaderAccess::read_chunk(const StreamReader& reader, std::uint64_t number,
                                      const MutableTensorView& output, ChunkWorkspace& workspace) {
  const auto& state = *reader.state_;
  if (number >= state.info.chunk_count) {
    return bad_argument("chunk ", number, " does not exist; the stream has ",
                        state.info.chunk_count);
  }
  const Shape extent = reader.chunk(number).extent;
  if (output.shape != extent || output.dtype != state.info.dtype) {
    return bad_argument("chunk ", number, " has shape ", extent.to_string(), " and type ",
                        name_of(state.info.dtype), ", the output ", output.shape.to_string(),
                        " and ", name_of(output.dtype));
  }
  AlignedBuffer scratch;
  TRY(const auto fetched, state.chunks->fetch(number, scratch));
  return state.decoder.decode(number, fetched, output, workspace);
}

Result<void> StreamReader::read_all(TensorSink& sink, const DecompressOptions& options) const {
  RETURN_IF_ERROR(check_decompressed_size(info(), options.max_bytes));
  return state_->decode(ChunkNumbers::range(0, info().chunk_count), sink, options);
}

Result<void> StreamReader::read_chunks(std::uint64_t first, std::uint64_t count, TensorSink& sink,
                                       const DecompressOptions& options) const {
  const std::uint64_t existing = info().chunk_count;
  if (first > existing || count > existing - first) {
    return bad_argument("chunks ", first, " and ", count,
                        " from there on are not all there; the stream has ", existing);
  }
  RETURN_IF_ERROR(check_chunk_size(info(), state_->decoder.grid(), options.max_bytes));
  return state_->decode(ChunkNumbers::range(first, count), sink, options);
}

Result<void> StreamReader::read_chunks(std::span<const std::uint64_t> numbers, TensorSink& sink,
                                       const DecompressOptions& options) const {
  if (!numbers.empty() && numbers.back() >= info().chunk_count) {
    return bad_argument("chunk ", numbers.back(), " does not exist; the stream has ",
                        info().chunk_count);
  }
  RETURN_IF_ERROR(check_chunk_size(info(), state_->decoder.grid(), options.max_bytes));
  return state_->decode(ChunkNumbers::of(numbers), sink, options);
}

Result<void> StreamReader::read_region(const Region& part, TensorSink& sink,
                                       const DecompressOptions& options) const {
  RETURN_IF_ERROR(check_region(info().shape, part));
  StreamInfo wanted = info();
  wanted.shape = part.extent;
  RETURN_IF_ERROR(check_decompressed_size(wanted, options.max_bytes));
  RETURN_IF_ERROR(check_chunk_size(info(), state_->decoder.grid(), options.max_bytes));
  CroppingSink cropping(part, sink);
  const auto numbers = state_->decoder.grid().chunks_in(part);
  return state_->decode(ChunkNumbers::of(numbers), cropping, options);
}

}  // namespace tensorpress
