// What the fields make of answers; redis_fleet_test.cc and tests/e2e have the script answer.

#include "store/redis/fleet/beat_fields.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine/block_text.h"
#include "proto/resp/reply_reader.h"

namespace weir {
namespace {

constexpr Instant kNow = instant_from_epoch_us(1'700'000'000'000'000);

std::string text(std::string_view bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n";
}

// Such numbers ran over, and the block of another node was none.
TEST(BlocksField, ABlockLastsNoLongerThanItMayWhateverItsNumbersSay) {
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  const Block block{.rule = "login", .key = "a", .since = kNow, .until = kNow};
  for (const std::string& id : {most + "-0", std::string("1700000000000-0")}) {
    const KeyHasher hasher{HashSecret{}};
    BlockList blocks(hasher, 64);
    BlocksField field("me", blocks);
    const std::string reply = "*5\r\n:1700000000000\r\n" + text(id) + text("other") +
                              text(to_text({&block, 1})) + text(most);
    resp::ReplyReader reader;
    ASSERT_EQ(reader.read(reply), resp::ReplyReader::Status::kReply);
    EXPECT_EQ(field.hear(reader.reply(), kNow), "");
    const auto until = blocks.until("login", "a", kNow);
    ASSERT_TRUE(until) << id;
    EXPECT_EQ(*until - kNow, std::chrono::hours(24) * 3660) << id;
  }
}

}  // namespace
}  // namespace weir
