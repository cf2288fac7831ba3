// What every error-bounded codec shares: bounds as text, masks, exact values, slices, the portable
// logarithm, and chunks around a coder that does as little as possible.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "base/portable_math.h"
#include "base/tensor/region.h"
#include "base/text.h"
#include "codecs/bounded/bounded_codec.h"
#include "codecs/bounded/exact_values.h"
#include "codecs/bounded/mask.h"
#include "codecs/registry.h"
#include "kernels/value_scan/value_scan.h"
#include "stream/slice_reader.h"
#include "tensorpress/bound.h"
#include "tensorpress/stream.h"

namespace tensorpress {
namespace {

TEST(Bound, ComesBackFromItsText) {
  for (const Bound bound :
       {Bound::absolute(1e-3), Bound::relative(0.1), Bound::psnr(80),
        Bound::pointwise_relative(1e-17), Bound::ratio(20), Bound::absolute(0)}) {
    const auto parsed = Bound::parse(bound.to_string());
    ASSERT_TRUE(parsed.ok()) << bound.to_string();
    EXPECT_EQ(*parsed, bound);
  }
}

TEST(Bound, RefusesWhatCannotBeKept) {
  for (const char* const text : {"", "abs", "abs ", "abs x", "abs -1", "rel nan", "rel inf",
                                 "pw-rel 1", "ratio 0.9", "near 3", "abs 1 ", "abs -0"}) {
    EXPECT_FALSE(Bound::parse(text).ok()) << text;
  }
}

TEST(PortableMath, AgreesWithTheTrueLogarithmAndPower) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-1070, 1020);
  for (int i = 0; i < 100000; ++i) {
    const double y = exponent(random);
    const double x = std::exp2(y);
    EXPECT_NEAR(portable_log2(x), std::log2(x), 4e-16 * std::fabs(y) + 1e-18);
    EXPECT_NEAR(portable_exp2(y), x, 4e-16 * x + std::numeric_limits<double>::denorm_min());
  }
  EXPECT_EQ(portable_log2(1), 0);
  EXPECT_EQ(portable_exp2(-2000), 0);
  EXPECT_EQ(portable_exp2(2000), std::numeric_limits<double>::infinity());
}

std::vector<std::uint8_t> mask_of(std::size_t count, std::uint64_t seed, unsigned flip_one_in) {
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> mask(count);
  std::uint8_t value = 0;
  for (auto& bit : mask) {
    if (random() % flip_one_in == 0) value ^= 1;
    bit = value;
  }
  return mask;
}

TEST(Mask, ComesBackWhateverItsRuns) {
  for (const Shape& shape :
       {Shape{1}, Shape{7}, Shape{64}, Shape{5, 33}, Shape{4, 6, 35}, Shape{3, 1, 1, 50}}) {
    for (unsigned flip = 1; flip < 40; flip += 3) {
      const auto mask = mask_of(static_cast<std::size_t>(shape.element_count()), flip, flip);
      ByteWriter bytes;
      bounded::write_mask(mask, shape, bytes);
      std::vector<std::uint8_t> back(mask.size(), 7);
      ByteReader reader(bytes.bytes());
      ASSERT_TRUE(bounded::read_mask(reader, shape, back).ok());
      EXPECT_EQ(back, mask);
      EXPECT_EQ(reader.remaining(), 0u);
    }
  }
}

TEST(Mask, OfPlanesThatRepeatCostsOnePlane) {
  const auto plane = mask_of(40 * 50, 3, 9);
  std::vector<std::uint8_t> mask;
  for (int i = 0; i < 20; ++i) mask.insert(mask.end(), plane.begin(), plane.end());
  ByteWriter one, all;
  bounded::write_mask(plane, Shape{40, 50}, one);
  bounded::write_mask(mask, Shape{20, 40, 50}, all);
  EXPECT_LE(all.size(), one.size() + 4);
}

