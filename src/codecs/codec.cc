// Codecs by name: the public face of the registry.
#include "tensorpress/codec.h"

#include <algorithm>

#include "base/errors.h"
#include "codecs/bounded/parameters.h"
#include "codecs/registry.h"

namespace tensorpress {
namespace {

std::string names_of_codecs() {
  std::string names;
  for (const auto* codec : registered_codecs())
    names += text(names.empty() ? "" : ", ", codec->info.name);
  return names;
}

// Those that users give.
std::string names_of_parameters(const CodecInfo& info) {
  std::string names;
  for (const auto& parameter : info.parameters) {
    if (!parameter.from_data) names += text(names.empty() ? "" : ", ", parameter.name);
  }
  return names.empty() ? "none" : names;
}

}  // namespace

/// What the library may do with a Codec, and users may not.
struct CodecAccess {
  static Codec make(std::string name, std::vector<Parameter> parameters,
                    std::shared_ptr<const ChunkCodec> working) {
    return {std::move(name), std::move(parameters), std::move(working)};
  }
  static const std::shared_ptr<const ChunkCodec>& working(const Codec& codec) {
    return codec.working_;
  }
};

Codec::Codec(std::string name, std::vector<Parameter> parameters,
             std::shared_ptr<const ChunkCodec> working)
    : name_(std::move(name)),
      parameters_(std::move(parameters)),
      working_(std::move(working)),
      kept_bound_(working_->kept_bound()) {}

Result<Codec> Codec::make(std::string_view name, std::span<const Parameter> parameters) {
  const RegisteredCodec* const registered = find_codec(name);
  if (registered == nullptr) {
    return bad_argument("there is no codec '", name, "'; this build has ", names_of_codecs());
  }
  std::vector<Parameter> complete;
  for (const auto& info : registered->info.parameters) {
    complete.push_back({std::string(info.name), std::string(info.default_value)});
  }
  for (const auto& given : parameters) {
    const auto slot = std::ranges::find(complete, given.name, &Parameter::name);
    if (slot == complete.end()) {
      return bad_argument("codec ", name, " has no parameter '", given.name, "'; it takes ",
                          names_of_parameters(registered->info));
    }
    slot->value = given.value;
  }
  TRY(auto working, registered->create(complete));
  return Codec(std::string(name), std::move(complete), std::move(working));
}

Result<Codec> Codec::dct_chop(const DctChopOptions& options) {
  const Parameter parameters[] = {{"cf", text(options.chop_factor)},
                                  {"layout", std::string(options.layout)},
                                  {"transform", std::string(options.transform)},
                                  {"coefficients", std::string(options.coefficients)},
                                  {"form", std::string(options.form)},
                                  {"serialize", text(options.serialize)}};
  return make("dct-chop", parameters);
}

std::string_view Codec::parameter(std::string_view name) const {
  const auto found = std::ranges::find(parameters_, name, &Parameter::name);
  return found == parameters_.end() ? std::string_view() : std::string_view(found->value);
}

std::vector<CodecInfo> codecs() {
  std::vector<CodecInfo> infos;
  for (const auto* codec : registered_codecs()) infos.push_back(codec->info);
  return infos;
}

std::vector<Fact> facts(const Codec& codec, const Shape& shape, DType dtype) {
  return chunk_codec_of(codec)->facts(shape, dtype);
}

const std::shared_ptr<const ChunkCodec>& chunk_codec_of(const Codec& codec) {
  return CodecAccess::working(codec);
}

Result<Codec> with_kept_bound(const Codec& codec, const KeptBound& bound) {
  RETURN_IF_ERROR(bounded::check(bound));
  auto working = chunk_codec_of(codec)->keeping(bound);
  ENSURE(working != nullptr);
  std::vector<Parameter> parameters(codec.parameters().begin(), codec.parameters().end());
  bounded::write(bound, parameters);
  return CodecAccess::make(codec.name(), std::move(parameters), std::move(working));
}

}  // namespace tensorpress
