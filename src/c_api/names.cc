// Versions, names and the list of codecs: calls that only look things up.
#include <algorithm>
#include <cstring>

#include "c_api/arguments.h"
#include "codecs/registry.h"

namespace tensorpress::c_api {
namespace {

const CodecInfo* codec_at(std::size_t index) {
  const auto codecs = registered_codecs();
  return index < codecs.size() ? &codecs[index]->info : nullptr;
}

// Names and help texts of codecs and types are string literals, so a NUL follows them.
const char* literal(std::string_view text) {
  return text.data() == nullptr ? "" : text.data();
}

template <class Options>
void initialize(Options* options, std::size_t struct_size) {
  if (options == nullptr || struct_size < sizeof(std::size_t)) return;
  std::memset(static_cast<void*>(options), 0, struct_size);
  options->struct_size = struct_size;
}

}  // namespace
}  // namespace tensorpress::c_api

using tensorpress::c_api::codec_at;
using tensorpress::c_api::literal;

uint32_t tensorpress_version_number() {
  return TENSORPRESS_VERSION_NUMBER;
}

const char* tensorpress_version_string() {
  return TENSORPRESS_VERSION_STRING;
}

const char* tensorpress_error_name(tensorpress_status status) {
  switch (status) {
    case TENSORPRESS_OK:
      return "ok";
    case TENSORPRESS_OUT_OF_MEMORY:
      return "out_of_memory";
    case TENSORPRESS_RUNNER_FAILED:
      return "runner_failed";
    default:
      if (status < 0 || status > TENSORPRESS_LIKELY_FILL) return "unknown";
      return literal(tensorpress::error_name(static_cast<tensorpress::ErrorCode>(status)));
  }
}

size_t tensorpress_dtype_bytes(tensorpress_dtype dtype) {
  const char* const name = tensorpress_dtype_name(dtype);
  return name == nullptr ? 0 : tensorpress::size_of(static_cast<tensorpress::DType>(dtype));
}

const char* tensorpress_dtype_name(tensorpress_dtype dtype) {
  switch (dtype) {
    case TENSORPRESS_F32:
    case TENSORPRESS_F64:
    case TENSORPRESS_F16:
    case TENSORPRESS_BF16:
    case TENSORPRESS_U8:
    case TENSORPRESS_I16:
      return literal(tensorpress::name_of(static_cast<tensorpress::DType>(dtype)));
    default:
      return nullptr;
  }
}

tensorpress_status tensorpress_dtype_parse(const char* name, tensorpress_dtype* dtype,
                                           tensorpress_error* error) {
  return tensorpress::c_api::at_border(error, [&]() -> tensorpress::Result<void> {
    RETURN_IF_ERROR(tensorpress::c_api::require(name, "the name"));
    RETURN_IF_ERROR(tensorpress::c_api::require(dtype, "dtype"));
    TRY(const auto found, tensorpress::parse_dtype(name));
    *dtype = static_cast<tensorpress_dtype>(found);
    return {};
  });
}

size_t tensorpress_codec_count() {
  return tensorpress::registered_codecs().size();
}

const char* tensorpress_codec_name(size_t index) {
  const auto* const codec = codec_at(index);
  return codec == nullptr ? nullptr : literal(codec->name);
}

const char* tensorpress_codec_summary(size_t index) {
  const auto* const codec = codec_at(index);
  return codec == nullptr ? nullptr : literal(codec->summary);
}

int tensorpress_codec_is_error_bounded(size_t index) {
  const auto* const codec = codec_at(index);
  return codec != nullptr && codec->error_bounded ? 1 : 0;
}

size_t tensorpress_codec_parameter_count(size_t index) {
  const auto* const codec = codec_at(index);
  return codec == nullptr ? 0 : codec->parameters.size();
}

tensorpress_status tensorpress_codec_parameter(size_t index, size_t parameter,
                                               tensorpress_parameter_info* info,
                                               tensorpress_error* error) {
  return tensorpress::c_api::at_border(error, [&]() -> tensorpress::Result<void> {
    RETURN_IF_ERROR(tensorpress::c_api::require(info, "info"));
    const auto* const codec = codec_at(index);
    if (codec == nullptr) return tensorpress::bad_argument("there is no codec ", index);
    if (parameter >= codec->parameters.size()) {
      return tensorpress::bad_argument("codec ", codec->name, " has no parameter ", parameter);
    }
    const auto& found = codec->parameters[parameter];
    *info = {literal(found.name), literal(found.default_value), literal(found.choices),
             literal(found.help), found.from_data ? 1 : 0};
    return {};
  });
}

void tensorpress_compress_options_init(tensorpress_compress_options* options, size_t struct_size) {
  tensorpress::c_api::initialize(options, struct_size);
}

void tensorpress_decompress_options_init(tensorpress_decompress_options* options,
                                         size_t struct_size) {
  tensorpress::c_api::initialize(options, struct_size);
}

void tensorpress_pack_options_init(tensorpress_pack_options* options, size_t struct_size) {
  tensorpress::c_api::initialize(options, struct_size);
}
