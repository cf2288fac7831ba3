#include "command_line/options/bound_options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/errors.h"
#include "files/rewriting/bounds_file.h"

namespace tensorpress::cli {
namespace {

struct Flag {
  const char* name;
  const char* names;  // with what Python calls it
  Bound::Kind kind;
  const char* letter;
  const char* help;
};
constexpr std::array<Flag, 4> kFlags = {
    {{"--abs", "--abs,--absolute", Bound::Kind::absolute, "E",
      "every value within E of the original"},
     {"--rel", "--rel,--relative", Bound::Kind::relative, "E",
      "within E of the value range, max - min"},
     {"--pw-rel", "--pw-rel,--pointwise-relative", Bound::Kind::pointwise_relative, "E",
      "within E of the value itself"},
     {"--psnr", "--psnr", Bound::Kind::psnr, "P",
      "a peak signal-to-noise ratio of at least P decibels"}}};

Result<double> parse_number(std::string_view text) {
  double value = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return bad_argument("'", text, "' is not a number");
  }
  return value;
}

Result<ValueRange> parse_range(const std::string& range) {
  const std::size_t colon = range.find(':');
  if (colon == std::string::npos) {
    return bad_argument("--range '", range, "' is not of the form LO:HI");
  }
  TRY(const double low, parse_number(std::string_view(range).substr(0, colon)));
  TRY(const double high, parse_number(std::string_view(range).substr(colon + 1)));
  return ValueRange{low, high};
}

/// "tas=0.01", or a plain number. check_values has looked at the number.
struct GivenBound {
  std::string name;  // "" for all
  double value = 0;
};

GivenBound split(const std::string& word) {
  const std::size_t equals = word.rfind('=');
  if (equals == std::string::npos) return {"", std::strtod(word.c_str(), nullptr)};
  return {word.substr(0, equals), std::strtod(word.c_str() + equals + 1, nullptr)};
}

bool names_variable(const std::string& word) {
  return word.find('=') != std::string::npos;
}

}  // namespace

void BoundOptions::declare(Arguments& arguments, Names names) {
  const std::string group = kBoundGroup;
  const bool named = names == Names::allowed;
  for (std::size_t i = 0; i < kFlags.size(); ++i) {
    const Flag& flag = kFlags[i];
    arguments.option(flag.names, bounds_[i], flag.help)
        .shown_as(named ? text(flag.letter, "|NAME=", flag.letter) : flag.letter)
        .type(named ? std::string(kNumberOrNamed) : "FLOAT")
        .one_at_a_time()
        .group(group);
  }
  arguments
      .option("--ratio", ratio_, "the tightest bound that makes the file at least R times smaller")
      .shown_as("R")
      .group(group);
  if (named) {
    arguments
        .option("--bounds", file_,
                "a TOML file with a bound for each variable, by name or pattern; what neither it "
                "nor NAME=E names is copied")
        .shown_as("FILE")
        .group(group);
  }
  arguments
      .option("--fill,--fill-value", fills_,
              "a value that stands for no data: kept bit for bit, not in the range; may be "
              "repeated")
      .shown_as("V")
      .one_at_a_time()
      .group(group);
  arguments
      .option("--range,--value-range", range_, "the value range for --rel, to save looking for it")
      .shown_as("LO:HI")
      .group(group);
  arguments
      .flag("--whole-range", whole_range_,
            "with --rel or --psnr: the range is meant, even where one repeated extreme makes up "
            "most of it")
      .group(group);
}

bool BoundOptions::given() const {
  return ratio_ || !file_.empty() ||
         std::ranges::any_of(bounds_, [](const Words& words) { return !words.empty(); });
}

Result<void> BoundOptions::check_for(const Codec& codec) const {
  const std::vector<CodecInfo> all = codecs();
  const auto info = std::ranges::find(all, codec.name(), &CodecInfo::name);
  if (info == all.end() || info->error_bounded == given()) return {};
  if (given()) {
    return bad_argument("codec ", codec.name(), " has a fixed rate and takes no bound; leave the ",
                        "bound out (its error is measured and stored) or use --codec dense");
  }
  return bad_argument("codec ", codec.name(), " keeps an error bound and none is given: --abs E, ",
                      "--rel E, --pw-rel E, --psnr P or --ratio R");
}

std::string BoundOptions::first_named() const {
  for (std::size_t i = 0; i < kFlags.size(); ++i) {
    const auto found = std::ranges::find_if(bounds_[i], names_variable);
    if (found != bounds_[i].end()) return text(kFlags[i].name, " ", *found);
  }
  return file_.empty() ? "" : text("--bounds ", file_);
}

Result<std::optional<Bound>> BoundOptions::plain() const {
  std::optional<Bound> bound;
  std::string flag;
  const auto take = [&](const char* name, Bound next) -> Result<void> {
    if (bound && flag == name) return bad_argument(name, " is given twice; leave one out");
    if (bound) return bad_argument(flag, " and ", name, " exclude each other; leave one out");
    bound = next;
    flag = name;
    return next.check();
  };
  for (std::size_t i = 0; i < kFlags.size(); ++i) {
    for (const std::string& word : bounds_[i]) {
      if (names_variable(word)) continue;
      RETURN_IF_ERROR(take(kFlags[i].name, Bound(kFlags[i].kind, split(word).value)));
    }
  }
  if (ratio_) RETURN_IF_ERROR(take("--ratio", Bound::ratio(*ratio_)));
  return bound;
}

Result<CompressOptions> BoundOptions::options() const {
  if (const std::string named = first_named(); !named.empty()) {
    return bad_argument(named, " is for the variables of a NetCDF or HDF5 file; one tensor takes ",
                        "a plain number");
  }
  return options_for_all();
}

Result<CompressOptions> BoundOptions::options_for_all() const {
  CompressOptions options;
  TRY(options.bound, plain());
  options.fill_values = fills_;
  options.whole_range = whole_range_;
  if (range_.empty()) return options;
  if (!first_named().empty()) {
    return bad_argument("--range is of one variable, and bounds are given for several; write ",
                        "range = [LO, HI] into a file for --bounds");
  }
  if (!options.bound || options.bound->kind() != Bound::Kind::relative) {
    return bad_argument("--range is of use only with --rel");
  }
  TRY(options.value_range, parse_range(range_));
  return options;
}

Result<files::VariableBounds> BoundOptions::per_variable() const {
  files::VariableBounds rules;
  if (first_named().empty()) return rules;
  if (!file_.empty()) RETURN_IF_ERROR(files::read_bounds(file_, rules));
  for (std::size_t i = 0; i < kFlags.size(); ++i) {
    for (const std::string& word : bounds_[i]) {
      if (!names_variable(word)) continue;
      const GivenBound given = split(word);
      const Bound bound(kFlags[i].kind, given.value);
      RETURN_IF_ERROR(bound.check());
      RETURN_IF_ERROR(
          rules.add(files::VariableRule::with(given.name, bound, text(kFlags[i].name, " ", word))));
    }
  }
  TRY(const auto bound, plain());
  if (bound) {
    RETURN_IF_ERROR(
        rules.add(files::VariableRule::with("*", *bound, text("the plain ", bound->to_string()))));
  }
  return rules;
}

}  // namespace tensorpress::cli
