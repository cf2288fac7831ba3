// The third rung of the ladder: tensors that are larger than memory, or that come and go piece by
// piece. `compress` and `decompress` are one call, Compressor and Decompressor (stream.h) work in
// the caller's memory; these work between a tensor that is read or written a region at a time and
// bytes that come from or go to a file, a pipe or a network. Memory is bounded by the chunks that
// are worked on at once.
//
//   StreamWriter          the next rows of a tensor are appended as they are computed
//   write_stream          a whole TensorSource, whose regions are asked for
//   StreamReader          a stream in something that can seek: all of it, regions, chunks
//   read_sequentially     a stream from a pipe
//
// The bytes are the same whichever way they were written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "tensorpress/aligned_buffer.h"
#include "tensorpress/api.h"
#include "tensorpress/codec.h"
#include "tensorpress/result.h"
#include "tensorpress/stream.h"
#include "tensorpress/tensor_view.h"

namespace tensorpress {

// ---- Tensors, a region at a time ---------------------------------------------------------------

class TENSORPRESS_API TensorSource {
 public:
  virtual ~TensorSource();
  virtual DType dtype() const = 0;
  virtual const Shape& shape() const = 0;
  /// True when any region may be read at any time; false for pipes, which give regions in C order
  /// only.
  virtual bool random_access() const = 0;
  /// A view of the region, native-endian, valid until `scratch` is used again. Called from one
  /// thread at a time.
  virtual Result<TensorView> read(const Region& region, AlignedBuffer& scratch) = 0;
};

class TENSORPRESS_API TensorSink {
 public:
  virtual ~TensorSink();
  /// Called from one thread at a time, in ascending chunk order, every region once.
  virtual Result<void> write(const Region& region, const TensorView& elements) = 0;
};

/// A tensor in memory, given out region by region without a copy. Does not own it.
class TENSORPRESS_API ViewSource : public TensorSource {
 public:
  explicit ViewSource(const TensorView& view) : view_(view) {}
  DType dtype() const override { return view_.dtype; }
  const Shape& shape() const override { return view_.shape; }
  bool random_access() const override { return true; }
  Result<TensorView> read(const Region& region, AlignedBuffer& scratch) override;

 private:
  TensorView view_;
};

/// A tensor in memory that is written region by region. Does not own it.
class TENSORPRESS_API ViewSink : public TensorSink {
 public:
  explicit ViewSink(const MutableTensorView& view) : view_(view) {}
  Result<void> write(const Region& region, const TensorView& elements) override;