TEST(Mask, RefusesRunsThatLie) {
  const auto mask = mask_of(300, 5, 4);
  ByteWriter bytes;
  bounded::write_mask(mask, Shape{10, 30}, bytes);
  std::vector<std::uint8_t> back(300);
  for (std::size_t kept = 0; kept < bytes.size(); ++kept) {
    ByteReader reader(bytes.bytes().first(kept));
    EXPECT_FALSE(bounded::read_mask(reader, Shape{10, 30}, back).ok()) << kept;
  }
  ByteReader smaller(bytes.bytes());
  std::vector<std::uint8_t> few(20);
  EXPECT_FALSE(bounded::read_mask(smaller, Shape{2, 10}, few).ok());
}

TEST(ExactValues, ComeBackAsATableOrOneByOne) {
  std::mt19937_64 random(2);
  for (const std::size_t distinct : {1, 2, 63, 64, 65, 1000}) {
    for (const std::size_t bytes_each : {2, 4, 8}) {
      std::vector<bounded::ElementBits> values;
      const bounded::ElementBits all = bytes_each == 8 ? ~0ull : (1ull << (8 * bytes_each)) - 1;
      while (values.size() < 2000) {
        const bounded::ElementBits value = (random() % distinct * 0x9e3779b97f4a7c15ull) & all;
        values.insert(values.end(), 1 + random() % 20, value);
      }
      ByteWriter bytes;
      bounded::write_special_values(values, bytes_each, bytes);
      ByteReader reader(bytes.bytes());
      const auto back = bounded::read_special_values(reader, values.size(), bytes_each);
      ASSERT_TRUE(back.ok());
      EXPECT_EQ(*back, values);
      for (std::size_t kept = 0; kept < bytes.size(); kept += 7) {
        ByteReader cut(bytes.bytes().first(kept));
        EXPECT_FALSE(bounded::read_special_values(cut, values.size(), bytes_each).ok());
      }
    }
  }
}

TEST(Patches, ComeBackAndNeverLieBeyondTheChunk) {
  const std::vector<bounded::Patch> patches = {{0, 1}, {1, 2}, {500, 3}, {999, 4}};
  ByteWriter bytes;
  bounded::write_patches(patches, 4, bytes);
  ByteReader reader(bytes.bytes());
  const auto back = bounded::read_patches(reader, 1000, 4);
  ASSERT_TRUE(back.ok());
  ASSERT_EQ(back->size(), patches.size());
  for (std::size_t i = 0; i < patches.size(); ++i) {
    EXPECT_EQ((*back)[i].index, patches[i].index);
    EXPECT_EQ((*back)[i].value, patches[i].value);
  }
  ByteReader short_chunk(bytes.bytes());
  EXPECT_FALSE(bounded::read_patches(short_chunk, 999, 4).ok());
}

template <class T>
void expect_equal_scans() {
  std::mt19937_64 random(4);
  for (const std::size_t count : {0, 1, 7, 1023, 1024, 1025, 5000}) {
    for (int variant = 0; variant < 12; ++variant) {
      std::vector<T> values(count);
      for (auto& value : values) {
        value = static_cast<T>(static_cast<double>(random() % 2000) - 1000.5);
        if (variant % 3 == 1 && random() % 50 == 0) value = std::numeric_limits<T>::quiet_NaN();
        if (variant % 3 == 2 && random() % 50 == 0) value = -std::numeric_limits<T>::infinity();
        if (variant % 4 == 3 && random() % 90 == 0) value = T{-0.0};
        if (variant % 2 == 1 && random() % 10 == 0) value = T{1e30f};
      }
      const std::vector<T> fills = variant % 2 == 1 ? std::vector<T>{T{1e30f}} : std::vector<T>{};
      const auto expected = kernels::value_scan_reference<T>(values, fills);
      for (const Isa isa : usable_isas()) {
        const auto scan = kernels::value_scan<T>(isa)(values, fills);
        EXPECT_EQ(scan, expected) << name_of(isa) << " " << count << " " << variant;
        EXPECT_FALSE(scan.min == 0 && std::signbit(scan.min));
      }
    }
  }
}

