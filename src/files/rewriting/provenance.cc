#include "files/rewriting/provenance.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/errors.h"
#include "files/conventions/netcdf_conventions.h"
#include "tensorpress/version.h"

namespace tensorpress::files {
namespace {

constexpr std::string_view kPrefix = "tensorpress_";
constexpr std::string_view kFiltersName = "tensorpress_filters_before";

struct NamedFilter {
  std::uint32_t id;
  std::string_view name;
};
constexpr std::array kNamedFilters = {NamedFilter{kDeflateFilter, "deflate"},
                                      NamedFilter{kShuffleFilter, "shuffle"},
                                      NamedFilter{kFletcherFilter, "fletcher32"}};

Result<std::uint32_t> parse_number(std::string_view digits) {
  std::uint32_t number = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
    return corrupt("'", digits.substr(0, 40), "' is not the number of a filter");
  }
  return number;
}

/// "deflate:4", "32015:3,1".
Result<StoredFilter> parse_filter(std::string_view word) {
  const std::size_t colon = std::min(word.find(':'), word.size());
  StoredFilter filter;
  const auto named = std::ranges::find(kNamedFilters, word.substr(0, colon), &NamedFilter::name);
  if (named != kNamedFilters.end()) {
    filter.id = named->id;
  } else {
    TRY(filter.id, parse_number(word.substr(0, colon)));
  }
  std::string_view values = word.substr(std::min(colon + 1, word.size()));
  while (!values.empty()) {
    const std::size_t comma = std::min(values.find(','), values.size());
    TRY(const std::uint32_t value, parse_number(values.substr(0, comma)));
    filter.values.push_back(value);
    values.remove_prefix(std::min(comma + 1, values.size()));
  }
  return filter;
}

bool is_nothing(const std::optional<Bound>& error) {
  return error && error->value() == 0;
}

constexpr const char* kUnknownCodec = "unknown";

void erase_steps_without_loss(stream::History& history) {
  std::erase_if(history, [](const auto& step) { return is_nothing(step.error); });
}

}  // namespace

Result<std::optional<Hdf5FilterSettings>> own_filter(const std::vector<StoredFilter>& filters) {
  const auto own = std::ranges::find(filters, std::uint32_t{kHdf5FilterId}, &StoredFilter::id);
  if (own == filters.end()) return std::optional<Hdf5FilterSettings>();
  TRY(auto settings, Hdf5FilterSettings::from_words(own->values));
  return std::optional(std::move(settings));
}

bool has_own_filter(const NetcdfVariable& variable) {
  return std::ranges::find(variable.filters, std::uint32_t{kHdf5FilterId}, &StoredFilter::id) !=
         variable.filters.end();
}

stream::HistoryStep step_of(const Hdf5FilterSettings& filter) {
  stream::HistoryStep step{.codec = filter.codec.name()};
  if (filter.bound && (filter.bound->kind() == Bound::Kind::absolute ||
                       filter.bound->kind() == Bound::Kind::pointwise_relative)) {
    step.error = filter.bound;
  }
  return step;
}

void add_step(const Hdf5FilterSettings& filter, stream::History& history) {
  stream::HistoryStep own = step_of(filter);
  if (history.empty() || history.back() != own) history.push_back(std::move(own));
}

bool is_own_attribute(std::string_view name) {
  return name.starts_with(kPrefix);
}

void erase_own_attributes(std::vector<NetcdfAttribute>& attributes) {
  std::erase_if(attributes, [](const auto& attribute) { return is_own_attribute(attribute.name); });
}

NetcdfAttribute text_attribute(std::string name, std::string_view value) {
  NetcdfAttribute attribute{.name = std::move(name)};
  attribute.value.bytes.resize(value.size());
  std::memcpy(attribute.value.bytes.data(), value.data(), value.size());
  return attribute;
}

NetcdfAttribute number_attribute(std::string name, double value) {
  NetcdfAttribute attribute{.name = std::move(name), .value = {.type = NetcdfType::f64}};
  attribute.value.bytes.resize(sizeof value);
  std::memcpy(attribute.value.bytes.data(), &value, sizeof value);
  return attribute;
}

