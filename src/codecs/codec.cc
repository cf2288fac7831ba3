// Codecs by name: the public face of the registry.
#include "tensorpress/codec.h"

#include <algorithm>

#include "base/errors.h"
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

const RegisteredCodec* find_codec(std::string_view name) {
  for (const auto* codec : registered_codecs()) {
    if (codec->info.name == name) return codec;
  }
  return nullptr;
}

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
  TRY(const auto checked, registered->create(complete));
  return Codec(std::string(name), std::move(complete));
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
  const auto working = create_chunk_codec(codec);
  return working.ok() ? (*working)->facts(shape, dtype) : std::vector<Fact>();
}

Result<std::unique_ptr<ChunkCodec>> create_chunk_codec(const Codec& codec) {
  const RegisteredCodec* const registered = find_codec(codec.name());
  if (registered == nullptr) return internal_error("codec ", codec.name(), " is not registered");
  return registered->create(codec.parameters());
}

}  // namespace tensorpress