TEST(ValueScan, IsTheSameForEveryInstructionSet) {
  expect_equal_scans<float>();
  expect_equal_scans<double>();
}

TEST(Slice, FollowsNumpy) {
  const Shape shape{10, 20, 30};
  const auto slice = parse_slice("2:5,-1,:", shape);
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->axes[0].start, 2u);
  EXPECT_EQ(slice->axes[1].start, 19u);
  EXPECT_EQ(slice->shape(), (Shape{3, 30}));
  EXPECT_EQ(parse_slice("-3:,100:", shape)->shape(), (Shape{3, 0, 30}));
  EXPECT_EQ(parse_slice("...", shape)->shape(), shape);
  EXPECT_EQ(parse_slice(" 1 , ... , ::7 ", shape)->shape(), (Shape{20, 5}));
  EXPECT_EQ(parse_slice("::3,", shape)->shape(), (Shape{4, 20, 30}));
  EXPECT_EQ(parse_slice("5:2:-1,:99999999999999999999", shape)->shape(), (Shape{3, 20, 30}));
  const auto backwards = parse_slice("::-4", shape);
  ASSERT_TRUE(backwards.ok());
  EXPECT_EQ(backwards->axes[0].count, 3u);
  EXPECT_EQ(backwards->axes[0].position(2), 1u);
  for (const char* const text : {"", " ", "x", "10", "-11", "1:2:0", ",", ":,:,:,:", "1,2,3,4",
                                 "1..2", "...,...", "1:2:3:4", "1 2", "+-1", "....", "::x"}) {
    EXPECT_FALSE(parse_slice(text, shape).ok()) << text;
  }
}

// Every start, stop and step of an axis, against the loop that they stand for.
TEST(Slice, StepsHoldTheirPositionsAndNoOthers) {
  constexpr std::int64_t kLength = 7;
  const Shape shape{kLength};
  for (std::int64_t start = -9; start <= 9; ++start) {
    for (std::int64_t stop = -9; stop <= 9; ++stop) {
      for (const std::int64_t step : {-9, -3, -2, -1, 1, 2, 3, 9}) {
        std::vector<std::uint64_t> expected;
        const auto place = [&](std::int64_t at) {
          return std::clamp(at < 0 ? at + kLength : at, step > 0 ? std::int64_t{0} : -1,
                            step > 0 ? kLength : kLength - 1);
        };
        for (std::int64_t at = place(start); step > 0 ? at < place(stop) : at > place(stop);
             at += step) {
          expected.push_back(static_cast<std::uint64_t>(at));
        }
        const auto slice = parse_slice(text(start, ":", stop, ":", step), shape).value();
        std::vector<std::uint64_t> found;
        for (std::uint64_t i = 0; i < slice.axes[0].count; ++i) {
          found.push_back(slice.axes[0].position(i));
        }
        EXPECT_EQ(found, expected) << start << ' ' << stop << ' ' << step;
      }
    }
  }
}

TEST(Slice, NeedsTheChunksThatHoldAPositionAndNoOthers) {
  const auto grid = stream::ChunkGrid::make({100, 40}, {10, 20}).value();
  const auto chunks = [&](const char* words) {
    return stream::chunks_of(parse_slice(words, grid.shape()).value(), grid);
  };
  using Numbers = std::vector<std::uint64_t>;
  EXPECT_EQ(chunks("::30, :5"), (Numbers{0, 6, 12, 18}));
  EXPECT_EQ(chunks("::-30, -1"), (Numbers{1, 7, 13, 19}));  // 99, 69, 39 and 9
  EXPECT_EQ(chunks("5:5"), Numbers{});
  EXPECT_EQ(chunks("...").size(), 20u);
}

