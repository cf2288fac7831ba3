// Reading bytes from files and standard input.
#include "files/bytes/byte_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "redirected.h"
#include "scratch_directory.h"

namespace tensorpress::files {
namespace {

std::string read_text(const ByteSource& source, std::uint64_t offset, std::size_t count) {
  std::string text(count, '?');
  const auto done = source.read_at(offset, std::as_writable_bytes(std::span(text)));
  return done.ok() ? text : done.error().message;
}

TEST(ByteFiles, ReadsAnyRange) {
  const ScratchDirectory scratch;
  const auto source = open_bytes(scratch.with_file("digits", "0123456789"));
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ((*source)->size(), 10u);
  EXPECT_EQ(read_text(**source, 7, 3), "789");
  EXPECT_EQ(read_text(**source, 0, 10), "0123456789");
  EXPECT_EQ(read_text(**source, 10, 0), "");
}

TEST(ByteFiles, BeyondTheEndIsTruncated) {
  const ScratchDirectory scratch;
  const auto source = open_bytes(scratch.with_file("digits", "0123456789"));
  ASSERT_TRUE(source.ok());
  std::byte buffer[4];
  for (const std::uint64_t offset : {std::uint64_t{7}, std::uint64_t{11}, ~std::uint64_t{0}}) {
    const auto done = (*source)->read_at(offset, buffer);
    ASSERT_FALSE(done.ok()) << offset;
    EXPECT_EQ(done.error().code, ErrorCode::truncated);
    EXPECT_NE(done.error().message.find("ends at byte 10"), std::string::npos);
  }
}

TEST(ByteFiles, FileThatShrinksIsAnError) {
  const ScratchDirectory scratch;
  const auto path = scratch.with_file("digits", "0123456789");
  const auto source = open_bytes(path);
  ASSERT_TRUE(source.ok());
  std::filesystem::resize_file(path, 4);
  std::byte buffer[8];
  const auto done = (*source)->read_at(0, buffer);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::truncated);
}

TEST(ByteFiles, WhatIsNoFileIsNamedWithItsReason) {
  const ScratchDirectory scratch;
  const auto missing = open_bytes(scratch / "missing.tpz");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message,
            "cannot read '" + (scratch / "missing.tpz") + "': No such file or directory");

  const auto directory = open_bytes(scratch.path());
  ASSERT_FALSE(directory.ok());
  EXPECT_EQ(directory.error().message, quoted(scratch.path()) + " is a directory, not a file");

  // Nothing writes to this pipe: waiting for it would never end.
  ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0600), 0);
  const auto pipe = open_bytes(scratch / "pipe");
  ASSERT_FALSE(pipe.ok());
  EXPECT_EQ(pipe.error().code, ErrorCode::io);
}

TEST(ByteFiles, StandardInputFillsTheBufferFromManySmallWrites) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Redirected redirected(0, ends[0]);
  std::thread writer([end = ends[1]] {
    for (char digit = '0'; digit <= '9'; ++digit) {
      if (::write(end, &digit, 1) != 1) break;
    }
    ::close(end);
  });
  const auto input = standard_input();
  std::string text(7, '?');
  const auto first = input->read(std::as_writable_bytes(std::span(text)));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(*first, 7u);
  EXPECT_EQ(text, "0123456");
  const auto second = input->read(std::as_writable_bytes(std::span(text)));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*second, 3u);
  EXPECT_EQ(text.substr(0, 3), "789");
  writer.join();
}

}  // namespace
}  // namespace tensorpress::files