 private:
  MutableTensorView view_;
};

// ---- Bytes
// ---------------------------------------------------------------------------------------

/// Bytes going out, in order.
class TENSORPRESS_API ByteSink {
 public:
  virtual ~ByteSink();
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
  /// Where the next bytes will lie, when the sink is memory; empty otherwise. What is written there
  /// counts once it is appended, which then copies nothing.
  virtual std::span<std::byte> room() { return {}; }
  /// Whether rewind() works.
  virtual bool can_rewind() const { return false; }
  /// Forgets everything that was appended.
  virtual Result<void> rewind();
};

/// Bytes coming in, in order, from something that cannot seek.
class TENSORPRESS_API ByteInput {
 public:
  virtual ~ByteInput();
  /// Fills `into` as far as the input reaches; fewer bytes than asked for means the input has
  /// ended.
  virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
};

/// Bytes at any position. Safe to call from several threads at once.
class TENSORPRESS_API ByteSource {
 public:
  virtual ~ByteSource();
  virtual std::uint64_t size() const = 0;
  /// All of `into`, or an error: `truncated` beyond the end.
  virtual Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const = 0;
  /// The bytes without a copy when the source is memory; empty otherwise.
  virtual std::span<const std::byte> in_memory() const { return {}; }
};

/// Does not own the memory.
class TENSORPRESS_API MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<void> read_at(std::uint64_t offset, std::span<std::byte> into) const override;
  std::span<const std::byte> in_memory() const override { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

/// Memory of a fixed size, filled from its start. Does not own it.
class TENSORPRESS_API MemorySink : public ByteSink {
 public:
  explicit MemorySink(std::span<std::byte> room) : room_(room) {}
  Result<void> append(std::span<const std::byte> bytes) override;
  std::span<std::byte> room() override { return room_.subspan(used_); }
  bool can_rewind() const override { return true; }
  Result<void> rewind() override;
  std::size_t used() const { return used_; }

 private:
  std::span<std::byte> room_;
  std::size_t used_ = 0;
};

/// A vector that grows.
class TENSORPRESS_API VectorSink : public ByteSink {
 public:
  Result<void> append(std::span<const std::byte> bytes) override;
  bool can_rewind() const override { return true; }
  Result<void> rewind() override;

  std::vector<std::byte> bytes;
};

// ---- Writing
// -------------------------------------------------------------------------------------

/// The info of the stream it wrote, statistics and byte counts included. A source without random
/// access needs chunks that follow each other in C order, and a bound that needs no look at the
/// data: absolute, point-wise relative, or relative with a value_range.
TENSORPRESS_API Result<StreamInfo> write_stream(const Codec& codec, TensorSource& source,
                                                ByteSink& sink, const CompressOptions& options);

/// A stream of a tensor that is known by and by: the steps of a simulation, the batches of a data
/// set. Rows along the first axis are appended in order, as many at a time as there are; the writer
/// keeps those that do not fill a chunk yet.
///
///   auto writer = StreamWriter::begin(codec, DType::f32, {steps, 180, 360}, sink, options);
///   ... for each step ...  writer->append(*view_of(field, {1, 180, 360}));
///   writer->finish();
class TENSORPRESS_API StreamWriter {
 public:
  /// Writes what stands before the first chunk. The sink must outlive the writer. The bound must
  /// need no look at the data: absolute, point-wise relative, or relative with a value_range.
  static Result<StreamWriter> begin(const Codec& codec, DType dtype, const Shape& shape,
                                    ByteSink& sink, CompressOptions options = {});
  StreamWriter(StreamWriter&&) noexcept;
  StreamWriter& operator=(StreamWriter&&) noexcept;
  ~StreamWriter();

  /// The next rows: the tensor's type, rank and extents, but for the first. A tensor of rank 0 has
  /// one row, itself. After an error the stream is of no use.
  Result<void> append(const TensorView& rows);
  /// Writes what stands behind the last chunk. All rows must have been appended.
  Result<StreamInfo> finish();

 private:
  class State;
  explicit StreamWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// ---- Reading
// -------------------------------------------------------------------------------------

/// A stream in a file, in memory or in anything else with positions.
class TENSORPRESS_API StreamReader {
 public:
  /// Checks everything but the chunks. The source must outlive the reader.
  static Result<StreamReader> open(const ByteSource& source);
  /// For a stream whose end is damaged: chunks are found by their frames, the others cannot be
  /// read; info() has no statistics.
  static Result<StreamReader> open_without_footer(const ByteSource& source);

  const StreamInfo& info() const;
  /// Where a chunk lies; numbers are below info().chunk_count, in C order.
  Region chunk(std::uint64_t number) const;

  /// Every chunk, in order.
  Result<void> read_all(TensorSink& sink, const DecompressOptions& options = {}) const;
  /// Only the chunks that `part` needs. The sink sees regions of a tensor of the part's own shape.
  Result<void> read_region(const Region& part, TensorSink& sink,
                           const DecompressOptions& options = {}) const;
  /// `count` chunks from `first` on, in order. The sink sees regions of the whole tensor.
  Result<void> read_chunks(std::uint64_t first, std::uint64_t count, TensorSink& sink,
                           const DecompressOptions& options = {}) const;
  /// Only the chunks with these numbers, which ascend.
  Result<void> read_chunks(std::span<const std::uint64_t> numbers, TensorSink& sink,
                           const DecompressOptions& options = {}) const;

 private:
  friend struct ReaderAccess;
  struct State;
  explicit StreamReader(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

/// One pass over a stream that cannot seek. `make_sink` is called once with what the header says;
/// the returned info is complete, with the footer's statistics.
TENSORPRESS_API Result<StreamInfo> read_sequentially(
    ByteInput& input,
    const std::function<Result<std::unique_ptr<TensorSink>>(const StreamInfo&)>& make_sink,
    const DecompressOptions& options = {});

}  // namespace tensorpress
