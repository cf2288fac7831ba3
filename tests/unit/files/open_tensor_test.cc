// Tensors read from .npy and raw files and from pipes.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "files/tensor/tensor_files.h"
#include "redirected.h"
#include "scratch_directory.h"
#include "unit/files/samples.h"

namespace tensorpress::files {
namespace {

std::string message_of_opening(const std::string& path,
                               const std::optional<RawFormat>& raw = std::nullopt) {
  const auto source = open_tensor(path, raw);
  return source.ok() ? "" : source.error().message;
}

TEST(OpenTensor, ReadsRegionsOfACOrderFile) {
  const ScratchDirectory scratch;
  const auto source = open_tensor(
      scratch.with_file("x.npy", npy("<i2", false, "(3, 4, 5)", bytes_of(counted(60)))), {});
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ((*source)->dtype(), DType::i16);
  EXPECT_EQ((*source)->shape(), (Shape{3, 4, 5}));
  EXPECT_TRUE((*source)->random_access());
  EXPECT_EQ(read_region<std::int16_t>(**source, Region::whole({3, 4, 5})), counted(60));
  // element (i, j, k) is 20 i + 5 j + k
  EXPECT_EQ(read_region<std::int16_t>(**source, {{1, 2, 3}, {2, 1, 2}}),
            (std::vector<std::int16_t>{33, 34, 53, 54}));
  EXPECT_EQ(read_region<std::int16_t>(**source, {{0, 1, 0}, {1, 2, 5}}),
            (std::vector<std::int16_t>{5, 6, 7, 8, 9, 10, 11, 12, 13, 14}));
  EXPECT_TRUE(read_region<std::int16_t>(**source, {{3, 0, 0}, {0, 4, 5}}).empty());
}

TEST(OpenTensor, ReadsRegionsOfAFortranOrderFile) {
  const ScratchDirectory scratch;
  const auto source = open_tensor(
      scratch.with_file("x.npy", npy("<i2", true, "(3, 4, 5)", bytes_of(counted(60)))), {});
  ASSERT_TRUE(source.ok()) << source.error().message;
  // element (i, j, k) is i + 3 j + 12 k
  EXPECT_EQ(read_region<std::int16_t>(**source, {{1, 2, 3}, {2, 1, 2}}),
            (std::vector<std::int16_t>{43, 55, 44, 56}));
  const auto whole = read_region<std::int16_t>(**source, Region::whole({3, 4, 5}));
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 5; ++k) {
        EXPECT_EQ(whole[static_cast<std::size_t>(20 * i + 5 * j + k)], i + 3 * j + 12 * k);
      }
    }
  }
}

// Narrow columns of long and of short rows: the first are read run by run, the others through a
// window over several of them, and both cross the window's end.
TEST(OpenTensor, ReadsNarrowColumnsWithWideAndSmallGaps) {
  const ScratchDirectory scratch;
  for (const std::uint64_t width : {std::uint64_t{100}, std::uint64_t{20000}}) {
    const std::uint64_t height = 2000000 / width;
    std::vector<float> values(height * width);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    const auto source =
        open_tensor(scratch.with_file("x.raw", bytes_of(values)), RawFormat{{height, width}});
    ASSERT_TRUE(source.ok()) << source.error().message;
    const auto column = read_region<float>(**source, {{1, 7}, {height - 1, 3}});
    ASSERT_EQ(column.size(), (height - 1) * 3);
    for (std::size_t i = 0; i < column.size(); ++i) {
      ASSERT_EQ(column[i], static_cast<float>((i / 3 + 1) * width + 7 + i % 3)) << i;
    }
  }
}

TEST(OpenTensor, SwapsBigEndianElementsOfEverySize) {
  const ScratchDirectory scratch;
  const std::vector<float> f32 = {1.5f, -2.25f};
  const std::vector<double> f64 = {1.5, -2.25};
  const std::vector<std::int16_t> i16 = {1, -300};
  const std::vector<std::uint16_t> f16 = {0x3E00, 0xC080};  // 1.5, -2.25
  const auto open = [&](const char* descr, const std::string& bytes) {
    return open_tensor(scratch.with_file("x.npy", npy(descr, false, "(2,)", bytes)), {});
  };
  const auto all = Region::whole({2});
  EXPECT_EQ(read_region<float>(**open(">f4", bytes_of(f32, true)), all), f32);
  EXPECT_EQ(read_region<double>(**open(">f8", bytes_of(f64, true)), all), f64);
  EXPECT_EQ(read_region<std::int16_t>(**open(">i2", bytes_of(i16, true)), all), i16);
  EXPECT_EQ(read_region<std::uint16_t>(**open(">f2", bytes_of(f16, true)), all), f16);
  EXPECT_EQ(read_region<float>(**open("<f4", bytes_of(f32)), all), f32);
}

