#include "store/redis/script/cluster_slot.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

// As CLUSTER KEYSLOT says.
TEST(ClusterSlot, IsWhatRedisSays) {
  EXPECT_EQ(crc16("123456789"), 0x31C3);
  EXPECT_EQ(cluster_slot("foo"), 12182);
  EXPECT_EQ(cluster_slot("user1000"), 3443);
  EXPECT_EQ(cluster_slot(""), 0);
}

TEST(ClusterSlot, LooksAtTheHashTagAlone) {
  EXPECT_EQ(cluster_slot("{user1000}.following"), 3443);
  EXPECT_EQ(cluster_slot("a{user1000}b{x}"), 3443);
  EXPECT_EQ(hashed_part("a{}b{c}"), "a{}b{c}");  // the first braces count, and are empty
  EXPECT_EQ(hashed_part("a{b"), "a{b");
  EXPECT_EQ(hashed_part("a}b{c}"), "c");
  EXPECT_EQ(hashed_part("{{a}}"), "{a");
}

}  // namespace
}  // namespace weir
