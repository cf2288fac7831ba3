// What raw files say through their names, and how their types are spelled.
#include <gtest/gtest.h>

#include "files/tensor/raw_format.h"
#include "scratch_directory.h"

namespace tensorpress::files {
namespace {

TEST(RawFormat, TypesAreSpelledAsHereAndAsInNumpyInBothByteOrders) {
  const std::pair<const char*, StoredType> spellings[] = {
      {"f32", {DType::f32, false}},   {"<f4", {DType::f32, false}}, {">f4", {DType::f32, true}},
      {"float64", {DType::f64}},      {">f8", {DType::f64, true}},  {">i2", {DType::i16, true}},
      {">bf16", {DType::bf16, true}}, {"|u1", {DType::u8, false}},  {"=f2", {DType::f16, false}},
  };
  for (const auto& [word, type] : spellings) {
    const auto parsed = parse_stored_type(word);
    ASSERT_TRUE(parsed.ok()) << word;
    EXPECT_EQ(parsed->dtype, type.dtype) << word;
    EXPECT_EQ(parsed->big_endian, type.big_endian) << word;
  }
  for (const char* const word : {"", ">", "f5", "<>f4", "i8", "f4 "}) {
    EXPECT_FALSE(parse_stored_type(word).ok()) << word;
  }
}

TEST(RawFormat, NamesSayTheShapeAsFarAsTheSizeAgrees) {
  const ScratchDirectory scratch;
  const auto shape_of = [&](const char* name, std::size_t bytes) -> std::string {
    const auto format = raw_format_of_file(scratch.with_file(name, std::string(bytes, 'x')));
    return format ? format->shape.to_string() : "";
  };
  EXPECT_EQ(shape_of("CLDHGH_1_18_36.f32", 4 * 18 * 36), "1x18x36");
  EXPECT_EQ(shape_of("t_2020_91_3.f64", 8 * 91 * 3), "91x3");
  EXPECT_EQ(shape_of("q_288_115_69_69.d64", 8 * 69 * 69), "69x69");
  EXPECT_EQ(shape_of("a_3x4.F32", 48), "3x4");
  EXPECT_EQ(shape_of("a_3x4.f32", 40), "3x4");  // told when it is opened
  EXPECT_EQ(shape_of("run_7.f32", 40), "");
  EXPECT_EQ(shape_of("a_3x4.dat", 48), "");
  EXPECT_EQ(shape_of("_99999999999999999999_9.f32", 36), "9");
  const auto swapped = raw_format_of_file(scratch.with_file("b_3_4.dat", std::string(24, 'x')),
                                          StoredType{DType::i16, true});
  ASSERT_TRUE(swapped);
  EXPECT_EQ(swapped->shape, (Shape{3, 4}));
  EXPECT_TRUE(swapped->big_endian);
  EXPECT_FALSE(raw_format_of_file(scratch / "absent_3_4.f32"));
}

}  // namespace
}  // namespace tensorpress::files
