#include "report/drawing/picture.h"

#include "base/errors.h"
#include "report/drawing/base64.h"

namespace tensorpress::report {

files::Image paint(const Plane& plane, const ColorScale& scale) {
  const bool grey = scale.map == ColorMap::grey;
  files::Image image;
  image.width = static_cast<std::uint32_t>(plane.width);
  image.height = static_cast<std::uint32_t>(plane.height);
  image.channels = grey ? 1 : 3;
  image.pixels.reserve(plane.values.size() * image.channels);
  const double range = scale.high - scale.low;
  for (const float value : plane.values) {
    // A scale without extent is a constant field: the middle of the map.
    const double position = range > 0 ? (value - scale.low) / range : 0.5 + 0 * value;
    const Rgb color = color_at(scale.map, position);
    image.pixels.push_back(color.red);
    if (!grey) {
      image.pixels.push_back(color.green);
      image.pixels.push_back(color.blue);
    }
  }
  return image;
}

Result<std::string> png_data_uri(const files::Image& image) {
  TRY(const auto png, files::encode_png(image));
  return "data:image/png;base64," + base64(png);
}

}  // namespace tensorpress::report
