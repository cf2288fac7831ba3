#include "command_line/reports/report_fields.h"

#include <algorithm>

#include "base/text.h"
#include "command_line/reports/messages.h"

namespace tensorpress::cli {
namespace {

struct Words {
  std::string operator()(const Json& value) const {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number_float()) return rounded(value.get<double>(), 6);
    if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
    if (value.is_null()) return "none";
    return value.dump();
  }
  std::string operator()(const ByteCount& count) const {
    if (count.bytes < 1024) return text(count.bytes);
    return text(count.bytes, " (", human_bytes(count.bytes), ")");
  }
  std::string operator()(const LongText& long_text) const {
    constexpr std::size_t kLongest = 100, kShown = 40;
    const Json& value = long_text.whole;
    const std::string whole = value.is_object()
                                  ? value.dump(-1, ' ', false, Json::error_handler_t::replace)
                                  : (*this)(value);
    if (whole.size() <= kLongest) return whole;
    return text(whole.substr(0, kShown), "... (", whole.size(), " characters)");
  }
  std::string operator()(const Shape& shape) const { return shape.to_string(); }
  std::string operator()(const std::vector<double>& numbers) const {
    std::string list;
    for (const double number : numbers) {
      list += text(list.empty() ? "" : " ", json_number(number).dump());
    }
    return list;
  }
  std::string operator()(const ReportFields& fields) const {
    std::string pairs;
    for (const ReportField& field : fields) {
      pairs += text(pairs.empty() ? "" : ", ", field.name, " ", std::visit(*this, field.value));
    }
    return pairs;
  }
};

struct AsJson {
  Json operator()(const Json& value) const { return value; }
  Json operator()(const ByteCount& count) const { return count.bytes; }
  Json operator()(const LongText& long_text) const { return long_text.whole; }
  Json operator()(const Shape& shape) const { return json_shape(shape); }
  Json operator()(const std::vector<double>& numbers) const {
    Json list = Json::array();
    for (const double number : numbers) list.push_back(json_number(number));
    return list;
  }
  Json operator()(const ReportFields& fields) const { return fields.to_json(); }
};

}  // namespace

void ReportFields::set(std::string_view name, ReportValue value) {
  const auto found = std::ranges::find(fields_, name, &ReportField::name);
  if (found != fields_.end()) {
    found->value = std::move(value);
  } else {
    fields_.push_back({std::string(name), std::move(value)});
  }
}

std::string ReportFields::to_text() const {
  std::size_t width = 0;
  for (const ReportField& field : fields_) width = std::max(width, field.name.size());
  std::string lines;
  for (const ReportField& field : fields_) {
    // Attributes come from files, which may want to play with the terminal.
    lines += printable(text(field.name, std::string(width + 2 - field.name.size(), ' '),
                            std::visit(Words(), field.value)));
    lines += '\n';
  }
  return lines;
}

Json ReportFields::to_json() const {
  Json object = Json::object();
  for (const ReportField& field : fields_) object[field.name] = std::visit(AsJson(), field.value);
  return object;
}

}  // namespace tensorpress::cli
