#include "bound_options.h"

#include <algorithm>
#include <charconv>

#include "base/errors.h"

namespace tensorpress::cli {
namespace {

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

}  // namespace

void BoundOptions::declare(CLI::App& app) {
  const std::string group = "Error bound (codecs dense, ceresz and ceresz2)";
  CLI::Option* const options[] = {
      app.add_option("--abs,--absolute", absolute_, "every value within E of the original")
          ->option_text("E"),
      app.add_option("--rel,--relative", relative_, "within E of the value range, max - min")
          ->option_text("E"),
      app.add_option("--pw-rel,--pointwise-relative", pointwise_, "within E of the value itself")
          ->option_text("E"),
      app.add_option("--psnr", psnr_, "a peak signal-to-noise ratio of at least P decibels")
          ->option_text("P"),
      app.add_option("--ratio", ratio_, "the tightest bound that makes samples R times smaller")
          ->option_text("R")};
  for (CLI::Option* const option : options) {
    option->group(group);
    for (CLI::Option* const other : options) {
      if (other != option) option->excludes(other);
    }
  }
  app.add_option("--fill,--fill-value", fills_,
                 "a value that stands for no data: kept bit for bit, not in the range; may be "
                 "repeated")
      ->option_text("V")
      ->allow_extra_args(false)
      ->group(group);
  app.add_option("--range,--value-range", range_,
                 "the value range for --rel, to save looking for it")
      ->option_text("LO:HI")
      ->group(group);
  app.add_flag("--whole-range", whole_range_,
               "with --rel or --psnr: the range is meant, even where one repeated extreme makes up "
               "most of it")
      ->group(group);
}

bool BoundOptions::given() const {
  return absolute_ || relative_ || pointwise_ || psnr_ || ratio_;
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

Result<stream::BoundOptions> BoundOptions::options() const {
  stream::BoundOptions options;
  if (absolute_) options.bound = Bound::absolute(*absolute_);
  if (relative_) options.bound = Bound::relative(*relative_);
  if (pointwise_) options.bound = Bound::pointwise_relative(*pointwise_);
  if (psnr_) options.bound = Bound::psnr(*psnr_);
  if (ratio_) options.bound = Bound::ratio(*ratio_);
  if (options.bound) RETURN_IF_ERROR(options.bound->check());
  options.fill_values = fills_;
  options.whole_range = whole_range_;
  if (!range_.empty()) {
    if (!relative_) return bad_argument("--range is of use only with --rel");
    TRY(options.value_range, parse_range(range_));
  }
  return options;
}

}  // namespace tensorpress::cli
