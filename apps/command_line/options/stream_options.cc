#include "command_line/options/stream_options.h"

#include <algorithm>

#include "base/errors.h"

namespace tensorpress::cli {

void StreamOptions::declare(Arguments& arguments) {
  arguments
      .option("--chunk-shape", chunk_shape_,
              "elements compressed together; the codec chooses if absent")
      .shown_as("1x180x360");
  arguments.option("--attr", attributes_, "a note to keep in the file; may be repeated")
      .shown_as("NAME=VALUE")
      .one_at_a_time();
}

Result<void> StreamOptions::apply_to(CompressOptions& options) const {
  if (!chunk_shape_.empty()) {
    TRY(options.chunk_shape, Shape::parse(chunk_shape_));
  }
  for (const std::string& attribute : attributes_) {
    const std::size_t equals = attribute.find('=');
    if (equals == std::string::npos || equals == 0) {
      return bad_argument("--attr '", attribute, "' is not of the form NAME=VALUE");
    }
    const std::string name = attribute.substr(0, equals);
    if (std::ranges::find(options.attributes, name, &Attribute::name) != options.attributes.end()) {
      return bad_argument("--attr ", name, " is given twice; a note has one value");
    }
    options.attributes.push_back({name, attribute.substr(equals + 1)});
  }
  return {};
}

}  // namespace tensorpress::cli
