#include "wafer/field/field_on_wafer.h"

#include <algorithm>

#include "base/errors.h"
#include "base/tensor/region.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/bounded/observing_coder.h"
#include "codecs/ceresz/ceresz.h"
#include "codecs/ceresz2/ceresz2.h"
#include "kernels/bitplane/bitplane.h"

namespace tensorpress::wafer {
namespace {

using programs::Mapping;

struct MeshCoding {
  programs::MeshRun run;
  bool same_as_host = false;
  std::optional<programs::MeshRun> back = {};
  bool back_same_as_host = false;
};

/// One chunk of clean values, coded on the mesh and by the host.
Result<MeshCoding> code_on_mesh(const bounded::Field<float>& field, double bound,
                                const bounded::FieldCoder& host, const Calibration& calibration,
                                const FieldOptions& options, ChunkWorkspace& workspace) {
  const auto& book = ceresz2::Codebook::standard();
  MeshCoding coding;
  TRY(coding.run, programs::compress_on_mesh(field.values, bound, book, calibration, options.mesh));
  // More than any block takes, and all values once more as outliers.
  const std::size_t blocks = field.values.size() / 32 + 1;
  std::vector<std::byte> own(64 + blocks * 160 + field.values.size() * 8);
  const auto bytes = host.encode(field, bound, own, workspace);
  own.resize(bytes.value_or(0));
  coding.same_as_host = bytes && coding.run.payload == own;
  if (!options.decompress) return coding;
  TRY(auto back, programs::decompress_on_mesh(coding.run.payload, field.values.size(), bound, book,
                                              calibration, options.mesh));
  std::vector<float> values(field.values.size());
  RETURN_IF_ERROR(host.decode(coding.run.payload, field.shape, bound, values, workspace));
  coding.back_same_as_host =
      std::ranges::equal(std::as_bytes(std::span(values)), std::as_bytes(std::span(back.values)));
  coding.back = std::move(back);
  return coding;
}

/// The values that the host's codec would code of a tensor, which is one chunk, coded on the mesh;
/// nothing if it codes none, because they are all the same.
Result<std::optional<MeshCoding>> code_what_host_codes(const TensorView& tensor,
                                                       const bounded::FieldCoder& host,
                                                       const KeptBound& kept,
                                                       const Calibration& calibration,
                                                       const FieldOptions& options) {
  std::optional<Result<MeshCoding>> coding;
  const auto observe = [&](const auto& field, double bound, ChunkWorkspace& workspace) {
    if constexpr (std::is_same_v<decltype(field), const bounded::Field<float>&>) {
      coding = code_on_mesh(field, bound, host, calibration, options, workspace);
    }
  };
  const auto codec = bounded::make_bounded_codec(bounded::make_observing_coder(observe),
                                                 bounded::Parameters::of(kept));
  std::vector<std::byte> output(
      static_cast<std::size_t>(codec->bound_on_output_size(tensor.shape, tensor.dtype)));
  ChunkWorkspace workspace(usable_isas().back());
  const auto compressed = codec->compress(tensor, output, workspace);
  if (coding && !coding->ok()) return coding->error();
  if (!compressed.ok()) return compressed.error();
  if (!coding) return std::optional<MeshCoding>();
  return std::optional(std::move(*coding).value());
}

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
  AlignedBuffer scratch;
  Region whole;
  whole.extent = source.shape();
  TRY(const TensorView view, source.read(whole, scratch));
  TRY(auto coding, code_what_host_codes(view, *host, *kept, calibration, options));
  if (!coding) return result;
  result.payload_bytes = coding->run.payload.size();
  result.run = std::move(coding->run);
  result.same_as_host = coding->same_as_host;
  result.back = std::move(coding->back);
  result.back_same_as_host = coding->back_same_as_host;
  return result;
}

}  // namespace tensorpress::wafer
