#include "wafer/field/field_on_wafer.h"

#include <algorithm>

#include "base/errors.h"
#include "base/region.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/ceresz/ceresz.h"
#include "codecs/ceresz2/ceresz2.h"
#include "kernels/bitplane/bitplane.h"

namespace tensorpress::wafer {
namespace {

using programs::Mapping;

/// Codes on the mesh and on the host, and notes whether they agree. One call at a time.
class MeshCoder final : public bounded::FieldCoder {
 public:
  MeshCoder(std::unique_ptr<bounded::FieldCoder> host, const Calibration& calibration,
            const FieldOptions& options, FieldOnWafer& result, Result<void>& outcome)
      : host_(std::move(host)),
        calibration_(calibration),
        options_(options),
        result_(result),
        outcome_(outcome) {}

  Shape preferred_chunk_shape(const Shape& shape, DType) const override { return shape; }

  std::optional<std::size_t> encode(const bounded::Field<float>& field, double bound,
                                    std::span<std::byte> output,
                                    ChunkWorkspace& workspace) const override {
    outcome_ = run(field, bound, workspace);
    if (!outcome_.ok() || result_.payload_bytes > output.size()) return std::nullopt;
    std::ranges::copy(result_.run->payload, output.begin());
    return result_.payload_bytes;
  }
  std::optional<std::size_t> encode(const bounded::Field<double>&, double, std::span<std::byte>,
                                    ChunkWorkspace&) const override {
    return std::nullopt;
  }
  Result<void> decode(std::span<const std::byte> input, const Shape& shape, double bound,
                      std::span<float> output, ChunkWorkspace& workspace) const override {
    return host_->decode(input, shape, bound, output, workspace);
  }
  Result<void> decode(std::span<const std::byte> input, const Shape& shape, double bound,
                      std::span<double> output, ChunkWorkspace& workspace) const override {
    return host_->decode(input, shape, bound, output, workspace);
  }

 private:
  Result<void> run(const bounded::Field<float>& field, double bound,
                   ChunkWorkspace& workspace) const {
    const auto& book = ceresz2::Codebook::standard();
    TRY(auto run,
        programs::compress_on_mesh(field.values, bound, book, calibration_, options_.mesh));
    // More than any block takes, and all values once more as outliers.
    const std::size_t blocks = field.values.size() / 32 + 1;
    std::vector<std::byte> own(64 + blocks * 160 + field.values.size() * 8);
    const auto bytes = host_->encode(field, bound, own, workspace);
    own.resize(bytes.value_or(0));
    result_.same_as_host = bytes && run.payload == own;
    result_.payload_bytes = run.payload.size();
    if (options_.decompress) {
      TRY(auto back, programs::decompress_on_mesh(run.payload, field.values.size(), bound, book,
                                                  calibration_, options_.mesh));
      std::vector<float> values(field.values.size());
      RETURN_IF_ERROR(host_->decode(run.payload, field.shape, bound, values, workspace));
      result_.back_same_as_host = std::ranges::equal(std::as_bytes(std::span(values)),
                                                     std::as_bytes(std::span(back.values)));
      result_.back = std::move(back);
    }
    result_.run = std::move(run);
    return {};
  }

  std::unique_ptr<bounded::FieldCoder> host_;
  const Calibration& calibration_;
  const FieldOptions& options_;
  FieldOnWafer& result_;
  Result<void>& outcome_;
};

struct NamedMapping {
  const char* name;
  Mapping mapping;
  const char* codec;
};
constexpr NamedMapping kMappings[] = {{"ceresz2", Mapping::ceresz2, "ceresz2"},
                                      {"ceresz", Mapping::ceresz, "ceresz"},
                                      {"ceresz-3", Mapping::ceresz_three, "ceresz"}};

}  // namespace

Result<Mapping> mapping_named(std::string_view name) {
  std::string names;
  for (const NamedMapping& each : kMappings) {
    if (name == each.name) return each.mapping;
    names += text(names.empty() ? "" : ", ", each.name);
  }
  return bad_argument("no program for `codec` ", name, " on the wafer; there is ", names);
}

const char* codec_of(Mapping mapping) {
  for (const NamedMapping& each : kMappings) {
    if (each.mapping == mapping) return each.codec;
  }
  return "";
}

Result<FieldOnWafer> run_field(TensorSource& source, const Calibration& calibration,
                               const FieldOptions& options) {
  if (source.dtype() != DType::f32) {
    return unsupported("elements of type ", name_of(source.dtype()),
                       "; the wafer's wavelets have 32 bits, and its programs take f32");
  }
  if (options.compress.bound && options.compress.bound->kind() != Bound::Kind::absolute &&
      options.compress.bound->kind() != Bound::Kind::relative) {
    return unsupported("bound ", options.compress.bound->to_string(),
                       "; programs on the wafer keep `absolute` or `relative`");
  }
  if (source.shape().element_count() == 0) {
    return bad_argument("a field without elements needs no wafer");
  }
  TRY(const Codec codec, Codec::make(codec_of(options.mesh.mapping)));
  CompressOptions write = options.compress;
  if (source.shape().rank() > 0) write.chunk_shape = source.shape();
  VectorSink sink;
  TRY(StreamInfo info, write_stream(codec, source, sink, write));
  FieldOnWafer result{.info = std::move(info), .stream = std::move(sink.bytes)};

  std::unique_ptr<bounded::FieldCoder> host = make_ceresz();
  if (options.mesh.mapping == Mapping::ceresz2) {
    TRY(host, make_ceresz2("default"));
  }
  const auto& kept = result.info.codec.kept_bound();
  ENSURE(kept.has_value());
  Result<void> outcome;
  const auto mesh_codec = bounded::make_bounded_codec(
      std::make_unique<MeshCoder>(std::move(host), calibration, options, result, outcome),
      bounded::Parameters::of(*kept));
  AlignedBuffer scratch;
  Region whole;
  whole.extent = source.shape();
  TRY(const TensorView view, source.read(whole, scratch));
  std::vector<std::byte> output(
      static_cast<std::size_t>(mesh_codec->bound_on_output_size(source.shape(), source.dtype())));
  ChunkWorkspace workspace(usable_isas().back());
  const auto compressed = mesh_codec->compress(view, output, workspace);
  RETURN_IF_ERROR(outcome);
  if (!compressed.ok()) return compressed.error();
  return result;
}

}  // namespace tensorpress::wafer