TEST(Regions, AreReadFromTheChunksThatHoldThem) {
  std::vector<float> values(12 * 17 * 23);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) * 0.5f;
  const Shape shape{12, 17, 23};
  const auto codec = Codec::make("ceresz").value();
  const auto stream = compress(*view_of(std::as_const(values), shape), codec, Bound::absolute(1e-3),
                               {.chunk_shape = Shape{5, 4, 9}});
  ASSERT_TRUE(stream.ok());
  const Tensor whole = decompress(*stream).value();
  const Region region{{3, 2, 8}, Shape{6, 9, 14}};
  std::vector<float> part(static_cast<std::size_t>(region.extent.element_count()));
  ASSERT_TRUE(
      Decompressor({.threads = 2}).decompress(*stream, region, *view_of(part, region.extent)).ok());
  std::vector<float> expected(part.size());
  copy_elements(whole.view().part(region), *view_of(expected, region.extent));
  EXPECT_EQ(part, expected);
  EXPECT_FALSE(
      Decompressor()
          .decompress(*stream, Region{{7, 2, 8}, region.extent}, *view_of(part, region.extent))
          .ok());
}

TEST(RelativeBound, IsOfTheRangeWithoutFillValues) {
  std::vector<float> values(5000);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 10 == 0 ? -1e34f : static_cast<float>(i % 100);
  }
  const auto codec = Codec::make("ceresz").value();
  const auto stream = compress(*view_of(std::as_const(values), {5000}), codec,
                               Bound::relative(0.01), {.fill_values = {-1e34}});
  ASSERT_TRUE(stream.ok());
  // 1 to 99, as multiples of ten were overwritten.
  EXPECT_EQ(read_info(*stream)->codec.parameter("limit"), "0.98");
}

TEST(Bounds, AreDemandedAndRefusedWhereTheyBelong) {
  std::vector<float> values(100, 1.0f);
  const auto view = *view_of(std::as_const(values), {100});
  EXPECT_FALSE(compress(view, Codec::make("ceresz").value()).ok());
  EXPECT_FALSE(compress(view, Codec::make("dct-chop").value(), Bound::relative(1e-3)).ok());
  EXPECT_FALSE(compress(view, Codec::make("ceresz").value(), Bound::absolute(-1)).ok());
}

// A chunk whose flags, masks and coder bytes are hostile must be an error or values, never a crash.
TEST(BoundedChunks, SurviveHostileBytes) {
  std::mt19937_64 random(9);
  std::vector<float> values(700);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 90 < 5 ? std::nanf("") : std::sin(static_cast<float>(i) * 0.1f);
  }
  for (const CodecInfo& info : codecs()) {
    if (!info.error_bounded) continue;
    for (const char* const bound : {"abs 0.001", "pw-rel 0.001"}) {
      const Parameter parameters[] = {{"bound", bound}, {"limit", "0.001"}};
      const auto codec = chunk_codec_of(Codec::make(info.name, parameters).value());
      ChunkWorkspace workspace(Isa::scalar);
      std::vector<std::byte> bytes(values.size() * 4);
      const auto chunk =
          codec->compress(*view_of(std::as_const(values), {7, 100}), bytes, workspace);
      ASSERT_TRUE(chunk.ok());
      ASSERT_FALSE(chunk->raw);
      bytes.resize(static_cast<std::size_t>(chunk->bytes));
      std::vector<float> back(values.size());
      const auto output = *view_of(back, {7, 100});
      ASSERT_TRUE(codec->decompress(bytes, output, workspace).ok());
      for (std::size_t kept = 0; kept < bytes.size(); ++kept) {
        EXPECT_FALSE(codec->decompress(std::span(bytes).first(kept), output, workspace).ok())
            << info.name << " " << kept << " of " << bytes.size();
      }
      for (int turn = 0; turn < 3000; ++turn) {
        auto mutant = bytes;
        for (std::uint64_t i = 0; i <= random() % 3; ++i) {
          mutant[random() % std::min<std::size_t>(mutant.size(), turn % 2 == 0 ? 40 : 1 << 20)] =
              static_cast<std::byte>(random());
        }
        (void)codec->decompress(mutant, output, workspace);
      }
    }
  }
}

}  // namespace
}  // namespace tensorpress
