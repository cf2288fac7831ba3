#include "command_line/reports/stream_report.h"

#include <algorithm>
#include <charconv>

#include "base/json_text.h"
#include "base/text.h"
#include "codecs/bounded/parameters.h"
#include "command_line/inputs/paths.h"
#include "files/conventions/netcdf_notes.h"
#include "stream/container/history.h"

namespace tensorpress::cli {
namespace {

bool is_netcdf_note(std::string_view name) {
  return name == "netcdf" || name.starts_with("netcdf.");
}

/// NaN and infinity (empty tensors) end up as null.
double quotient(std::uint64_t above, std::uint64_t below) {
  return static_cast<double>(above) / static_cast<double>(below);
}

/// The notes about a NetCDF variable, which a stream keeps as text in one piece or several, as the
/// object that they are; null if they are damaged.
Json netcdf_to_json(std::span<const Attribute> attributes) {
  std::string whole;
  for (const Attribute& attribute : attributes) {
    if (is_netcdf_note(attribute.name)) whole += attribute.value;
  }
  const auto parsed = parse_json_object<Json>(whole);
  return parsed.ok() ? *parsed : Json();
}

ReportFields describe(std::span<const Attribute> attributes) {
  ReportFields fields;
  const Json notes = netcdf_to_json(attributes);
  for (const Attribute& attribute : attributes) {
    if (!is_netcdf_note(attribute.name)) {
      fields.set(attribute.name, attribute.value);
    } else if (notes.is_null()) {
      fields.set(attribute.name, LongText{attribute.value});
    } else if (attribute.name == "netcdf") {
      fields.set(attribute.name, LongText{notes});
    }
  }
  return fields;
}

/// Bytes beyond 2^53 are an estimate and stay a number.
ReportValue value_of(const Fact& fact) {
  Json number = json_number(fact.value);
  if (fact.unit != FactUnit::bytes || !number.is_number_integer()) return number;
  return ByteCount{number.get<std::uint64_t>()};
}

/// A number where the text is one.
Json number_or_text(std::string_view value) {
  // from_chars would also take "inf" and "nan", which JSON has no numbers for.
  const bool may_be_number =
      !value.empty() && value.find_first_not_of("0123456789+-.eE") == std::string_view::npos;
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  const bool is_number = may_be_number && error == std::errc{} && stop == end;
  return is_number ? json_number(number) : Json(value);
}

/// A value that can come from a file is long.
bool is_long(const Codec& codec, const Parameter& parameter) {
  for (const CodecInfo& info : codecs()) {
    if (info.name != codec.name()) continue;
    const auto found = std::ranges::find(info.parameters, parameter.name, &ParameterInfo::name);
    return found != info.parameters.end() && found->file != ParameterFile::none;
  }
  return false;
}

ReportValue value_of(const Codec& codec, const Parameter& parameter) {
  const auto& kept = codec.kept_bound();
  if (kept && parameter.name == bounded::kFillParameter.name) return kept->fill_values;
  if (is_long(codec, parameter)) return LongText{parameter.value};
  return number_or_text(parameter.value);
}

}  // namespace

std::optional<Bound> total_error(const StreamInfo& info) {
  const auto before = stream::history_before(info.attributes);
  if (!before.ok() || before->empty()) return std::nullopt;
  const auto history = stream::history_with(info);
  return history.ok() ? stream::error_of(*history) : std::nullopt;
}

ReportFields describe_parameters(const Codec& codec) {
  ReportFields fields;
  for (const Parameter& parameter : codec.parameters()) {
    if (!parameter.value.empty()) fields.set(parameter.name, value_of(codec, parameter));
  }
  return fields;
}

ReportFields describe(const StreamInfo& info) {
  ReportFields fields;
  fields.set("format_version", info.format_version);
  fields.set("codec", info.codec.name());
  fields.set("parameters", describe_parameters(info.codec));
  fields.set("dtype", name_of(info.dtype));
  fields.set("shape", info.shape);
  fields.set("chunk_shape", info.chunk_shape);
  fields.set("chunks", info.chunk_count);
  fields.set("bytes_in", ByteCount{bytes_in_file(info)});
  // Of packed whole numbers: the values that they stand for.
  if (bytes_in_file(info) != info.bytes_in()) {
    fields.set("unpacked_bytes", ByteCount{info.bytes_in()});
  }
  fields.set("bytes_out", ByteCount{info.bytes_out});
  fields.set("payload_bytes", ByteCount{info.payload_bytes});
  fields.set("ratio", json_number(ratio_of(info)));
  fields.set("payload_ratio", json_number(quotient(bytes_in_file(info), info.payload_bytes)));
  fields.set("bits_per_value",
             json_number(quotient(8 * info.bytes_out, info.shape.element_count())));
  for (const Statistic& statistic : info.statistics) {
    fields.set(statistic.name, json_number(statistic.value));
  }
  for (const Fact& fact : facts(info.codec, info.shape, info.dtype)) {
    fields.set(fact.name, value_of(fact));
  }
  if (const auto total = total_error(info)) fields.set("total_error", total->to_string());
  if (!info.attributes.empty()) fields.set("attributes", describe(info.attributes));
  return fields;
}

std::string error_in_words(const StreamInfo& info) {
  const auto& kept = info.codec.kept_bound();
  if (!kept) return text("l2_error ", rounded(info.statistic("l2_error").value_or(0)));
  if (kept->asked.kind() == Bound::Kind::pointwise_relative) {
    return text("error at most ", kept->asked.value(), " of each value");
  }
  const std::string own = text("max_abs_error at most ", rounded(kept->limit));
  const auto total = total_error(info);
  return total ? text(own, ", ", rounded(total->value()), " against the first values") : own;
}

std::uint64_t bytes_in_file(const StreamInfo& info) {
  const auto notes = files::netcdf_notes(info.attributes);
  if (!notes.ok() || !*notes || !(*notes)->packed()) return info.bytes_in();
  return info.shape.element_count() * size_of((*notes)->type);
}

double ratio_of(const StreamInfo& info) {
  return quotient(bytes_in_file(info), info.bytes_out);
}

std::string compression_in_one_line(const std::string& input, const std::string& output,
                                    const StreamInfo& info, double seconds,
                                    std::uint64_t stored_bytes) {
  const auto named = [](const std::string& path) {
    return is_pipe(path) ? std::string() : text(path, ": ");
  };
  const bool compressed = stored_bytes > 0 && stored_bytes < bytes_in_file(info);
  return text(named(input), human_bytes(bytes_in_file(info)),
              compressed ? text(" (", human_bytes(stored_bytes), " stored)") : "", " -> ",
              named(output), human_bytes(info.bytes_out), ", ratio ", rounded(ratio_of(info)), ", ",
              error_in_words(info), ", ", rounded(gb_per_s(info.bytes_in(), seconds), 3),
              " GB/s\n");
}

double gb_per_s(std::uint64_t bytes, double seconds) {
  return static_cast<double>(bytes) / 1e9 / seconds;
}

std::string remark_on_raw_chunks(const StreamInfo& info) {
  const double raw = info.statistic("raw_chunks").value_or(0);
  if (raw == 0) return {};
  return text("stored uncompressed: ", raw, " of ", info.chunk_count,
              " chunks, because compression would not save space there");
}

}  // namespace tensorpress::cli
