// PNG through libpng. Reading uses the classic interface, because the simplified one converts
// between gammas and a study needs the numbers that are in the file. libpng reports errors by
// longjmp: every function that calls setjmp here holds nothing that needs a destructor.
#include "files/image/image.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>

#include "base/errors.h"
#include "files/bytes/byte_files.h"

namespace tensorpress::files {
namespace {

constexpr std::uint32_t kMaxSide = 1 << 16;
constexpr std::uint64_t kMaxPixels = std::uint64_t{1} << 28;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;

struct Decoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  std::array<char, 128> reason{};

  Decoder() = default;
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* const decoder = static_cast<Decoder*>(png_get_error_ptr(png));
  std::strncpy(decoder->reason.data(), message, decoder->reason.size() - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep into, std::size_t count) {
  auto* const decoder = static_cast<Decoder*>(png_get_io_ptr(png));
  if (count > decoder->rest.size()) png_error(png, "the file is cut off");
  std::memcpy(into, decoder->rest.data(), count);
  decoder->rest = decoder->rest.subspan(count);
}

struct Dimensions {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;
  int passes = 1;
};

// Reads up to the pixels and asks for 8 bits, grey or red-green-blue, without alpha.
bool read_header(Decoder& decoder, Dimensions& dimensions) {
  if (setjmp(png_jmpbuf(decoder.png)) != 0) return false;
  png_set_user_limits(decoder.png, kMaxSide, kMaxSide);
  png_set_read_fn(decoder.png, &decoder, on_read);
  png_read_info(decoder.png, decoder.info);
  dimensions.width = png_get_image_width(decoder.png, decoder.info);
  dimensions.height = png_get_image_height(decoder.png, decoder.info);
  png_set_expand(decoder.png);  // palettes and fewer than 8 bits
  png_set_scale_16(decoder.png);
  png_set_strip_alpha(decoder.png);
  dimensions.passes = png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  dimensions.channels = png_get_channels(decoder.png, decoder.info);
  return true;
}

bool read_pixels(Decoder& decoder, const Dimensions& dimensions, std::uint8_t* pixels) {
  if (setjmp(png_jmpbuf(decoder.png)) != 0) return false;
  const std::size_t row_bytes = std::size_t{dimensions.width} * dimensions.channels;
  if (png_get_rowbytes(decoder.png, decoder.info) != row_bytes) {
    png_error(decoder.png, "unexpected length of a row");
  }
  for (int pass = 0; pass < dimensions.passes; ++pass) {
    for (std::size_t row = 0; row < dimensions.height; ++row) {
      png_read_row(decoder.png, pixels + row * row_bytes, nullptr);
    }
  }
  png_read_end(decoder.png, nullptr);
  return true;
}

Result<std::vector<std::byte>> read_file(const std::string& path) {
  TRY(const auto file, open_bytes(path));
  if (file->size() > kMaxFileBytes) {
    return too_large("'", path, "' has ", file->size(), " bytes; the limit for pictures is ",
                     kMaxFileBytes);
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(file->size()));
  RETURN_IF_ERROR(file->read_at(0, bytes));
  return bytes;
}

}  // namespace

Result<Image> read_png(const std::string& path) {
  TRY(const auto bytes, read_file(path));
  Decoder decoder;
  decoder.rest = bytes;
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, on_error, on_warning);
  if (decoder.png != nullptr) decoder.info = png_create_info_struct(decoder.png);
  if (decoder.info == nullptr) return internal_error("libpng cannot be started");

  const auto damaged = [&] {
    return corrupt("'", path, "' is not a readable PNG picture: ", decoder.reason.data());
  };
  Dimensions dimensions;
  if (!read_header(decoder, dimensions)) return damaged();
  if (std::uint64_t{dimensions.width} * dimensions.height > kMaxPixels) {
    return too_large("'", path, "' has ", dimensions.width, " x ", dimensions.height,
                     " pixels; the limit is ", kMaxPixels);
  }
  Image image{dimensions.width, dimensions.height, dimensions.channels, {}};
  image.pixels.resize(std::size_t{image.width} * image.height * image.channels);
  if (!read_pixels(decoder, dimensions, image.pixels.data())) return damaged();
  return image;
}

Result<std::vector<std::uint8_t>> encode_png(const Image& image) {
  const std::uint64_t expected = std::uint64_t{image.width} * image.height * image.channels;
  if (image.width < 1 || image.width > kMaxSide || image.height < 1 || image.height > kMaxSide ||
      (image.channels != 1 && image.channels != 3) || image.pixels.size() != expected) {
    return bad_argument("a picture of ", image.width, " x ", image.height, " with ", image.channels,
                        " channels and ", image.pixels.size(),
                        " bytes cannot be a PNG; sides are 1..", kMaxSide,
                        ", channels 1 or 3, a byte each");
  }
  png_image description{};
  description.version = PNG_IMAGE_VERSION;
  description.width = image.width;
  description.height = image.height;
  description.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::vector<std::uint8_t> bytes(PNG_IMAGE_PNG_SIZE_MAX(description));
  png_alloc_size_t size = bytes.size();
  if (png_image_write_to_memory(&description, bytes.data(), &size, 0, image.pixels.data(), 0,
                                nullptr) == 0) {
    return internal_error("libpng cannot write the picture: ", description.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace tensorpress::files
