#include "console/assets.h"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <zlib.h>

namespace weir {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// The bytes that a browser loads in all, on any network.
constexpr std::size_t kPageMax = 150'000;

const ConsoleAsset& index_page() {
  const auto assets = console_assets();
  const auto found = std::ranges::find(assets, "index.html", &ConsoleAsset::name);
  EXPECT_NE(found, assets.end());
  return *found;
}

std::string gunzipped(std::string_view bytes) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, kGzip), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text(4'000'000, '\0');
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

TEST(ConsoleAssets, AreSmallWhenCompressed) {
  std::size_t gzip = 0;
  std::size_t brotli = 0;
  for (const ConsoleAsset& asset : console_assets()) {
    gzip += asset.gzip.size();
    brotli += asset.brotli.size();
    EXPECT_GT(asset.brotli.size(), 0) << asset.name;
  }
  EXPECT_LT(gzip, kPageMax);
  EXPECT_LT(brotli, gzip);
}

TEST(ConsoleAssets, AreTheSameCompressedAndPlain) {
  for (const ConsoleAsset& asset : console_assets()) {
    EXPECT_EQ(gunzipped(asset.gzip), asset.plain) << asset.name;
  }
}

TEST(ConsoleAssets, ArePartsOfThePageByTheirHashedNames) {
  for (const ConsoleAsset& asset : console_assets()) {
    EXPECT_THAT(asset.etag, SizeIs(14)) << asset.name;
    if (asset.name == "index.html") continue;
    const std::string_view hash = asset.etag.substr(1, 12);
    EXPECT_THAT(asset.name, HasSubstr(hash));
    EXPECT_THAT(index_page().plain, HasSubstr("/console/" + std::string(asset.name)));
  }
}

// A Content-Security-Policy without 'unsafe-inline' would stop inline code.
TEST(ConsoleAssets, HaveNothingInlineAndNothingFromElsewhere) {
  const std::string page(index_page().plain);
  EXPECT_EQ(page.find("<style"), std::string::npos);
  EXPECT_EQ(page.find(" style="), std::string::npos);
  EXPECT_EQ(page.find(" onclick"), std::string::npos);
  EXPECT_EQ(page.find("://"), std::string::npos);
  EXPECT_EQ(page.find("<script>"), std::string::npos);
}

}  // namespace
}  // namespace weir
