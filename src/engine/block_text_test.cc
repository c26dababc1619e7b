#include "engine/block_text.h"

#include <string>

#include <gtest/gtest.h>

namespace weir {
namespace {

std::string keys_of(std::string_view text) {
  const auto blocks = blocks_from_text(text);
  if (!blocks) return "refused";
  std::string keys;
  for (const Block& block : *blocks) keys += block.rule + "=" + block.key + ";";
  return keys;
}

TEST(BlockText, IsReadBackAsItWasWritten) {
  std::string bytes;
  for (int c = 0; c < 256; ++c) bytes += static_cast<char>(c);
  const std::vector<Block> blocks = {{.rule = "login",
                                      .key = "user 1%",
                                      .since = instant_from_epoch_us(5),
                                      .until = instant_from_epoch_us(7),
                                      .reason = BlockReason::kManual},
                                     {.rule = "api", .key = bytes}};
  const std::string text = to_text(blocks);
  EXPECT_TRUE(text.starts_with("weir blocks 1\n7 5 manual login user%201%25\n0 0 denied api %00"));
  const auto read = blocks_from_text(text);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ((*read)[0].reason, BlockReason::kManual);
  EXPECT_EQ((*read)[0].since, instant_from_epoch_us(5));
  EXPECT_EQ((*read)[0].until, instant_from_epoch_us(7));
  EXPECT_EQ((*read)[1].reason, BlockReason::kDenied);
  EXPECT_EQ((*read)[1].key, bytes);
}

TEST(BlockText, SaysWhoseABlockIsAndWhatForAndIsOfAllRules) {
  const std::vector<Block> blocks = {{.rule = "",
                                      .key = "203.0.113.0/24",
                                      .reason = BlockReason::kManual,
                                      .by = "carol",
                                      .why = "many bots"},
                                     {.rule = "r", .key = "k", .why = "late"}};
  const std::string text = to_text(blocks);
  EXPECT_EQ(text,
            "weir blocks 1\n0 0 manual  203.0.113.0/24 carol many%20bots\n"
            "0 0 denied r k  late\nend 2\n");
  const auto read = blocks_from_text(text);
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ((*read)[0].rule, "");
  EXPECT_EQ((*read)[0].by, "carol");
  EXPECT_EQ((*read)[0].why, "many bots");
  EXPECT_EQ((*read)[1].why, "late");
  EXPECT_EQ(keys_of("weir blocks 1\n0 0 manual r k by why more\nend 1\n"), "refused");
}

TEST(BlockText, IsWholeOrRefused) {
  EXPECT_EQ(keys_of("weir blocks 1\nend 0\n"), "");
  EXPECT_EQ(keys_of("weir blocks 1\n7 5 denied r k\nend 1\n"), "r=k;");
  EXPECT_EQ(keys_of("weir blocks 1\n7 5 denied r \nend 1\n"), "r=;");
  EXPECT_EQ(keys_of("weir blocks 1\n253402300800000000 5 lifted r k\nend 1\n"), "r=k;");
  for (const std::string_view wrong : {
           "",
           "weir blocks 1",
           "weir blocks 1\n",
           "weir blocks 2\nend 0\n",
           "weir blocks 1\n7 5 denied r k\n",
           "weir blocks 1\n7 5 denied r k\nend 2\n",
           "weir blocks 1\nend 0\nmore\n",
           "weir blocks 1\nend\n",
           "weir blocks 1\nend x\n",
           "weir blocks 1\n7 5 because r k\nend 1\n",
           "weir blocks 1\n7 x denied r k\nend 1\n",
           "weir blocks 1\n\nend 1\n",
           "weir blocks 1\n7 5 denied r a b\nend 1\n",
           "weir blocks 1\n7 5 denied r %zz\nend 1\n",
           "weir blocks 1\n7 5 denied r \x01\nend 1\n",
           "weir blocks 1\n7 -9223372036854775808 denied r k\nend 1\n",
           "weir blocks 1\n-7 5 denied r k\nend 1\n",
           "weir blocks 1\n99999999999999999999 5 denied r k\nend 1\n",
           "weir blocks 1\n253402300800000001 5 denied r k\nend 1\n",  // the year 10000
           "weir blocks 1\n7 253402300800000001 lifted r k\nend 1\n",
       }) {
    EXPECT_EQ(keys_of(wrong), "refused") << wrong;
  }
}

}  // namespace
}  // namespace weir
