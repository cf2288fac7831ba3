#include "filter_settings.h"

#include "base/errors.h"

namespace tensorpress::cli {

Result<files::Hdf5FilterSettings> filter_settings(const CodecOptions& codec,
                                                  const BoundOptions& bound,
                                                  std::uint32_t threads) {
  TRY(Codec chosen, codec.codec());
  RETURN_IF_ERROR(bound.check_for(chosen));
  TRY(auto options, bound.options());
  if (options.value_range) {
    return bad_argument("--range does not go with an HDF5 filter, which looks at each chunk");
  }
  return files::Hdf5FilterSettings{.codec = std::move(chosen),
                                   .bound = options.bound,
                                   .fill_values = std::move(options.fill_values),
                                   .threads = threads};
}

Json describe(const files::Hdf5FilterSettings& settings) {
  Json fields;
  fields["codec"] = settings.codec.name();
  // Parameters that a chunk's own stream will hold are not known yet.
  if (Json parameters = parameters_to_json(settings.codec); !parameters.empty()) {
    fields["parameters"] = std::move(parameters);
  }
  if (settings.bound) fields["bound"] = settings.bound->to_string();
  if (!settings.fill_values.empty()) {
    fields["fill_values"] = numbers_to_json(settings.fill_values);
  }
  if (settings.threads != 0) fields["threads"] = settings.threads;
  if (settings.chunk) {
    fields["dtype"] = name_of(settings.chunk->dtype);
    fields["byte_order"] = settings.chunk->big_endian ? "big" : "little";
    fields["chunk_shape"] = json_shape(settings.chunk->shape);
    if (settings.chunk->fill_value) {
      fields["dataset_fill_value"] = json_number(*settings.chunk->fill_value);
    }
  }
  return fields;
}

std::string joined(const std::vector<std::uint32_t>& words) {
  std::string list;
  for (const auto word : words) list += text(list.empty() ? "" : ",", word);
  return list;
}

}  // namespace tensorpress::cli
