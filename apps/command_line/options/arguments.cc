#include "command_line/options/arguments.h"

#include <CLI/CLI.hpp>
#include <optional>

#include "base/errors.h"

namespace tensorpress::cli {

Argument& Argument::required() {
  option_->required();
  return *this;
}

Argument& Argument::shown_as(const std::string& value) {
  option_->option_text(value);
  return *this;
}

Argument& Argument::described_as(const std::string& help) {
  option_->description(help);
  return *this;
}

Argument& Argument::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Argument& Argument::hidden() {
  return group("");
}

Argument& Argument::type(std::string_view name) {
  option_->type_name(std::string(name));
  return *this;
}

Argument& Argument::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

Argument& Argument::separated_by_commas() {
  option_->delimiter(',');
  return *this;
}

Argument& Argument::values(int least, int most) {
  option_->expected(least, most);
  return *this;
}

Argument& Argument::between(std::int64_t least, std::int64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Argument& Argument::count_between(std::uint64_t least, std::uint64_t most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Argument& Argument::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}

Argument& Argument::one_of(const std::vector<int>& numbers) {
  option_->check(CLI::IsMember(numbers));
  return *this;
}

Argument& Argument::excludes(const Argument& other) {
  option_->excludes(other.option_);
  return *this;
}

std::size_t Argument::count() const {
  return option_->count();
}

std::vector<std::string> Argument::words() const {
  return option_->results();
}

template <class Value>
Argument Arguments::option(const std::string& names, Value& value, const std::string& help) {
  return Argument(app_->add_option(names, value, help));
}

#define TENSORPRESS_ARGUMENT_OF(...) \
  template Argument Arguments::option(const std::string&, __VA_ARGS__&, const std::string&)
TENSORPRESS_ARGUMENT_OF(std::string);
TENSORPRESS_ARGUMENT_OF(double);
TENSORPRESS_ARGUMENT_OF(int);
TENSORPRESS_ARGUMENT_OF(std::int64_t);
TENSORPRESS_ARGUMENT_OF(std::uint32_t);
TENSORPRESS_ARGUMENT_OF(std::uint64_t);
TENSORPRESS_ARGUMENT_OF(std::optional<std::string>);
TENSORPRESS_ARGUMENT_OF(std::optional<double>);
TENSORPRESS_ARGUMENT_OF(std::optional<std::int64_t>);
TENSORPRESS_ARGUMENT_OF(std::optional<std::uint32_t>);
TENSORPRESS_ARGUMENT_OF(std::vector<std::string>);
TENSORPRESS_ARGUMENT_OF(std::vector<double>);
TENSORPRESS_ARGUMENT_OF(std::vector<int>);
TENSORPRESS_ARGUMENT_OF(std::vector<std::uint64_t>);

Argument Arguments::flag(const std::string& names, bool& value, const std::string& help) {
  return Argument(app_->add_flag(names, value, help));
}

Argument Arguments::word(const std::string& names, std::function<void(const std::string&)> take,
                         const std::string& help) {
  return Argument(app_->add_option_function<std::string>(names, std::move(take), help));
}

void Arguments::help_only_as_long_option() {
  app_->set_help_flag("--help", "Print this help message and exit");
}

bool Arguments::has(const std::string& name) const {
  return app_->get_option_no_throw(name) != nullptr;
}

Argument Arguments::find(const std::string& name) const {
  return Argument(app_->get_option(name));
}

bool Arguments::given(const std::string& name) const {
  return app_->count(name) > 0;
}

Result<void> Arguments::refuse_ignored(std::initializer_list<const char*> names,
                                       std::string_view reason) const {
  for (const char* const name : names) {
    if (given(name)) return bad_argument(name, " has no place here: ", reason);
  }
  return {};
}

}  // namespace tensorpress::cli
