#include "logs/log_file.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weir::lab {
namespace {

std::string written(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/log_file_test." + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const auto part : parts) text.append(part);
  return text;
}

std::string gzipped(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 100, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1));
  return out;
}

// Its lines, each in brackets, and its fault.
std::string lines_of(const std::string& bytes) {
  const auto file = LogFile::open(written("log", bytes));
  if (!file) return file.error();
  const auto first = (*file)->first_lines(2);
  std::string text;
  while (const auto line = (*file)->next()) {
    text += line->is_too_long ? "[too long]" : joined({"[", line->text, "]"});
  }
  return text + (*file)->fault();
}

TEST(LogFile, ReadsLines) {
  EXPECT_EQ(lines_of(""), "");
  EXPECT_EQ(lines_of("a"), "[a]");
  EXPECT_EQ(lines_of("a\r\n\nb\n"), "[a][][b]");
  EXPECT_EQ(lines_of("\xef\xbb\xbf"), "");
  EXPECT_EQ(lines_of("\xef\xbb\xbfx\n\xef\xbb\xbf"), "[x][\xef\xbb\xbf]");
  EXPECT_EQ(lines_of(std::string("a\0b\nc", 5)), std::string("[a\0b][c]", 8));
}

TEST(LogFile, Decompresses) {
  EXPECT_EQ(lines_of(gzipped("a\nb\n") + gzipped("c\n")), "[a][b][c]");
  EXPECT_EQ(lines_of(gzipped("\xef\xbb\xbfx")), "[x]");
  EXPECT_EQ(lines_of(zstd("a\nb\n") + zstd("c\n")), "[a][b][c]");
}

// A decompressor may still hold output, for which there was no room, when its input has ended.
TEST(LogFile, DecompressesWhatIsLeftWhenTheInputHasEnded) {
  for (std::size_t size = 1'000'000; size < 1'200'000; size += 8'192) {
    std::string text;
    std::string lines;
    while (text.size() < size) {
      const std::string line(std::min<std::size_t>(60'000, size - text.size()), 'x');
      text += joined({line, "\n"});
      lines += joined({"[", line, "]"});
    }
    EXPECT_TRUE(lines_of(zstd(text)) == lines) << size;
    EXPECT_TRUE(lines_of(gzipped(text)) == lines) << size;
  }
}

TEST(LogFile, SaysWhatIsDamaged) {
  const std::string longer(1000, 'x');
  const std::string text = joined({"a\n", longer, "\n"});
  const std::string gzip = gzipped(text);
  EXPECT_TRUE(
      lines_of(gzip.substr(0, gzip.size() - 4)).ends_with("]the gzip is truncated or damaged"));
  EXPECT_TRUE(lines_of(joined({gzip, "tail"})).ends_with("]the gzip is damaged"));
  // The checksum shows a changed byte, but only after the lines were made.
  std::string flipped = gzip;
  flipped[gzip.size() - 6] = static_cast<char>(flipped[gzip.size() - 6] ^ 1);
  EXPECT_EQ(lines_of(flipped), joined({"[a][", longer, "]the gzip is damaged"}));
  // Whichever byte is changed, the fault never says only "truncated". Some bits do not matter.
  for (std::size_t at = 10; at < gzip.size() - 4; ++at) {
    flipped = gzip;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    const std::string said = lines_of(flipped);
    EXPECT_TRUE(said.ends_with("damaged") || said == lines_of(gzip)) << at;
  }
  const std::string packed = zstd(text);
  EXPECT_TRUE(
      lines_of(packed.substr(0, packed.size() - 2)).ends_with("the zstd is truncated or damaged"));
  EXPECT_TRUE(lines_of(joined({packed.substr(0, 8), "damage"})).ends_with("the zstd is damaged"));
}

TEST(LogFile, SkipsLinesThatAreTooLong) {
  const std::string longest(LogFile::kLineMax, 'x');
  const std::string endless(10'000'000, 'x');
  EXPECT_EQ(lines_of(joined({"a\n", longest, "\nb"})), joined({"[a][", longest, "][b]"}));
  EXPECT_EQ(lines_of(joined({"a\n", longest, "x\nb"})), "[a][too long][b]");
  EXPECT_EQ(lines_of(joined({"a\n", endless, "\nb"})), "[a][too long][b]");
  EXPECT_EQ(lines_of(endless), "[too long]");
  EXPECT_EQ(lines_of(gzipped(joined({endless, "\nb"}))), "[too long][b]");
}

TEST(LogFile, SaysWhyThereIsNone) {
  EXPECT_EQ(LogFile::open("/nowhere").error(), "/nowhere: No such file or directory");
  EXPECT_EQ(LogFile::open("/tmp").error(), "/tmp is a folder");
}

}  // namespace
}  // namespace weir::lab
