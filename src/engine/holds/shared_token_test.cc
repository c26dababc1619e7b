#include "engine/holds/shared_token.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

HashSecret secret_of(std::uint8_t number) {
  HashSecret secret;
  secret.bytes.fill(std::byte{number});
  return secret;
}

using Kind = SharedToken::Kind;

const KeyHasher kHasher(secret_of(1));
const SharedToken kToken{.hold = {1, 2},
                         .end = instant_from_epoch_us(1'700'000'040'000'000),
                         .tag = 3,
                         .size = 2,
                         .keys = {KeyHash{4, 5}, KeyHash{6, 7}}};

TEST(SharedToken, SaysWhatItWasMadeOf) {
  const std::string text = kToken.to_string(Kind::kHold, kHasher);
  EXPECT_EQ(text.size(), 160u);
  const auto token = SharedToken::parse(text, Kind::kHold, kHasher);
  ASSERT_TRUE(token);
  EXPECT_EQ(token->hold, kToken.hold);
  EXPECT_EQ(token->end, kToken.end);
  EXPECT_EQ(token->tag, 3u);
  ASSERT_EQ(token->size, 2u);
  EXPECT_EQ(token->keys, kToken.keys);
}

TEST(SharedToken, IsRefusedIfADigitIsAnother) {
  const std::string text = kToken.to_string(Kind::kHold, kHasher);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string forged = text;
    forged[i] = forged[i] == '0' ? '1' : '0';
    EXPECT_FALSE(SharedToken::parse(forged, Kind::kHold, kHasher)) << i;
    forged[i] = 'g';
    EXPECT_FALSE(SharedToken::parse(forged, Kind::kHold, kHasher)) << i;
  }
}

TEST(SharedToken, IsRefusedByAnotherFleet) {
  EXPECT_FALSE(SharedToken::parse(kToken.to_string(Kind::kHold, kHasher), Kind::kHold,
                                  KeyHasher(secret_of(2))));
}

TEST(SharedToken, ASlotIsNoHold) {
  const std::string slot = kToken.to_string(Kind::kSlot, kHasher);
  EXPECT_TRUE(SharedToken::parse(slot, Kind::kSlot, kHasher));
  EXPECT_FALSE(SharedToken::parse(slot, Kind::kHold, kHasher));
  EXPECT_FALSE(SharedToken::parse(kToken.to_string(Kind::kHold, kHasher), Kind::kSlot, kHasher));
}

TEST(SharedToken, IsRefusedInAnotherLength) {
  const std::string text = kToken.to_string(Kind::kHold, kHasher);
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(SharedToken::parse(std::string_view(text).substr(0, size), Kind::kHold, kHasher))
        << size;
  }
  EXPECT_FALSE(SharedToken::parse(text + text, Kind::kHold, kHasher));
  EXPECT_FALSE(SharedToken::parse(text + text + text + text, Kind::kHold, kHasher));
}

}  // namespace
}  // namespace weir
