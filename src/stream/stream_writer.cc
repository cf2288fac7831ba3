// StreamWriter: a tensor whose rows come one after the other. Chunks that begin at the same row are
// a layer; rows wait until a layer is complete and then become its records.
#include <algorithm>

#include "base/errors.h"
#include "stream/assembly.h"
#include "stream/bounds/resolve.h"
#include "stream/chunks/record_compressor.h"
#include "stream/container/stream_input.h"
#include "stream/plan.h"
#include "tensorpress/streaming.h"

namespace tensorpress {

using namespace stream;

namespace {

// The rows that are at hand, in the place that they have in the tensor.
class RowSource : public TensorSource {
 public:
  RowSource(DType dtype, const Shape& shape) : dtype_(dtype), shape_(shape) {}

  DType dtype() const override { return dtype_; }
  const Shape& shape() const override { return shape_; }
  bool random_access() const override { return false; }
  Result<TensorView> read(const Region& region, AlignedBuffer& /*scratch*/) override {
    Region here = region;
    if (shape_.rank() > 0) here.origin[0] -= first_row_;
    return rows_.part(here);
  }

  void show(const TensorView& rows, std::uint64_t first_row) {
    rows_ = rows;
    first_row_ = first_row;
  }

 private:
  DType dtype_;
  Shape shape_;
  TensorView rows_;
  std::uint64_t first_row_ = 0;
};

// A tensor of rank 0 has one row, itself.
std::uint64_t row_count(const Shape& shape) {
  return shape.rank() == 0 ? 1 : shape[0];
}

Shape with_rows(Shape shape, std::uint64_t rows) {
  if (shape.rank() > 0) shape[0] = rows;
  return shape;
}

TensorView part_of_rows(const TensorView& rows, std::uint64_t first, std::uint64_t count) {
  Region region{{}, with_rows(rows.shape, count)};
  if (rows.shape.rank() > 0) region.origin[0] = first;
  return rows.part(region);
}

}  // namespace

class StreamWriter::State {
 public:
  State(StreamPlan plan, ByteSink& sink, CompressOptions options, Execution execution)
      : plan_(std::move(plan)),
        sink_(sink),
        options_(std::move(options)),
        execution_(std::move(execution)),
        source_(plan_.header.dtype, plan_.grid.shape()),
        records_(plan_, {}, source_, execution_),
        assembly_(plan_, sink_, options_),
        layer_rows_(std::max<std::uint64_t>(row_count(plan_.grid.chunk_shape()), 1)) {}

  Result<void> begin() { return assembly_.begin(); }

  Result<void> append(const TensorView& rows) {
    RETURN_IF_ERROR(check(rows));
    const std::uint64_t count = row_count(rows.shape);
    for (std::uint64_t next = 0; next < count;) {
      const std::uint64_t missing = rows_of_layer() - waiting_;
      const std::uint64_t taken = std::min(missing, count - next);
      const TensorView part = part_of_rows(rows, next, taken);
      if (taken == rows_of_layer()) {
        RETURN_IF_ERROR(write_layer(part));  // whole, from where it lies
      } else {
        RETURN_IF_ERROR(keep(part, taken));
        if (waiting_ == rows_of_layer()) RETURN_IF_ERROR(write_layer(waiting_rows()));
      }
      next += taken;
    }
    return {};
  }

  Result<StreamInfo> finish() {
    const std::uint64_t wanted = has_elements() ? row_count(shape()) : 0;
    if (written_ < wanted) {
      return bad_argument("the tensor has ", wanted, " rows, and only ", written_ + waiting_,
                          " were appended");
    }
    return assembly_.finish();
  }

 private:
  const Shape& shape() const { return plan_.grid.shape(); }
  bool has_elements() const { return shape().element_count() > 0; }
  /// Of the layer that is next.
  std::uint64_t rows_of_layer() const {
    return std::min(layer_rows_, row_count(shape()) - written_);
  }

