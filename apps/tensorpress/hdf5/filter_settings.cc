#include "filter_settings.h"

#include "base/errors.h"
#include "command_line/reports/stream_report.h"

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

ReportFields describe(const files::Hdf5FilterSettings& settings) {
  ReportFields fields;
  fields.set("codec", settings.codec.name());
  // Parameters that a chunk's own stream will hold are not known yet.
  if (auto parameters = describe_parameters(settings.codec); !parameters.empty()) {
    fields.set("parameters", std::move(parameters));
  }
  if (settings.bound) fields.set("bound", settings.bound->to_string());
  if (!settings.fill_values.empty()) {
    fields.set("fill_values", settings.fill_values);
  }
  if (settings.threads != 0) fields.set("threads", settings.threads);
  if (settings.chunk) {
    fields.set("dtype", name_of(settings.chunk->dtype));
    fields.set("byte_order", settings.chunk->big_endian ? "big" : "little");
    fields.set("chunk_shape", settings.chunk->shape);
    if (settings.chunk->fill_value) {
      fields.set("dataset_fill_value", json_number(*settings.chunk->fill_value));
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
