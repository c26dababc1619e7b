#include "net/loop/file_watch.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>

namespace weir {
namespace {

namespace fs = std::filesystem;

bool is_readable(const FileWatch& watch) {
  auto waiting = pollfd{.fd = watch.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) == 1;
}

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest() : folder_(fs::path(testing::TempDir()) / "weir_file_watch") {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "one");
    fs::create_directories(folder_ / "two");
    write("file", "a");
  }
  ~FileWatchTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  // Whether a watch of `name` reports `change`, and nothing before or after it.
  bool tells(const std::string& name, const std::function<void()>& change) const {
    auto watch = FileWatch(std::array{(folder_ / name).string()});
    if (is_readable(watch)) return false;
    change();
    const bool told = is_readable(watch);
    watch.drain();
    return told && !is_readable(watch);
  }

  const fs::path folder_;
};

TEST_F(FileWatchTest, TellsOfWritingInPlace) {
  EXPECT_TRUE(tells("file", [&] { write("file", "b"); }));
}

TEST_F(FileWatchTest, TellsOfAnotherFileRenamedOverIt) {
  write("one/other", "b");
  EXPECT_TRUE(tells("file", [&] { fs::rename(folder_ / "one/other", folder_ / "file"); }));
}

TEST_F(FileWatchTest, TellsOfAFileThatWasNotThere) {
  EXPECT_TRUE(tells("new", [&] { write("new", "b"); }));
}

// file -> ..data/file, ..data -> one; then ..data is replaced by a link to two.
TEST_F(FileWatchTest, TellsOfALinkOnTheWay) {
  write("one/mapped", "a");
  write("two/mapped", "b");
  fs::create_directory_symlink("one", folder_ / "..data");
  fs::create_symlink("..data/mapped", folder_ / "mapped");
  EXPECT_TRUE(tells("mapped", [&] {
    fs::create_directory_symlink("two", folder_ / "..new");
    fs::rename(folder_ / "..new", folder_ / "..data");
  }));
}

TEST_F(FileWatchTest, TellsOfFilesInAFolder) {
  EXPECT_TRUE(tells("one", [&] { write("one/new", "b"); }));
}

TEST_F(FileWatchTest, FollowsALinkToAnotherFolder) {
  write("one/mapped", "a");
  fs::create_symlink(folder_ / "one/mapped", folder_ / "two/link");
  EXPECT_TRUE(tells("two/link", [&] { write("one/mapped", "b"); }));
}

}  // namespace
}  // namespace weir
