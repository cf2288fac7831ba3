// Files that appear whole or not at all. Nothing here depends on the user's rights: where a write
// must fail, it fails for root too.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "files/bytes/byte_files.h"
#include "files/bytes/temporary_file.h"
#include "redirected.h"
#include "scratch_directory.h"

namespace tensorpress::files {
namespace {

using Names = std::vector<std::string>;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// Writes `text` to `path` in one go; the message of the first error, or "".
std::string write_whole(const std::string& path, std::string_view text) {
  auto file = AtomicFile::create(path);
  if (!file.ok()) return file.error().message;
  if (const auto done = (*file)->append(bytes_of(text)); !done.ok()) return done.error().message;
  if (const auto done = (*file)->finish(); !done.ok()) return done.error().message;
  return "";
}

mode_t permissions_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

class Umask {
 public:
  explicit Umask(mode_t mask) : saved_(::umask(mask)) {}
  ~Umask() { ::umask(saved_); }

 private:
  mode_t saved_;
};

TEST(AtomicFile, AppearsOnlyWhenFinished) {
  const ScratchDirectory scratch;
  auto file = AtomicFile::create(scratch / "x.tpz");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_TRUE((*file)->can_write_at());
  ASSERT_TRUE((*file)->append(bytes_of("one ")).ok());
  ASSERT_TRUE((*file)->append(bytes_of("two")).ok());
  EXPECT_FALSE(std::filesystem::exists(scratch / "x.tpz"));
  ASSERT_TRUE((*file)->finish().ok());
  EXPECT_EQ(contents_of(scratch / "x.tpz"), "one two");
  file->reset();
  EXPECT_EQ(scratch.names(), Names{"x.tpz"});
}

TEST(AtomicFile, WritesAtAnyPosition) {
  const ScratchDirectory scratch;
  auto file = AtomicFile::create(scratch / "x");
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->append(bytes_of("head")).ok());
  ASSERT_TRUE((*file)->write_at(8, bytes_of("tail")).ok());
  ASSERT_TRUE((*file)->write_at(4, bytes_of("body")).ok());
  ASSERT_TRUE((*file)->append(bytes_of("BODY")).ok());
  ASSERT_TRUE((*file)->finish().ok());
  EXPECT_EQ(contents_of(scratch / "x"), "headBODYtail");
}

TEST(AtomicFile, WithoutFinishTheOldFileStaysAndNothingElse) {
  const ScratchDirectory scratch;
  const auto path = scratch.with_file("x.tpz", "old");
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->append(bytes_of("new and longer")).ok());
  }
  EXPECT_EQ(contents_of(path), "old");
  EXPECT_EQ(scratch.names(), Names{"x.tpz"});
}

TEST(AtomicFile, ReplacesAnExistingFileAndKeepsItsPermissions) {
  const ScratchDirectory scratch;
  const Umask umask(022);
  const auto path = scratch.with_file("x.tpz", "old and longer");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  EXPECT_EQ(write_whole(path, "new"), "");
  EXPECT_EQ(contents_of(path), "new");
  EXPECT_EQ(permissions_of(path), 0640u);
}

TEST(AtomicFile, NewFileHasThePermissionsOfTheUmask) {
  const ScratchDirectory scratch;
  const Umask umask(027);
  EXPECT_EQ(write_whole(scratch / "x", "new"), "");
  EXPECT_EQ(permissions_of(scratch / "x"), 0640u);
}

TEST(AtomicFile, TakesOverPermissionsAndTimesOfWhatItIsMadeFrom) {
  const ScratchDirectory scratch;
  const Umask none(0);
  const std::string input = scratch.with_file("input", "secret");
  const struct timespec times[] = {{1'000'000'000, 5}, {1'200'000'000, 7}};
  ASSERT_EQ(::utimensat(AT_FDCWD, input.c_str(), times, 0), 0);
  ASSERT_EQ(::chmod(input.c_str(), 0640), 0);
  // With and without a file that is replaced.
  for (const std::string& path : {scratch / "new", scratch.with_file("old", "old")}) {
    auto file = AtomicFile::create(path, input);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE((*file)->append(bytes_of("made of it")).ok());
    ASSERT_TRUE((*file)->finish().ok());
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0640u);
    EXPECT_EQ(status.st_mtim.tv_sec, 1'200'000'000);
    EXPECT_EQ(status.st_mtim.tv_nsec, 7);
    EXPECT_EQ(status.st_atim.tv_sec, 1'000'000'000);
  }
}

TEST(SharedFile, IsOfItsOwnerAloneUntilItIsFinished) {
  const ScratchDirectory scratch;
  const Umask none(0);
  const std::string input = scratch.with_file("input", "public");
  ASSERT_EQ(::chmod(input.c_str(), 0664), 0);
  auto file = SharedFile::create(scratch / "x.nc", input);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(permissions_of((*file)->temporary_path()), 0600u);
  ASSERT_TRUE((*file)->finish().ok());
  EXPECT_EQ(permissions_of(scratch / "x.nc"), 0664u);
}

TEST(AtomicFile, ReplacesWhatASymlinkPointsTo) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "data");
  const auto target = scratch.with_file("data/real", "old");
  std::filesystem::create_symlink("data/real", scratch / "link");
  std::filesystem::create_symlink(scratch / "link", scratch / "link_to_link");
  EXPECT_EQ(write_whole(scratch / "link_to_link", "new"), "");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link_to_link"));
  EXPECT_EQ(contents_of(target), "new");
}