  Result<void> check(const TensorView& rows) const {
    if (rows.dtype != plan_.header.dtype) {
      return bad_argument("rows of ", name_of(rows.dtype), " cannot be appended to a tensor of ",
                          name_of(plan_.header.dtype));
    }
    if (rows.shape.rank() != shape().rank() ||
        rows.shape != with_rows(shape(), row_count(rows.shape))) {
      return bad_argument("rows of shape ", rows.shape.to_string(),
                          " do not fit into a tensor of shape ", shape().to_string(),
                          "; all extents but the first must be the same");
    }
    const std::uint64_t left = row_count(shape()) - written_ - waiting_;
    if (row_count(rows.shape) > left) {
      return bad_argument(row_count(rows.shape), " rows are too many; the tensor has ",
                          row_count(shape()), ", and ", left, " are missing");
    }
    return {};
  }

  MutableTensorView waiting_rows() {
    return MutableTensorView::contiguous(layer_.data(), plan_.header.dtype,
                                         with_rows(shape(), waiting_));
  }

  Result<void> keep(const TensorView& rows, std::uint64_t count) {
    const Shape whole = with_rows(shape(), rows_of_layer());
    if (waiting_ == 0) {
      RETURN_IF_ERROR(try_reserve(layer_, whole.element_count() * size_of(plan_.header.dtype)));
    }
    const auto layer = MutableTensorView::contiguous(layer_.data(), plan_.header.dtype, whole);
    Region place{{}, with_rows(shape(), count)};
    if (shape().rank() > 0) place.origin[0] = waiting_;
    copy_elements(rows, layer.part(place));
    waiting_ += count;
    return {};
  }

  Result<void> write_layer(const TensorView& rows) {
    const std::uint64_t count = row_count(rows.shape);
    if (has_elements()) {
      source_.show(rows, written_);
      const std::uint64_t layers = (row_count(shape()) + layer_rows_ - 1) / layer_rows_;
      const std::uint64_t chunks = plan_.grid.chunk_count() / layers;
      RETURN_IF_ERROR(records_.compress(
          written_ / layer_rows_ * chunks, chunks, [&] { return sink_.room(); },
          [&](std::uint64_t number, const CompressedChunk& chunk,
              std::span<const std::byte> record) {
            return assembly_.append(number, chunk, record);
          }));
    }
    written_ += count;
    waiting_ = 0;
    return {};
  }

  StreamPlan plan_;
  ByteSink& sink_;
  CompressOptions options_;
  Execution execution_;
  RowSource source_;
  RecordCompressor records_;
  StreamAssembly assembly_;
  std::uint64_t layer_rows_;
  std::uint64_t written_ = 0;  // rows
  std::uint64_t waiting_ = 0;  // rows, in layer_
  AlignedBuffer layer_;
};

StreamWriter::StreamWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
StreamWriter::StreamWriter(StreamWriter&&) noexcept = default;
StreamWriter& StreamWriter::operator=(StreamWriter&&) noexcept = default;
StreamWriter::~StreamWriter() = default;

Result<StreamWriter> StreamWriter::begin(const Codec& codec, DType dtype, const Shape& shape,
                                         ByteSink& sink, CompressOptions options) {
  TRY(const Execution execution, Execution::of(options));
  RowSource nothing(dtype, shape);
  const auto look = look_of_this_process(nothing, execution);
  TRY(const Resolution resolution, Resolution::begin(codec, nothing, options, *look));
  TRY(auto plan, plan_stream(resolution.resolved().codec, dtype, shape, options.chunk_shape,
                             options.attributes, options.fill_values));
  auto state = std::make_unique<State>(std::move(plan), sink, std::move(options), execution);
  RETURN_IF_ERROR(state->begin());
  return StreamWriter(std::move(state));
}

Result<void> StreamWriter::append(const TensorView& rows) {
  return state_->append(rows);
}

Result<StreamInfo> StreamWriter::finish() {
  return state_->finish();
}

}  // namespace tensorpress
