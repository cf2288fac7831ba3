// PNG pictures made by Python's zlib and struct from the PNG specification, so that libpng is not
// compared with itself.
#include "files/image/image.h"

#include <gtest/gtest.h>

#include "scratch_directory.h"

namespace tensorpress::files {
namespace {

// png(w, h, bits, type, rows) =
//   b'\x89PNG\r\n\x1a\n' + c(b'IHDR', struct.pack('>IIBBBBB', w, h, bits, type, 0, 0, 0))
//   + c(b'IDAT', zlib.compress(b''.join(b'\0' + r for r in rows), 9)) + c(b'IEND', b'')
// with c(t, d) = struct.pack('>I', len(d)) + t + d + struct.pack('>I', zlib.crc32(t + d))
constexpr const char* kGrey =  // png(3, 2, 8, 0, [bytes([0, 127, 255]), bytes([1, 2, 3])])
    "89504e470d0a1a0a0000000d4948445200000003000000020800000000b81f39c6"
    "000000104944415478da6360a8ffcfc0c8c40c0008070185084947ca0000000049454e44ae426082";
constexpr const char* kRgba =  // png(2, 1, 8, 6, [bytes([10, 20, 30, 0, 40, 50, 60, 128])])
    "89504e470d0a1a0a0000000d4948445200000002000000010806000000f4227f8a"
    "000000114944415478da63e0129163d030b269000003c70153b30c2b5b0000000049454e44ae426082";
constexpr const char* kGrey16 =  // png(2, 1, 16, 0, [bytes([0x12, 0xff, 0xff, 0xff])])
    "89504e470d0a1a0a0000000d494844520000000200000001100000000081d9fc15"
    "0000000d4944415478da6310faffff3f0006470310debe7adb0000000049454e44ae426082";
// Three pixels 0, 1, 2 of two bits with the palette (1 2 3) (4 5 6) (7 8 9).
constexpr const char* kPalette =
    "89504e470d0a1a0a0000000d49484452000000030000000102030000"
    "00668efc2700000009504c5445010203040506070809258556f0"
    "0000000a4944415478da63900000001a001980008ebb0000000049454e44ae426082";
// A header that claims 70000 columns.
constexpr const char* kWide =
    "89504e470d0a1a0a0000000d49484452000111700000000108000000"
    "00d72822970000000049454e44ae426082";

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

Result<Image> read(const ScratchDirectory& scratch, std::string_view hex) {
  return read_png(scratch.with_file("x.png", from_hex(hex)));
}

using Pixels = std::vector<std::uint8_t>;

TEST(ReadPng, GreyKeepsItsValues) {
  const ScratchDirectory scratch;
  const auto image = read(scratch, kGrey);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->width, 3u);
  EXPECT_EQ(image->height, 2u);
  EXPECT_EQ(image->channels, 1u);
  EXPECT_EQ(image->pixels, (Pixels{0, 127, 255, 1, 2, 3}));
}

TEST(ReadPng, AlphaIsDroppedAndChangesNoColour) {
  const ScratchDirectory scratch;
  const auto image = read(scratch, kRgba);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->channels, 3u);
  EXPECT_EQ(image->pixels, (Pixels{10, 20, 30, 40, 50, 60}));
}

TEST(ReadPng, SixteenBitsAreRoundedToEight) {
  const ScratchDirectory scratch;
  const auto image = read(scratch, kGrey16);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->pixels, (Pixels{19, 255}));  // 0x12ff / 257 = 18.9
}

TEST(ReadPng, PaletteBecomesColours) {
  const ScratchDirectory scratch;
  const auto image = read(scratch, kPalette);
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->channels, 3u);
  EXPECT_EQ(image->pixels, (Pixels{1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(ReadPng, DamagedFilesAreErrorsThatNameTheFile) {
  const ScratchDirectory scratch;
  const std::string good(kGrey);
  // Everything up to the end of IDAT's checksum is needed: 61 bytes.
  for (std::size_t bytes = 0; bytes < 61; ++bytes) {
    const auto image = read(scratch, good.substr(0, 2 * bytes));
    ASSERT_FALSE(image.ok()) << bytes;
    EXPECT_EQ(image.error().code, ErrorCode::corrupt);
    EXPECT_NE(image.error().message.find(scratch / "x.png"), std::string::npos);
  }
  EXPECT_FALSE(read_png(scratch.with_file("x.txt", "no picture")).ok());
  EXPECT_FALSE(read_png(scratch / "missing.png").ok());
  EXPECT_FALSE(read_png(scratch.path()).ok());
}

// One byte changed at a time: a picture or an error, nothing else.
TEST(ReadPng, ChangedBytesNeverCrash) {
  const ScratchDirectory scratch;
  for (const auto* const hex : {kGrey, kRgba, kPalette}) {
    const std::string good = from_hex(hex);
    std::size_t errors = 0;
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string changed = good;
      changed[at] = static_cast<char>(changed[at] ^ 0x55);
      if (!read_png(scratch.with_file("x.png", changed)).ok()) ++errors;
    }
    EXPECT_GT(errors, good.size() / 2);
  }
}

TEST(ReadPng, AbsurdSizesAreRefused) {
  const ScratchDirectory scratch;
  EXPECT_FALSE(read(scratch, kWide).ok());
}

TEST(EncodePng, GreyAndColourComeBack) {
  const ScratchDirectory scratch;
  for (const std::uint32_t channels : {1u, 3u}) {
    Image image{17, 9, channels, Pixels(17 * 9 * channels)};
    for (std::size_t i = 0; i < image.pixels.size(); ++i) {
      image.pixels[i] = static_cast<std::uint8_t>(i * 37);
    }
    const auto bytes = encode_png(image);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    const auto back =
        read_png(scratch.with_file("x.png", std::string(bytes->begin(), bytes->end())));
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back->width, 17u);
    EXPECT_EQ(back->height, 9u);
    EXPECT_EQ(back->channels, channels);
    EXPECT_EQ(back->pixels, image.pixels);
  }
}

TEST(EncodePng, ImpossiblePicturesAreErrors) {
  EXPECT_FALSE(encode_png({0, 1, 1, {}}).ok());
  EXPECT_FALSE(encode_png({2, 2, 1, Pixels(3)}).ok());
  EXPECT_FALSE(encode_png({2, 2, 2, Pixels(8)}).ok());
  EXPECT_FALSE(encode_png({70000, 1, 1, Pixels(70000)}).ok());
}

}  // namespace
}  // namespace tensorpress::files
