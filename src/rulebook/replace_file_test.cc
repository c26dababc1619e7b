#include "rulebook/replace_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace weir {
namespace {

namespace fs = std::filesystem;

class ReplaceFile : public testing::Test {
 protected:
  ReplaceFile() : folder_(fs::path(testing::TempDir()) / "weir_replace_file") {
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "real");
  }
  ~ReplaceFile() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  static std::string text_of(const std::string& path) {
    auto stream = std::ifstream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    ::stat(path.c_str(), &status);
    return status.st_mode & 07777;
  }

  fs::path folder_;
};

TEST_F(ReplaceFile, MakesAFileOfTheGivenMode) {
  EXPECT_FALSE(replace_file(path("a"), "one", kOwnerOnly));
  EXPECT_FALSE(replace_file(path("a"), "two", kOwnerOnly));
  EXPECT_EQ(text_of(path("a")), "two");
  EXPECT_EQ(mode_of(path("a")), 0600u);
  EXPECT_FALSE(fs::exists(path("a.weir-new")));
}

TEST_F(ReplaceFile, KeepsModeAndSymbolicLinks) {
  std::ofstream(path("real/a")) << "one";
  ::chmod(path("real/a").c_str(), 0640);
  fs::create_symlink(path("real/a"), path("link"));
  EXPECT_FALSE(replace_file(path("link"), "two", kAsBefore));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text_of(path("real/a")), "two");
  EXPECT_EQ(mode_of(path("real/a")), 0640u);
}

TEST_F(ReplaceFile, LeavesWhatIsNoFileWhereItIs) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(replace_file(path("pipe"), "text", kOwnerOnly).value().message,
            "cannot write " + path("pipe") + ": it is not a regular file");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

// Root may write everywhere, as far as rights go; writing failed later.
TEST_F(ReplaceFile, AFolderThatTakesNoFilesIsAFaultBeforeTheFirstWrite) {
  const auto fault = replacing_fault("/proc/weir");
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->message.starts_with("cannot write /proc/weir: ")) << fault->message;
}

TEST_F(ReplaceFile, LookingForFaultsLeavesTheFolderAndAWriterAtWorkAlone) {
  std::ofstream(path("a.weir-new")) << "half";
  EXPECT_FALSE(replacing_fault(path("a")));
  EXPECT_EQ(text_of(path("a.weir-new")), "half");
  EXPECT_FALSE(fs::exists(path("a")));
  EXPECT_FALSE(fs::exists(path("a.weir-try")));
}

TEST_F(ReplaceFile, SaysWhyItCannot) {
  const auto fault = replace_file(path("no/such/folder"), "text", kOwnerOnly);
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->message.ends_with("No such file or directory")) << fault->message;
}

}  // namespace
}  // namespace weir
