#include "files/image/image_files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/errors.h"
#include "base/tensor/elements.h"
#include "files/bytes/byte_files.h"
#include "files/image/image.h"
#include "files/tensor/tensor_files.h"

namespace tensorpress::files {
namespace {

using UseImage = std::function<bool(const ChannelImage&)>;

bool is_channel_count(std::uint64_t extent) {
  return extent == 1 || extent == 3;
}

Result<void> for_png(const std::string& path, const UseImage& use) {
  TRY(const Image png, read_png(path));
  ChannelImage image{.height = png.height, .width = png.width, .channels = {}};
  image.channels.resize(png.channels);
  for (std::size_t i = 0; i < png.pixels.size(); ++i) {
    image.channels[i % png.channels].push_back(png.pixels[i]);
  }
  use(image);
  return {};
}

Result<void> for_cifar_batch(const std::string& path, const UseImage& use) {
  constexpr std::size_t kSide = 32;
  constexpr std::size_t kRecord = 1 + 3 * kSide * kSide;
  TRY(const auto source, open_bytes(path));
  if (source->size() == 0 || source->size() % kRecord != 0) {
    return bad_argument(path, " has ", source->size(),
                        " bytes, which is not a whole number of CIFAR-10 records of ", kRecord,
                        " bytes; other images go in as .png or .npy");
  }
  std::array<std::byte, kRecord> record;
  ChannelImage image{.height = kSide, .width = kSide, .channels = {}};
  image.channels.assign(3, std::vector<float>(kSide * kSide));
  for (std::uint64_t at = 0; at < source->size(); at += kRecord) {
    RETURN_IF_ERROR(source->read_at(at, record));
    for (std::size_t i = 0; i + 1 < kRecord; ++i) {
      image.channels[i / (kSide * kSide)][i % (kSide * kSide)] = static_cast<float>(record[1 + i]);
    }
    if (!use(image)) break;
  }
  return {};
}

/// Which axis of an array is what; absent axes have extent 1.
struct ArrayLayout {
  std::optional<std::size_t> image;
  std::optional<std::size_t> channel;
  std::size_t row = 0;
  std::size_t column = 1;
};

Result<ArrayLayout> layout_of(const std::string& path, const Shape& shape) {
  const std::size_t rank = shape.rank();
  if (rank == 2) return ArrayLayout{{}, {}, 0, 1};
  if (rank == 3 && is_channel_count(shape[2])) return ArrayLayout{{}, 2, 0, 1};
  if (rank == 3 && is_channel_count(shape[0])) return ArrayLayout{{}, 0, 1, 2};
  if (rank == 3) return ArrayLayout{0, {}, 1, 2};
  if (rank == 4 && is_channel_count(shape[3])) return ArrayLayout{0, 3, 1, 2};
  if (rank == 4 && is_channel_count(shape[1])) return ArrayLayout{0, 1, 2, 3};
  return bad_argument(path, " has shape ", shape.to_string(),
                      ", which is not HxW, HxWx3, 3xHxW, NxHxW, NxHxWx3 or Nx3xHxW");
}

ChannelImage image_of(const TensorView& view, const ArrayLayout& layout) {
  ChannelImage image{
      .height = view.shape[layout.row], .width = view.shape[layout.column], .channels = {}};
  const std::size_t channels = layout.channel ? view.shape[*layout.channel] : 1;
  for (std::size_t c = 0; c < channels; ++c) {
    const std::byte* plane = view.data;
    if (layout.channel) plane += static_cast<std::int64_t>(c) * view.strides[*layout.channel];
    std::vector<float>& values = image.channels.emplace_back(image.height * image.width);
    for (std::size_t y = 0; y < image.height; ++y) {
      load_elements(view.dtype, plane + static_cast<std::int64_t>(y) * view.strides[layout.row],
                    view.strides[layout.column], image.width, values.data() + y * image.width);
    }
  }
  return image;
}

Result<void> for_array_images(TensorSource& source, const ArrayLayout& layout,
                              const UseImage& use) {
  Region region = Region::whole(source.shape());
  const std::uint64_t images = layout.image ? source.shape()[*layout.image] : 1;
  if (layout.image) region.extent[*layout.image] = 1;
  AlignedBuffer scratch;
  for (std::uint64_t i = 0; i < images; ++i) {
    if (layout.image) region.origin[*layout.image] = i;
    TRY(const TensorView view, source.read(region, scratch));
    if (!use(image_of(view, layout))) break;
  }
  return {};
}

/// What brings the values to 0..255. Looks at the whole file, so that a dark image in it is not
/// mistaken for one with values of 0 to 1.
Result<float> scale_of(const std::string& path, TensorSource& source, const ArrayLayout& layout) {
  if (source.dtype() == DType::u8) return 1.0F;
  float low = 0;
  float high = 0;
  bool finite = true;
  RETURN_IF_ERROR(for_array_images(source, layout, [&](const ChannelImage& image) {
    for (const auto& channel : image.channels) {
      for (const float value : channel) {
        finite = finite && std::isfinite(value);
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    return true;
  }));
  if (!finite || low < 0 || high > 255) {
    return bad_argument(
        path,
        finite ? text(" has values from ", low, " to ", high) : " has values that are not finite",
        "; images are 0 to 255, or floats of 0 to 1");
  }
  return is_floating(source.dtype()) && high <= 1 ? 255.0F : 1.0F;
}

Result<void> for_array(const std::string& path, const UseImage& use) {
  TRY(const auto source, open_tensor(path, std::nullopt));
  TRY(const ArrayLayout layout, layout_of(path, source->shape()));
  TRY(const float scale, scale_of(path, *source, layout));
  return for_array_images(*source, layout, [&](const ChannelImage& image) {
    if (scale == 1) return use(image);
    ChannelImage scaled = image;
    for (auto& channel : scaled.channels) {
      for (float& value : channel) value *= scale;
    }
    return use(scaled);
  });
}

}  // namespace

Result<void> for_each_image(const std::string& path, const UseImage& use) {
  if (path.ends_with(".png")) return for_png(path, use);
  if (path.ends_with(".bin")) return for_cifar_batch(path, use);
  if (path.ends_with(".npy")) return for_array(path, use);
  return bad_argument(path,
                      " is not an image this study reads; give .png, .npy or .bin (CIFAR-10)");
}

}  // namespace tensorpress::files