TEST(OpenTensor, ScalarsAndEmptyTensorsAreOrdinary) {
  const ScratchDirectory scratch;
  const auto scalar = open_tensor(
      scratch.with_file("s.npy", npy("<f4", false, "()", bytes_of(std::vector{2.5f}))), {});
  ASSERT_TRUE(scalar.ok()) << scalar.error().message;
  EXPECT_EQ(read_region<float>(**scalar, Region::whole({})), std::vector{2.5f});
  const auto empty = open_tensor(scratch.with_file("e.npy", npy("<f4", true, "(3, 0, 5)", "")), {});
  ASSERT_TRUE(empty.ok()) << empty.error().message;
  EXPECT_EQ((*empty)->shape(), (Shape{3, 0, 5}));
  EXPECT_TRUE(read_region<float>(**empty, Region::whole({3, 0, 5})).empty());
}

TEST(OpenTensor, RegionOutsideTheTensorIsAnError) {
  const ScratchDirectory scratch;
  const auto source =
      open_tensor(scratch.with_file("x.raw", std::string(12, '\0')), RawFormat{{3}, DType::f32});
  ASSERT_TRUE(source.ok());
  AlignedBuffer buffer;
  EXPECT_EQ((*source)->read({{2}, {2}}, buffer).error().code, ErrorCode::bad_argument);
  EXPECT_EQ((*source)->read({{~0ull}, {2}}, buffer).error().code, ErrorCode::bad_argument);
  EXPECT_EQ((*source)->read({{0}, {1, 1}}, buffer).error().code, ErrorCode::bad_argument);
}

TEST(OpenTensor, WrongSizesGiveBothNumbers) {
  const ScratchDirectory scratch;
  const auto with_elements = [&](std::size_t bytes) {
    return scratch.with_file("x.npy", npy("<f4", false, "(5, 6)", std::string(bytes, '\0')));
  };
  EXPECT_EQ(message_of_opening(with_elements(120)), "");
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{119}, std::size_t{121}}) {
    const auto message = message_of_opening(with_elements(bytes));
    EXPECT_TRUE(contains(message, "holds " + std::to_string(bytes) + " bytes")) << message;
    EXPECT_TRUE(contains(message, "5x6 of f32 needs 120")) << message;
  }
  const auto raw = scratch.with_file("x.raw", std::string(100, '\0'));
  EXPECT_EQ(message_of_opening(raw, RawFormat{{25}, DType::f32}), "");
  for (const auto& shape : {Shape{5, 6}, Shape{24}, Shape{}, Shape{0}}) {
    const auto message = message_of_opening(raw, RawFormat{shape, DType::f32});
    EXPECT_TRUE(contains(message, "has 100 bytes")) << message;
    EXPECT_TRUE(contains(
        message, shape.to_string() + " of f32 needs " + std::to_string(shape.element_count() * 4)))
        << message;
  }
  EXPECT_TRUE(contains(message_of_opening(with_elements(120), RawFormat{{30}, DType::f32}),
                       "it is a .npy file"));
}

// 2^59 elements claimed by a file of a hundred bytes: refused by its size, nothing is allocated.
TEST(OpenTensor, AbsurdClaimsAreRefusedBeforeAnythingIsAllocated) {
  const ScratchDirectory scratch;
  const auto path = scratch.with_file("x.npy", npy("<f8", false, "(536870912, 1073741824)", "few"));
  EXPECT_TRUE(contains(message_of_opening(path), "needs 4611686018427387904"));
}

