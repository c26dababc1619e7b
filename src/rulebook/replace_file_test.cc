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
  EXPECT_EQ(replace_file(path("a"), "one", kOwnerOnly), std::nullopt);
  EXPECT_EQ(replace_file(path("a"), "two", kOwnerOnly), std::nullopt);
  EXPECT_EQ(text_of(path("a")), "two");
  EXPECT_EQ(mode_of(path("a")), 0600u);
  EXPECT_FALSE(fs::exists(path("a.new")));
}

TEST_F(ReplaceFile, KeepsModeAndSymbolicLinks) {
  std::ofstream(path("real/a")) << "one";
  ::chmod(path("real/a").c_str(), 0640);
  fs::create_symlink(path("real/a"), path("link"));
  EXPECT_EQ(replace_file(path("link"), "two", kAsBefore), std::nullopt);
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(text_of(path("real/a")), "two");
  EXPECT_EQ(mode_of(path("real/a")), 0640u);
}

TEST_F(ReplaceFile, LeavesWhatIsNoFileWhereItIs) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(replace_file(path("pipe"), "text", kOwnerOnly),
            "cannot write " + path("pipe") + ": it is not a regular file");
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
}

// Root may write everywhere, as far as rights go; writing failed later.
TEST_F(ReplaceFile, AFolderThatTakesNoFilesIsAFaultBeforeTheFirstWrite) {
  const auto fault = replacing_fault("/proc/weir");
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->find("cannot write /proc/weir: "), std::string::npos) << *fault;
}

TEST_F(ReplaceFile, LookingForFaultsLeavesTheFolderAndAWriterAtWorkAlone) {
  std::ofstream(path("a.new")) << "half";
  EXPECT_EQ(replacing_fault(path("a")), std::nullopt);
  EXPECT_EQ(text_of(path("a.new")), "half");
  EXPECT_FALSE(fs::exists(path("a")));
  EXPECT_FALSE(fs::exists(path("a.try")));
}

TEST_F(ReplaceFile, SaysWhyItCannot) {
  const auto message = replace_file(path("no/such/folder"), "text", kOwnerOnly);
  ASSERT_TRUE(message);
  EXPECT_NE(message->find("No such file or directory"), std::string::npos) << *message;
}

}  // namespace
}  // namespace weir
