#include "benchmark/studies/table4.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.h"
#include "codecs/ceresz/cuszp_size.h"
#include "stream/writer.h"

namespace tensorpress::benchmark {
namespace {

constexpr std::string_view kCuszpSize = "cuszp-size";

/// Streams are only weighed, not kept: the largest fields of SDRBench have 1.4 GB.
class Scale : public stream::ByteSink {
 public:
  Result<void> append(std::span<const std::byte> /*bytes*/) override { return {}; }
};

bool is_in_this_build(std::string_view codec) {
  const auto all = codecs();
  return std::ranges::find(all, codec, &CodecInfo::name) != all.end();
}

/// The elements of a file in C order, some at a time; every piece but the last has whole blocks.
template <class Work>
Result<void> for_each_piece(const FoundDataSet::File& file, Work work) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  static_assert(kPiece % ceresz::kBlockValues == 0);
  const std::uint64_t count = file.format.shape.element_count();
  TRY(const auto source,
      files::open_tensor(file.path, files::RawFormat{Shape{count}, file.format.dtype}));
  AlignedBuffer scratch;
  for (std::uint64_t begin = 0; begin < count; begin += kPiece) {
    Region region;
    region.origin[0] = begin;
    region.extent = Shape{std::min(kPiece, count - begin)};
    TRY(const TensorView view, source->read(region, scratch));
    const auto length = static_cast<std::size_t>(view.element_count());
    if (view.dtype == DType::f32) {
      work(std::span(reinterpret_cast<const float*>(view.data), length));
    } else {
      work(std::span(reinterpret_cast<const double*>(view.data), length));
    }
  }
  return {};
}

struct FieldRange {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  bool finite = true;
};

Result<FieldRange> range_of(const FoundDataSet::File& file) {
  FieldRange range;
  RETURN_IF_ERROR(for_each_piece(file, [&](auto values) {
    for (const auto value : values) {
      range.finite = range.finite && std::isfinite(value);
      range.low = std::min(range.low, static_cast<double>(value));
      range.high = std::max(range.high, static_cast<double>(value));
    }
  }));
  return range;
}

Result<std::uint64_t> cuszp_bytes(const FoundDataSet::File& file, double relative) {
  TRY(const FieldRange range, range_of(file));
  const double bound = relative * (range.high - range.low);
  if (!range.finite || !(bound >= std::numeric_limits<float>::min())) {
    return unsupported(file.path, " is constant or has NaN or infinity in it, which cuSZp cannot");
  }
  std::uint64_t bytes = 0;
  RETURN_IF_ERROR(for_each_piece(file, [&](auto values) {
    using T = typename decltype(values)::value_type;
    bytes += ceresz::cuszp_size(std::span<const T>(values), bound);
  }));
  return bytes;
}

Result<std::uint64_t> own_bytes(const FoundDataSet::File& file, std::string_view name,
                                double relative, std::size_t threads) {
  TRY(const Codec codec, Codec::make(name));
  TRY(const auto source, files::open_tensor(file.path, file.format));
  Scale scale;
  stream::WriteOptions options;
  options.bound.bound = Bound::relative(relative);
  options.threads = threads;
  TRY(const StreamInfo info, stream::write_stream(codec, *source, scale, options));
  return info.bytes_out;
}

/// Fills in what was measured. A field that a codec cannot take is left out of its row.
Result<void> measure(const FoundDataSet& data_set, std::size_t threads, Table4Row& row) {
  RatioRange range{.min = std::numeric_limits<double>::infinity(), .max = 0, .avg = 0};
  for (const auto& file : data_set.files) {
    const auto bytes = row.codec == kCuszpSize ? cuszp_bytes(file, row.bound)
                                               : own_bytes(file, row.codec, row.bound, threads);
    if (!bytes.ok()) {
      if (bytes.error().code != ErrorCode::unsupported) return bytes.error();
      row.cannot = bytes.error().message;
      continue;
    }
    const std::uint64_t bytes_in = file.format.shape.element_count() * size_of(file.format.dtype);
    const double ratio = static_cast<double>(bytes_in) / static_cast<double>(*bytes);
    range.min = std::min(range.min, ratio);
    range.max = std::max(range.max, ratio);
    range.avg += ratio;
    ++row.fields;
  }
  if (row.fields == 0) return {};
  range.avg /= static_cast<double>(row.fields);
  row.measured = range;
  return {};
}

}  // namespace

Result<std::vector<Table4Row>> measure_table4(const FoundDataSet& data_set, std::size_t threads) {
  std::vector<Table4Row> rows;
  for (std::size_t b = 0; b < kTable4Bounds.size(); ++b) {
    for (std::size_t c = 0; c < kTable4Codecs.size(); ++c) {
      Table4Row row{.data_set = data_set.name,
                    .bound = kTable4Bounds[b],
                    .codec = std::string(kTable4Codecs[c])};
      if (data_set.published != nullptr) row.published = data_set.published->published[c][b];
      if (row.codec != kCuszpSize && !is_in_this_build(row.codec)) {
        row.cannot = text("codec ", row.codec, " is not in this build");
      } else if (data_set.files.empty()) {
        row.cannot = "no field found";
      } else {
        RETURN_IF_ERROR(measure(data_set, threads, row));
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace tensorpress::benchmark
