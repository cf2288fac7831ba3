// What is our own about NetCDF files: the length that a classic header asks for, and the notes that
// a .tpz keeps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "files/conventions/netcdf_classic_size.h"
#include "files/conventions/netcdf_notes.h"
#include "files/conventions/netcdf_slice.h"
#include "tensorpress/streaming.h"
#include "unit/stream/samples.h"

namespace tensorpress::files {
namespace {

using samples::Bytes;

/// A classic header, number by number.
class HeaderWriter {
 public:
  HeaderWriter& number(std::uint64_t value, int width = 4) {
    for (int i = width - 1; i >= 0; --i) bytes.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  HeaderWriter& name(std::string_view text) {
    number(text.size());
    for (const char each : text) bytes.push_back(static_cast<std::byte>(each));
    while (bytes.size() % 4 != 0) bytes.push_back(std::byte{0});
    return *this;
  }
  Bytes bytes;
};

/// Dimensions t (grows, 3 records so far) and x = 5; a(x) of doubles at 200, b(t, x) of shorts at
/// 240, c(t) of floats behind it.
Bytes sample_header() {
  HeaderWriter header;
  header.number(0x43444601).number(3);
  header.number(10).number(2).name("t").number(0).name("x").number(5);
  header.number(12).number(1).name("note").number(2).number(3).number(0x61626300);
  header.number(11).number(3);
  header.name("a").number(1).number(1).number(0).number(0).number(6).number(40).number(200);
  header.name("b").number(2).number(0).number(1).number(0).number(0).number(3).number(12).number(
      240);
  header.name("c").number(1).number(0).number(0).number(0).number(5).number(4).number(252);
  return header.bytes;
}

TEST(NetcdfClassicSize, IsTheEndOfTheLastRecord) {
  // A record is 5 shorts padded to 12 bytes and a float: 16. The last of c begins at 252 + 2 16.
  const Bytes header = sample_header();
  const auto size = netcdf_classic_size(MemorySource(header));
  ASSERT_TRUE(size.ok()) << size.error().message;
  EXPECT_EQ(*size, 252u + 2 * 16 + 4);
}

TEST(NetcdfClassicSize, EveryCutHeaderIsAnError) {
  const Bytes header = sample_header();
  for (std::size_t keep = 0; keep < header.size(); ++keep) {
    const Bytes cut(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(keep));
    EXPECT_FALSE(netcdf_classic_size(MemorySource(cut)).ok()) << keep;
  }
}

TEST(NetcdfClassicSize, SizesBeyondWhatNumbersHoldAreAnError) {
  HeaderWriter header;  // CDF-5: x = y = 2^32, a(y, x) of floats
  header.number(0x43444605).number(0, 8);
  const auto name = [&](char letter) -> HeaderWriter& {
    return header.number(1, 8).number(static_cast<std::uint64_t>(letter) << 24);
  };
  header.number(10).number(2, 8);
  for (const char each : {'x', 'y'}) name(each).number(std::uint64_t{1} << 32, 8);
  header.number(0).number(0, 8);
  header.number(11).number(1, 8);
  name('a').number(2, 8).number(0, 8).number(1, 8).number(0).number(0, 8);
  header.number(5).number(0, 8).number(200, 8);
  const auto size = netcdf_classic_size(MemorySource(header.bytes));
  ASSERT_FALSE(size.ok()) << *size;
  EXPECT_NE(size.error().message.find("too large"), std::string::npos) << size.error().message;
}

TEST(NetcdfClassicSize, HostileHeadersAreErrorsOrGiveASize) {
  std::mt19937 random(11);
  for (int i = 0; i < 20000; ++i) {
    Bytes header = sample_header();
    for (auto n = random() % 4 + 1; n > 0; --n) {
      header[random() % header.size()] = static_cast<std::byte>(random());
    }
    const auto size = netcdf_classic_size(MemorySource(header));
    EXPECT_TRUE(size.ok() || !size.error().message.empty());
  }
}

template <class T>
NetcdfArray array_of(NetcdfType type, const std::vector<T>& values) {
  NetcdfArray array{.type = type};
  array.bytes.resize(values.size() * sizeof(T));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

NetcdfArray text_of(std::string_view text) {
  return array_of(NetcdfType::text, std::vector<char>(text.begin(), text.end()));
}

NetcdfNotes sample_notes() {
  NetcdfNotes notes;
  notes.variable = "TEMP";
  notes.type = NetcdfType::i16;
  notes.dimensions = {"TIME", "x \"y\""};
  notes.unlimited = {"TIME"};
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  notes.attributes = {
      {"units", text_of("DEG \xc2\xb0")},
      {"latin", text_of("caf\xe9")},
      {"_FillValue", array_of<float>(NetcdfType::f32, {-1e34f, 0.1f, kNan, -HUGE_VALF})},
      {"far", array_of<std::uint64_t>(NetcdfType::u64, {UINT64_MAX, 0})},
      {"near", array_of<std::int64_t>(NetcdfType::i64, {INT64_MIN})},
      {"words", {.type = NetcdfType::string, .strings = {"a", ""}}},
      {"flags", array_of<std::int8_t>(NetcdfType::i8, {-1, 2})}};
  notes.coordinates = {{"TIME", array_of<double>(NetcdfType::f64, {0.1, 1e300}), {}}};
  return notes;
}

TEST(NetcdfNotes, ComeBackBitForBit) {
  const NetcdfNotes notes = sample_notes();
  const auto back = netcdf_notes(to_attributes(notes));
  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_TRUE(back->has_value());
  EXPECT_EQ(**back, notes);
}

TEST(NetcdfNotes, LongOnesAreCutIntoPiecesThatAStreamTakes) {
  NetcdfNotes notes = sample_notes();
  std::vector<double> values(40000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sqrt(static_cast<double>(i));
  notes.coordinates = {{"TIME", array_of<double>(NetcdfType::f64, values), {}}};
  const auto attributes = to_attributes(notes);
  EXPECT_GT(attributes.size(), 5u);
  for (const auto& attribute : attributes) EXPECT_LT(attribute.value.size(), 65536u);
  const auto back = netcdf_notes(attributes);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(**back, notes);
}

TEST(NetcdfNotes, WholeNumbersThatTheTypeDoesNotHoldAreAnError) {
  for (const char* const values :
       {"[300]", "[-129]", "[1.5]", "[\"1\"]", "[18446744073709551615]"}) {
    const std::string json = std::string(R"({"variable": "a", "type": "f32", "dimensions": [],)") +
                             R"("attributes": {"flags": {"i8": )" + values + "}}}";
    const auto notes = netcdf_notes(std::vector<Attribute>{{"netcdf", json}});
    ASSERT_FALSE(notes.ok()) << values;
    EXPECT_EQ(notes.error().code, ErrorCode::corrupt) << values;
  }
}

TEST(NetcdfNotes, AMillionListsInListsAreRefusedAndNotTheEndOfTheStack) {
  constexpr std::size_t kLists = 1'000'000;
  const std::string json =
      R"({"variable": "x", "type": "f32", "dimensions": [], "attributes": {"a": )" +
      std::string(kLists, '[') + std::string(kLists, ']') + "}}";
  std::vector<Attribute> pieces;  // as a stream has to keep them
  for (std::size_t at = 0; at < json.size(); at += 60000) {
    pieces.push_back(
        {at == 0 ? "netcdf" : "netcdf." + std::to_string(pieces.size()), json.substr(at, 60000)});
  }
  const auto notes = netcdf_notes(pieces);
  ASSERT_FALSE(notes.ok());
  EXPECT_EQ(notes.error().code, ErrorCode::corrupt);
}

// Undefined behaviour until a fuzzer noticed: no bytes were copied from and to nowhere.
TEST(NetcdfNotes, EmptyTextComesBack) {
  NetcdfNotes notes = sample_notes();
  notes.global = {{"title", NetcdfArray{}}};
  const auto back = netcdf_notes(to_attributes(notes));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(**back, notes);
}

TEST(NetcdfNotes, BracketsInStringsAreNoLists) {
  NetcdfNotes notes = sample_notes();
  notes.variable = "\\\"" + std::string(100, '[') + "\\";
  const auto back = netcdf_notes(to_attributes(notes));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(**back, notes);
}

TEST(NetcdfNotes, HostileTextIsAnErrorOrNotes) {
  const std::string good = to_attributes(sample_notes()).front().value;
  std::mt19937 random(3);
  for (int i = 0; i < 5000; ++i) {
    std::string bad = good;
    for (auto n = random() % 3 + 1; n > 0; --n) {
      bad[random() % bad.size()] = static_cast<char>(' ' + random() % 95);
    }
    const std::vector<Attribute> attributes = {{"netcdf", bad}};
    const auto notes = netcdf_notes(attributes);
    EXPECT_TRUE(notes.ok() || notes.error().code == ErrorCode::corrupt);
  }
}

/// A variable of time and x, whose coordinates are 0, 1, ... in bytes.
NetcdfNotes notes_of_two_axes() {
  NetcdfNotes notes;
  notes.variable = "tas";
  notes.dimensions = {"time", "x"};
  notes.coordinates = {
      {"time", {NetcdfType::u8, {std::byte{0}, std::byte{1}, std::byte{2}}}},
      {"x", {NetcdfType::u8, {std::byte{0}, std::byte{1}, std::byte{2}, std::byte{3}}}}};
  return notes;
}

TEST(NetcdfSlice, CoordinatesGoWithTheElementsThatAreKept) {
  const Shape shape = *Shape::make(std::vector<std::uint64_t>{3, 4});
  const auto part = notes_of_part(notes_of_two_axes(), *parse_slice("1:,::-2", shape), shape);
  EXPECT_EQ(part.dimensions, (std::vector<std::string>{"time", "x"}));
  EXPECT_EQ(part.coordinates[0].values.bytes, (Bytes{std::byte{1}, std::byte{2}}));
  EXPECT_EQ(part.coordinates[1].values.bytes, (Bytes{std::byte{3}, std::byte{1}}));
}

TEST(NetcdfSlice, AnAxisWithOneIndexIsNoDimensionAnyMore) {
  const Shape shape = *Shape::make(std::vector<std::uint64_t>{3, 4});
  const auto part = notes_of_part(notes_of_two_axes(), *parse_slice("2", shape), shape);
  EXPECT_EQ(part.dimensions, (std::vector<std::string>{"x"}));
  EXPECT_EQ(part.coordinates[0].values.bytes, (Bytes{std::byte{2}}));
}

TEST(NetcdfSlice, NotesAboutAnotherNumberOfAxesStay) {
  const Shape shape = *Shape::make(std::vector<std::uint64_t>{12});
  EXPECT_EQ(notes_of_part(notes_of_two_axes(), *parse_slice("3:5", shape), shape),
            notes_of_two_axes());
}

}  // namespace
}  // namespace tensorpress::files
