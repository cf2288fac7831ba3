#include "reader.h"

#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>

#include "arrays.h"
#include "errors.h"
#include "files/bytes/byte_files.h"
#include "interruption.h"
#include "metrics/stream_comparison.h"
#include "metrics/verdict.h"
#include "stream/container/history.h"
#include "stream/reader.h"
#include "tensorpress/streaming.h"

namespace nb = nanobind;
using nb::literals::operator""_a;

namespace tensorpress::python {
namespace {

nb::str to_str(std::string_view text) {
  return nb::str(text.data(), text.size());
}

nb::tuple to_tuple(const Shape& shape) {
  nb::list extents;
  for (const std::uint64_t extent : shape.extents()) extents.append(extent);
  return nb::tuple(extents);
}

/// Every step of lossy compression, this stream the last. What stands in the attribute may be
/// anything: a stream with a strange one can still be looked at.
std::string history_of(const StreamInfo& info) {
  const auto history = stream::history_with(info);
  return history.ok() ? to_text(*history) : std::string();
}

nb::dict to_dict(const StreamInfo& info) {
  nb::dict fields, parameters, statistics, attributes;
  for (const auto& parameter : info.codec.parameters()) {
    parameters[to_str(parameter.name)] = to_str(parameter.value);
  }
  for (const auto& statistic : info.statistics) {
    statistics[to_str(statistic.name)] = statistic.value;
  }
  for (const auto& attribute : info.attributes) {
    attributes[to_str(attribute.name)] = to_str(attribute.value);
  }
  fields["format_version"] = info.format_version;
  fields["codec"] = to_str(info.codec.name());
  fields["parameters"] = parameters;
  fields["dtype"] = to_str(name_of(info.dtype));
  fields["shape"] = to_tuple(info.shape);
  fields["chunk_shape"] = to_tuple(info.chunk_shape);
  fields["chunks"] = info.chunk_count;
  fields["bytes_in"] = info.bytes_in();
  fields["bytes_out"] = info.bytes_out;
  fields["payload_bytes"] = info.payload_bytes;
  fields["history"] = to_str(history_of(info));
  fields["statistics"] = statistics;
  fields["attributes"] = attributes;
  return fields;
}

// What is open. Readers at work share it, so closing never takes it from under them.
struct Opened {
  std::optional<HeldBuffer> buffer;
  std::unique_ptr<ByteSource> source;
  std::optional<StreamReader> reader;
};

class Reader {
 public:
  static std::unique_ptr<Reader> of_file(const nb::bytes& path) {
    auto opened = std::make_shared<Opened>();
    const std::string name(path.c_str(), path.size());
    {
      auto source = [&] {
        const nb::gil_scoped_release released;
        return files::open_bytes(name);
      }();
      opened->source = value_or_raise(std::move(source));
    }
    return open(std::move(opened));
  }

  static std::unique_ptr<Reader> of_buffer(nb::handle stream) {
    auto opened = std::make_shared<Opened>();
    opened->buffer.emplace(stream, HeldBuffer::Access::read);
    opened->source = std::make_unique<MemorySource>(opened->buffer->bytes());
    return open(std::move(opened));
  }

  nb::dict info() const { return to_dict(opened()->reader->info()); }

  void read(const std::vector<std::uint64_t>& origin, nb::handle out, bool bits_of_bf16,
            std::size_t threads, std::uint64_t max_bytes) const {
    const auto holder = opened();
    const WritableArray output = import_output(out);
    const MutableTensorView view = view_of(output, bits_of_bf16);
    if (holder->buffer) refuse_overlap(view, holder->buffer->bytes());
    const StreamInfo& info = holder->reader->info();
    if (view.dtype != info.dtype || origin.size() != info.shape.rank()) {
      throw nb::value_error("the output has another element type or rank than the stream");
    }
    Region region{{}, view.shape};
    for (std::size_t axis = 0; axis < origin.size(); ++axis) region.origin[axis] = origin[axis];
    ViewSink sink(view);
    check(interruptible(threads, [&](const Runner& runner) {
      return holder->reader->read_region(
          region, sink, {.threads = threads, .runner = runner, .max_bytes = max_bytes});
    }));
  }

  nb::dict compare(nb::handle original, bool bits_of_bf16, std::size_t threads) const {
    const auto holder = opened();
    const ReadOnlyArray input = import_input(original);
    const TensorView view = view_of(input, bits_of_bf16);
    const StreamInfo& info = holder->reader->info();
    ViewSource source(view);
    metrics::StreamComparison comparison(source);
    check(comparison.expect(info));
    check(interruptible(threads, [&](const Runner& runner) {
      return holder->reader->read_all(
          comparison, {.threads = threads, .runner = runner, .max_bytes = UINT64_MAX});
    }));
    const metrics::ErrorStatistics& measured = comparison.statistics();
    nb::dict fields;
    fields["max_abs_error"] = measured.max_abs_error;
    fields["max_rel_error"] = measured.max_rel_error();
    fields["max_pointwise_error"] = measured.max_pointwise_error;
    fields["psnr_db"] = measured.psnr_db();
    fields["nrmse"] = measured.nrmse();
    fields["l2_error"] = measured.l2_error();
    fields["mismatched_nonfinite"] = measured.mismatched_nonfinite;
    fields["reason"] = to_str(metrics::what_is_wrong(measured, info));
    return fields;
  }

  void close() {
    // Destroyed after the lock is gone: giving a buffer back may run code of its owner.
    std::shared_ptr<const Opened> last;
    const std::lock_guard lock(mutex_);
    last.swap(opened_);
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return opened_ == nullptr;
  }

 private:
  static std::unique_ptr<Reader> open(std::shared_ptr<Opened> opened) {
    auto reader = [&] {
      const nb::gil_scoped_release released;
      return StreamReader::open(*opened->source);
    }();
    opened->reader.emplace(value_or_raise(std::move(reader)));
    auto result = std::make_unique<Reader>();
    result->opened_ = std::move(opened);
    return result;
  }

  std::shared_ptr<const Opened> opened() const {
    const std::lock_guard lock(mutex_);
    if (!opened_) throw nb::value_error("the reader is closed");
    return opened_;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<const Opened> opened_;
};

}  // namespace

void define_reader(nb::module_& module) {
  nb::class_<Reader>(module, "Reader")
      .def_static("of_file", &Reader::of_file, "path"_a)
      .def_static("of_buffer", &Reader::of_buffer, "stream"_a.none())
      .def("info", &Reader::info)
      .def("read", &Reader::read, "origin"_a, "out"_a, "bits_of_bf16"_a, "threads"_a, "max_bytes"_a)
      .def("compare", &Reader::compare, "original"_a, "bits_of_bf16"_a, "threads"_a)
      .def("close", &Reader::close)
      .def_prop_ro("closed", &Reader::closed);
}

}  // namespace tensorpress::python
