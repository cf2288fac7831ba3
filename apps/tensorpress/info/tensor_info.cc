#include "tensor_info.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/errors.h"
#include "command_line/inputs/paths.h"
#include "command_line/inputs/stream_file.h"
#include "command_line/reports/stream_report.h"
#include "files/bytes/byte_files.h"
#include "files/netcdf/file.h"
#include "files/tensor/npy.h"
#include "files/tensor/tensor_files.h"
#include "stream/container/stream_input.h"
#include "stream/reader.h"

namespace tensorpress::cli {
namespace {

/// A pipe is read to its end, where the statistics are, and every chunk is checked on the way.
Result<StreamInfo> info_of_pipe() {
  struct Discard : TensorSink {
    Result<void> write(const Region&, const TensorView&) override { return {}; }
  };
  const auto input = files::standard_input();
  const auto make_sink = [](const StreamInfo&) -> Result<std::unique_ptr<TensorSink>> {
    return std::unique_ptr<TensorSink>(std::make_unique<Discard>());
  };
  return read_sequentially(*input, make_sink, {});
}

Result<bool> is_npy(const ByteSource& source) {
  std::array<std::byte, files::kNpyMagic.size()> begin{};
  if (source.size() < begin.size()) return false;
  RETURN_IF_ERROR(source.read_at(0, begin));
  return std::ranges::equal(begin, std::as_bytes(std::span(files::kNpyMagic)));
}

Result<ReportFields> describe_npy(const std::string& path, const ByteSource& source) {
  // Opened for the check of its size; the header alone knows the order.
  TRY(const auto tensor, files::open_tensor(path, std::nullopt));
  stream::SourceInput input(source, 0, source.size());
  TRY(const auto header, files::read_npy_header(input));
  ReportFields fields;
  fields.set("format", "npy");
  fields.set("dtype", name_of(tensor->dtype()));
  fields.set("shape", tensor->shape());
  fields.set("order", header.fortran_order ? "fortran" : "c");
  fields.set("byte_order", header.big_endian ? "big" : "little");
  fields.set("bytes_in", ByteCount{tensor->shape().element_count() * size_of(tensor->dtype())});
  return fields;
}

TensorDescription description_of(const StreamInfo& info) {
  return {.fields = describe(info), .bytes_in = bytes_in_file(info), .bytes_out = info.bytes_out};
}

std::string lower_case(std::string word) {
  for (char& letter : word) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return word;
}

}  // namespace

Result<TensorDescription> describe_tensor(const std::string& path) {
  if (is_pipe(path)) {
    TRY(const StreamInfo info, info_of_pipe());
    return description_of(info);
  }
  TRY(const auto source, files::open_bytes(path));
  TRY(const bool npy, is_npy(*source));
  if (npy) {
    TRY(auto fields, describe_npy(path, *source));
    return TensorDescription{.fields = std::move(fields)};
  }
  if (files::is_array_file_name(path)) {
    return corrupt(source->size() == 0
                       ? "the file is empty"
                       : "the file begins like neither NetCDF nor HDF5; it may be cut off");
  }
  RETURN_IF_ERROR(check_is_stream(path));
  const auto reader = StreamReader::open(*source);
  if (reader.ok()) return description_of(reader->info());
  // What its name says goes before what its bytes are not.
  const std::string name = lower_case(path);
  if (name.ends_with(".npy")) RETURN_IF_ERROR(files::open_tensor(path, std::nullopt));
  if (name.ends_with(".raw")) {
    return bad_argument("raw numbers do not say their shape and type, which compress is told with ",
                        "--shape and --dtype");
  }
  return reader.error();
}

}  // namespace tensorpress::cli
