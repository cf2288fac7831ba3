// A plane of numbers as a picture: values to colours, colours to PNG, PNG to a data: address that
// a page can carry.
#pragma once

#include <string>

#include "files/image/image.h"
#include "report/drawing/color_map.h"
#include "report/drawing/excerpt.h"
#include "tensorpress/result.h"

namespace tensorpress::report {

/// Which values become the ends of the colour map, together with everything beyond them.
struct ColorScale {
  double low = 0;
  double high = 1;
  ColorMap map = ColorMap::sequential;
};

files::Image paint(const Plane& plane, const ColorScale& scale);
/// "data:image/png;base64,..."
Result<std::string> png_data_uri(const files::Image& image);

}  // namespace tensorpress::report