TEST(OpenTensor, WhatCannotBeReadIsNamedWithItsReason) {
  const ScratchDirectory scratch;
  EXPECT_EQ(message_of_opening(scratch / "missing.npy"),
            "cannot read '" + (scratch / "missing.npy") + "': No such file or directory");
  EXPECT_EQ(message_of_opening(scratch.path()),
            quoted(scratch.path()) + " is a directory, not a file");
  EXPECT_EQ(message_of_opening(scratch.with_file("empty.npy", "")),
            "cannot read '" + (scratch / "empty.npy") + "': it is empty");
  EXPECT_TRUE(contains(message_of_opening(scratch.with_file("x.npy", npy("<i8", false, "()", ""))),
                       "'<i8' is not supported"));
}

TEST(OpenTensor, PipeGivesConsecutiveRegionsOnly) {
  const ScratchDirectory scratch;
  const auto path = scratch.with_file("x.npy", npy("<i2", false, "(4, 3)", bytes_of(counted(12))));
  const auto redirected = Redirected::input(path);
  const auto source = open_tensor("-", {});
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_FALSE((*source)->random_access());
  EXPECT_EQ(read_region<std::int16_t>(**source, {{0, 0}, {2, 3}}), counted(6));
  AlignedBuffer buffer;
  const auto backwards = (*source)->read({{0, 0}, {1, 3}}, buffer);
  ASSERT_FALSE(backwards.ok());
  EXPECT_TRUE(contains(backwards.error().message, "element 6 is next"));
  EXPECT_FALSE((*source)->read({{2, 0}, {2, 2}}, buffer).ok());
  EXPECT_EQ(read_region<std::int16_t>(**source, {{2, 0}, {1, 1}}), std::vector<std::int16_t>{6});
  EXPECT_EQ(read_region<std::int16_t>(**source, {{2, 1}, {1, 2}}),
            (std::vector<std::int16_t>{7, 8}));
  EXPECT_EQ(read_region<std::int16_t>(**source, {{3, 0}, {1, 3}}),
            (std::vector<std::int16_t>{9, 10, 11}));
}

TEST(OpenTensor, FortranOrderFromAPipeIsSpooled) {
  const ScratchDirectory scratch;
  const auto path = scratch.with_file("x.npy", npy("<i2", true, "(2, 3)", bytes_of(counted(6))));
  const auto redirected = Redirected::input(path);
  const auto source = open_tensor("-", {});
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_TRUE((*source)->random_access());
  EXPECT_EQ(read_region<std::int16_t>(**source, {{1, 0}, {1, 3}}),
            (std::vector<std::int16_t>{1, 3, 5}));
  EXPECT_EQ(read_region<std::int16_t>(**source, {{0, 0}, {1, 3}}),
            (std::vector<std::int16_t>{0, 2, 4}));
}

TEST(OpenTensor, PipesOfTheWrongLengthAreErrors) {
  const ScratchDirectory scratch;
  for (const bool fortran : {false, true}) {
    for (const std::size_t bytes : {std::size_t{11}, std::size_t{13}}) {
      const auto path =
          scratch.with_file("x.npy", npy("<i2", fortran, "(2, 3)", std::string(bytes, '\0')));
      const auto redirected = Redirected::input(path);
      const auto source = open_tensor("-", {});
      EXPECT_EQ(source.ok(), !fortran);  // a spool notices at once, a sequential reader at the end
      AlignedBuffer buffer;
      const auto error =
          source.ok() ? (*source)->read(Region::whole({2, 3}), buffer).error() : source.error();
      EXPECT_EQ(error.code, bytes < 12 ? ErrorCode::truncated : ErrorCode::corrupt);
      EXPECT_TRUE(contains(error.message, "12")) << error.message;
    }
  }
  const auto redirected = Redirected::input(scratch.with_file("x.raw", "x"));
  EXPECT_FALSE(open_tensor("-", RawFormat{{0}, DType::u8}).ok());
}

TEST(OpenTensor, NamedPipeIsReadInOrder) {
  const ScratchDirectory scratch;
  const auto pipe = scratch / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] {
    std::ofstream(pipe, std::ios::binary) << npy(">i2", false, "(6,)", bytes_of(counted(6), true));
  });
  const auto source = open_tensor(pipe, {});
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_FALSE((*source)->random_access());
  EXPECT_EQ(read_region<std::int16_t>(**source, {{0}, {4}}), counted(4));
  EXPECT_EQ(read_region<std::int16_t>(**source, {{4}, {2}}), (std::vector<std::int16_t>{4, 5}));
  writer.join();
}

}  // namespace
}  // namespace tensorpress::files