TEST(AtomicFile, CreatesTheMissingTargetOfASymlink) {
  const ScratchDirectory scratch;
  std::filesystem::create_symlink("later", scratch / "link");
  EXPECT_EQ(write_whole(scratch / "link", "new"), "");
  EXPECT_TRUE(std::filesystem::is_symlink(scratch / "link"));
  EXPECT_EQ(contents_of(scratch / "later"), "new");
}

TEST(AtomicFile, SymlinksInACircleAreAnError) {
  const ScratchDirectory scratch;
  std::filesystem::create_symlink("b", scratch / "a");
  std::filesystem::create_symlink("a", scratch / "b");
  EXPECT_NE(write_whole(scratch / "a", "new").find("symbolic links"), std::string::npos);
}

TEST(AtomicFile, ImpossibleTargetsAreNamedWithTheirReason) {
  const ScratchDirectory scratch;
  scratch.with_file("file", "");
  EXPECT_EQ(write_whole(scratch.path(), ""),
            "cannot write '" + scratch.path() + "': it is a directory");
  EXPECT_EQ(write_whole(scratch / "no/where/x", ""),
            "cannot write '" + (scratch / "no/where/x") + "': the directory '" +
                (scratch / "no/where") + "' does not exist");
  EXPECT_EQ(write_whole(scratch / "file/x", ""),
            "cannot write '" + (scratch / "file/x") + "': Not a directory");
  EXPECT_EQ(write_whole(scratch / "new/", "").substr(0, 14), "cannot write '");
  const std::string long_name(300, 'x');
  EXPECT_EQ(write_whole(scratch / long_name, ""),
            "cannot write '" + (scratch / long_name) + "': File name too long");
  EXPECT_EQ(scratch.names(), Names{"file"});
}

TEST(AtomicFile, FullDeviceSaysSo) {
  EXPECT_EQ(write_whole("/dev/full", "x"), "cannot write '/dev/full': No space left on device");
}

TEST(AtomicFile, DevicesAreWrittenDirectlyAndInOrder) {
  auto file = AtomicFile::create("/dev/null");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_FALSE((*file)->can_write_at());
  EXPECT_TRUE((*file)->append(bytes_of("x")).ok());
  const auto placed = (*file)->write_at(5, bytes_of("x"));
  ASSERT_FALSE(placed.ok());
  EXPECT_EQ(placed.error().code, ErrorCode::bad_argument);
  EXPECT_TRUE((*file)->finish().ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(AtomicFile, WritesToANamedPipe) {
  const ScratchDirectory scratch;
  const auto pipe = scratch / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = contents_of(pipe); });
  EXPECT_EQ(write_whole(pipe, "through the pipe"), "");
  reader.join();
  EXPECT_EQ(received, "through the pipe");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(AtomicFile, DashIsStandardOutput) {
  const ScratchDirectory scratch;
  std::string message;
  bool can_write_at = true;
  {
    const auto redirected = Redirected::output(scratch / "out");
    message = write_whole("-", "to standard output");
    const auto file = AtomicFile::create("-");
    can_write_at = file.ok() && (*file)->can_write_at();
  }
  EXPECT_EQ(message, "");
  EXPECT_FALSE(can_write_at);
  EXPECT_EQ(contents_of(scratch / "out"), "to standard output");
}

TEST(AtomicFile, FullStandardOutputSaysSo) {
  std::string message;
  {
    const auto redirected = Redirected::output("/dev/full");
    message = write_whole("-", "x");
  }
  EXPECT_EQ(message, "cannot write standard output: No space left on device");
}

// The name that a file system without nameless files makes necessary.
TEST(TemporaryFile, NamedOneIsRemovedByItsDestructor) {
  const ScratchDirectory scratch;
  {
    const auto file = TemporaryFile::create(scratch.path(), 0600, TemporaryFile::Kind::named);
    ASSERT_TRUE(file.ok());
    ASSERT_EQ(scratch.names().size(), 1u);
    EXPECT_EQ(scratch.names()[0].substr(0, 13), ".tensorpress-");
  }
  EXPECT_EQ(scratch.names(), Names{});
}

TEST(TemporaryFile, BothKindsTakeTheNameOfAnExistingFile) {
  for (const auto kind : {TemporaryFile::Kind::named, TemporaryFile::Kind::nameless_if_possible}) {
    const ScratchDirectory scratch;
    scratch.with_file("x", "old");
    auto file = TemporaryFile::create(scratch.path(), 0600, kind);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(write_fully(file->descriptor(), bytes_of("new")).ok());
    const auto renamed = file->rename_to("x");
    EXPECT_TRUE(renamed.ok()) << renamed.error().message;
    EXPECT_EQ(contents_of(scratch / "x"), "new");
    EXPECT_EQ(scratch.names(), Names{"x"});
  }
}

TEST(TemporaryFile, FailedRenameLeavesNothingBehind) {
  for (const auto kind : {TemporaryFile::Kind::named, TemporaryFile::Kind::nameless_if_possible}) {
    const ScratchDirectory scratch;
    std::filesystem::create_directory(scratch / "x");
    {
      auto file = TemporaryFile::create(scratch.path(), 0600, kind);
      ASSERT_TRUE(file.ok());
      EXPECT_FALSE(file->rename_to("x").ok());
    }
    EXPECT_EQ(scratch.names(), Names{"x"});
  }
}

}  // namespace
}  // namespace tensorpress::files