std::vector<NetcdfAttribute> history_attributes(const stream::History& history) {
  stream::History lossy = history;
  erase_steps_without_loss(lossy);
  if (lossy.empty()) return {};
  return {text_attribute(std::string(stream::kHistoryAttribute), to_text(lossy))};
}

std::string to_text(const Storage& storage) {
  if (storage.contiguous) return "contiguous";
  if (storage.filters.empty()) return "none";
  std::string all;
  for (const StoredFilter& filter : storage.filters) {
    const auto named = std::ranges::find(kNamedFilters, filter.id, &NamedFilter::id);
    all += all.empty() ? "" : " ";
    all += named != kNamedFilters.end() ? std::string(named->name) : text(filter.id);
    // HDF5 works out the values of these two itself.
    if (filter.id == kShuffleFilter || filter.id == kFletcherFilter) continue;
    for (std::size_t i = 0; i < filter.values.size(); ++i) {
      all += text(i == 0 ? ":" : ",", filter.values[i]);
    }
  }
  return all;
}

Result<Storage> parse_storage(std::string_view text) {
  if (text == "contiguous") return Storage{.contiguous = true};
  if (text == "none") return Storage();
  Storage storage;
  for (const std::string& word : words_of(std::string(text))) {
    TRY(StoredFilter filter, parse_filter(word));
    storage.filters.push_back(std::move(filter));
  }
  return storage;
}

std::vector<NetcdfAttribute> to_attributes(const Provenance& provenance) {
  std::vector<NetcdfAttribute> attributes = {text_attribute("tensorpress_codec", provenance.codec)};
  if (provenance.bound) {
    attributes.push_back(
        text_attribute(std::string(kBoundAttribute), provenance.bound->to_string()));
  }
  const auto error = stream::error_of(provenance.history);
  if (error && error->kind() == Bound::Kind::absolute) {
    attributes.push_back(number_attribute("tensorpress_max_abs_error", error->value()));
  }
  attributes.push_back(text_attribute("tensorpress_version", TENSORPRESS_VERSION_STRING));
  for (auto& attribute : history_attributes(provenance.history)) {
    attributes.push_back(std::move(attribute));
  }
  attributes.push_back(
      text_attribute(std::string(kFiltersName), to_text(provenance.stored_before)));
  return attributes;
}

void read_provenance(const std::vector<NetcdfAttribute>& attributes, NetcdfVariable& variable) {
  const std::string told = text_of(attributes, stream::kHistoryAttribute);
  auto history = stream::parse_history(told);
  variable.history = history.ok() ? std::move(*history) : stream::History{{.codec = kUnknownCodec}};
  const auto filter = own_filter(variable.filters);
  if (!filter.ok()) {
    variable.history.push_back({.codec = kUnknownCodec});
  } else if (*filter) {
    add_step(**filter, variable.history);
  }
  erase_steps_without_loss(variable.history);
  const auto bound = Bound::parse(text_of(attributes, kBoundAttribute));
  if (bound.ok()) variable.kept_bound = *bound;
  const std::string before = text_of(attributes, kFiltersName);
  auto storage = parse_storage(before);
  if (!before.empty() && storage.ok()) variable.stored_before = std::move(*storage);
}

stream::History history_when_packed(stream::History history, const NetcdfNotes& notes,
                                    DType dtype) {
  if (!notes.packed()) return history;
  const double scale = std::abs(notes.number("scale_factor").value_or(1));
  const double largest = scale * std::exp2(8.0 * static_cast<double>(size_of(notes.type))) +
                         std::abs(notes.number("add_offset").value_or(0));
  const double rounding = largest * std::exp2(dtype == DType::f64 ? -50 : -22);
  erase_steps_without_loss(history);
  const auto error = stream::error_of(history);
  const bool absolute = error && error->kind() == Bound::Kind::absolute;
  if (history.empty() ? rounding < scale / 2 : absolute && error->value() + rounding < scale / 2) {
    return {};
  }
  // The next number, where the nearest one is a fill value.
  history.push_back({.codec = "packing", .error = Bound::absolute(scale)});
  return history;
}

std::string history_text(std::string_view line, std::string_view before) {
  return before.empty() ? std::string(line) : text(line, "\n", before);
}

}  // namespace tensorpress::files
