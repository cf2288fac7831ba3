// --abs, --rel, --pw-rel, --psnr, --ratio, --fill and --range: what an error-bounded codec is to
// keep.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stream/writer.h"
#include "verb.h"

namespace tensorpress::cli {

/// The heading of these options in the help text.
inline constexpr const char* kBoundGroup = "Error bound (codecs dense, ceresz and ceresz2)";

class BoundOptions {
 public:
  void declare(CLI::App& app);
  /// Bound, fill values and range as given; the error says what is allowed.
  Result<stream::BoundOptions> options() const;
  bool given() const;
  /// A codec with an error bound needs one, and a codec of a fixed rate takes none.
  Result<void> check_for(const Codec& codec) const;

 private:
  std::optional<double> absolute_, relative_, pointwise_, psnr_, ratio_;
  std::vector<double> fills_;
  std::string range_;
  bool whole_range_ = false;
};

}  // namespace tensorpress::cli
