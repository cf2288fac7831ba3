#include "command_line/reports/stream_report.h"

#include "base/json_text.h"
#include "base/text.h"
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

Json attributes_to_json(std::span<const Attribute> attributes) {
  Json fields = Json::object();
  const Json notes = netcdf_to_json(attributes);
  for (const Attribute& attribute : attributes) {
    const bool is_note = is_netcdf_note(attribute.name) && !notes.is_null();
    if (!is_note) fields[attribute.name] = attribute.value;
    if (is_note && attribute.name == "netcdf") fields["netcdf"] = notes;
  }
  return fields;
}

}  // namespace

std::optional<Bound> total_error(const StreamInfo& info) {
  const auto before = stream::history_before(info.attributes);
  if (!before.ok() || before->empty()) return std::nullopt;
  const auto history = stream::history_with(info);
  return history.ok() ? stream::error_of(*history) : std::nullopt;
}

Json describe(const StreamInfo& info) {
  Json fields;
  fields["format_version"] = info.format_version;
  fields["codec"] = info.codec.name();
  fields["parameters"] = parameters_to_json(info.codec);
  fields["dtype"] = name_of(info.dtype);
  fields["shape"] = json_shape(info.shape);
  fields["chunk_shape"] = json_shape(info.chunk_shape);
  fields["chunks"] = info.chunk_count;
  fields["bytes_in"] = bytes_in_file(info);
  // Of packed whole numbers: the values that they stand for.
  if (bytes_in_file(info) != info.bytes_in()) fields["unpacked_bytes"] = info.bytes_in();
  fields["bytes_out"] = info.bytes_out;
  fields["payload_bytes"] = info.payload_bytes;
  fields["ratio"] = json_number(ratio_of(info));
  fields["payload_ratio"] = json_number(quotient(bytes_in_file(info), info.payload_bytes));
  fields["bits_per_value"] = json_number(quotient(8 * info.bytes_out, info.shape.element_count()));
  for (const Statistic& statistic : info.statistics) {
    fields[statistic.name] = json_number(statistic.value);
  }
  for (const Fact& fact : facts(info.codec, info.shape, info.dtype)) {
    fields[fact.name] = json_number(fact.value);
  }
  if (const auto total = total_error(info)) fields["total_error"] = total->to_string();
  if (!info.attributes.empty()) {
    fields["attributes"] = attributes_to_json(info.attributes);
  }
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
