// Tensors written to .npy and raw files, devices and standard output.
#include <gtest/gtest.h>

#include <cstdlib>

#include "files/tensor/tensor_files.h"
#include "redirected.h"
#include "scratch_directory.h"
#include "unit/files/samples.h"

namespace tensorpress::files {
namespace {

// Writes the tensor 0, 1, 2, ... of 4 x 6 in four blocks of 2 x 3.
std::string write_blocks(const std::string& path, bool force_raw) {
  const auto values = counted(24);
  const auto whole =
      TensorView::contiguous(reinterpret_cast<const std::byte*>(values.data()), DType::i16, {4, 6});
  auto file = create_tensor(path, DType::i16, {4, 6}, {.raw = force_raw});
  if (!file.ok()) return file.error().message;
  for (const std::uint64_t row : {std::uint64_t{0}, std::uint64_t{2}}) {
    for (const std::uint64_t column : {std::uint64_t{0}, std::uint64_t{3}}) {
      const Region block{{row, column}, {2, 3}};
      const auto done = (*file)->write(block, whole.part(block));
      if (!done.ok()) return done.error().message;
    }
  }
  const auto done = (*file)->finish();
  return done.ok() ? "" : done.error().message;
}

TEST(CreateTensor, BlocksMakeTheNpyFileThatNumpyWouldSave) {
  const ScratchDirectory scratch;
  EXPECT_EQ(write_blocks(scratch / "x.npy", false), "");
  std::string expected = std::string("\x93NUMPY\1\0\x76\0", 10) +
                         "{'descr': '<i2', 'fortran_order': False, 'shape': (4, 6), }";
  expected.resize(127, ' ');
  expected += '\n';
  EXPECT_EQ(contents_of(scratch / "x.npy"), expected + bytes_of(counted(24)));
}

TEST(CreateTensor, OtherNamesAndForceRawGiveElementsOnly) {
  const ScratchDirectory scratch;
  EXPECT_EQ(write_blocks(scratch / "x.raw", false), "");
  EXPECT_EQ(contents_of(scratch / "x.raw"), bytes_of(counted(24)));
  EXPECT_EQ(write_blocks(scratch / "x.npy", true), "");
  EXPECT_EQ(contents_of(scratch / "x.npy"), bytes_of(counted(24)));
}

TEST(CreateTensor, BlocksToStandardOutputComeOutInOrder) {
  const ScratchDirectory scratch;
  std::string message;
  {
    const auto redirected = Redirected::output(scratch / "out");
    message = write_blocks("-", true);
  }
  EXPECT_EQ(message, "");
  EXPECT_EQ(contents_of(scratch / "out"), bytes_of(counted(24)));
  {
    const auto redirected = Redirected::output(scratch / "out.npy");
    message = write_blocks("-", false);
  }
  EXPECT_EQ(message, "");
  const auto source = open_tensor(scratch / "out.npy", {});
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ(read_region<std::int16_t>(**source, Region::whole({4, 6})), counted(24));
}

// More than the copy buffer of the spool, and the last block short of it.
TEST(CreateTensor, LargeSpoolComesOutWhole) {
  const ScratchDirectory scratch;
  const Shape shape{3, 400001};
  std::vector<float> values(shape.element_count());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const auto view = *view_of(std::span<const float>(values), shape);
  bool written = true;
  {
    const auto redirected = Redirected::output(scratch / "out");
    auto file = create_tensor("-", DType::f32, shape, {.raw = true});
    for (const std::uint64_t row : {0, 2, 1}) {
      const Region part{{row, 0}, {1, 400001}};
      written = written && file.ok() && (*file)->write(part, view.part(part)).ok();
    }
    written = written && (*file)->finish().ok();
  }
  EXPECT_TRUE(written);
  EXPECT_TRUE(contents_of(scratch / "out") == bytes_of(values));
}

TEST(CreateTensor, TensorWithHolesIsNotFinished) {
  const ScratchDirectory scratch;
  const auto path = scratch.with_file("x.npy", "old");
  {
    auto file = create_tensor(path, DType::u8, {2, 2});
    ASSERT_TRUE(file.ok());
    const std::byte row[2] = {};
    ASSERT_TRUE(
        (*file)->write({{0, 0}, {1, 2}}, TensorView::contiguous(row, DType::u8, {1, 2})).ok());
    const auto done = (*file)->finish();
    ASSERT_FALSE(done.ok());
    EXPECT_TRUE(contains(done.error().message, "2 of 4 elements"));
  }
  EXPECT_EQ(contents_of(path), "old");
  EXPECT_EQ(scratch.names(), std::vector<std::string>{"x.npy"});
}

TEST(CreateTensor, ElementsThatDoNotFitTheirRegionAreAnError) {
  const ScratchDirectory scratch;
  auto file = create_tensor(scratch / "x.npy", DType::u8, {2, 2});
  ASSERT_TRUE(file.ok());
  const std::byte data[8] = {};
  const auto write = [&](const Region& region, DType dtype, const Shape& shape) {
    return (*file)->write(region, TensorView::contiguous(data, dtype, shape)).ok();
  };
  EXPECT_FALSE(write({{1, 0}, {2, 2}}, DType::u8, {2, 2}));   // sticks out
  EXPECT_FALSE(write({{0, 0}, {2, 2}}, DType::u8, {1, 2}));   // too few
  EXPECT_FALSE(write({{0, 0}, {2, 2}}, DType::i16, {2, 2}));  // another type
  EXPECT_TRUE(write({{0, 0}, {2, 2}}, DType::u8, {2, 2}));
}

TEST(CreateTensor, EmptyAndScalarTensorsAreWritten) {
  const ScratchDirectory scratch;
  auto empty = create_tensor(scratch / "empty.npy", DType::f32, {0, 3});
  ASSERT_TRUE(empty.ok());
  ASSERT_TRUE((*empty)->finish().ok());
  EXPECT_EQ(contents_of(scratch / "empty.npy").size(), 128u);

  auto scalar = create_tensor(scratch / "scalar.raw", DType::f32, {});
  ASSERT_TRUE(scalar.ok());
  const std::vector<float> value = {2.5f};
  ASSERT_TRUE(
      (*scalar)->write(Region::whole({}), *view_of(std::span<const float>(value), {})).ok());
  ASSERT_TRUE((*scalar)->finish().ok());
  EXPECT_EQ(contents_of(scratch / "scalar.raw"), bytes_of(value));
}

TEST(CreateTensor, FullDeviceSaysSo) {
  EXPECT_EQ(write_blocks("/dev/full", false), "cannot write '/dev/full': No space left on device");
}

TEST(CreateTensor, SpoolWithoutADirectorySaysWhatToDo) {
  const ScratchDirectory scratch;
  const char* const saved = std::getenv("TMPDIR");
  const std::string restore = saved != nullptr ? saved : "";
  ::setenv("TMPDIR", (scratch / "missing").c_str(), 1);
  std::string message;
  {
    const auto redirected = Redirected::output(scratch / "out");
    message = write_blocks("-", true);
  }
  if (saved != nullptr) {
    ::setenv("TMPDIR", restore.c_str(), 1);
  } else {
    ::unsetenv("TMPDIR");
  }
  EXPECT_TRUE(contains(message, quoted(scratch / "missing"))) << message;
  EXPECT_TRUE(contains(message, "set TMPDIR")) << message;
}

}  // namespace
}  // namespace tensorpress::files
