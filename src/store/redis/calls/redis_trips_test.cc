// The trips over a client that takes everything and answers nothing.

#include "store/redis/calls/redis_trips.h"

#include <gtest/gtest.h>

#include <vector>

#include "store/redis/client/reactor_testing.h"

namespace weir {
namespace {

using namespace std::chrono_literals;

constexpr Instant kStart = instant_from_epoch_us(1'700'000'000'000'000);

class SilentClient final : public RedisClient {
 public:
  std::optional<RedisFailure> send(std::span<const std::string_view>, std::uint16_t, Instant,
                                   RedisCall&, Instant) override {
    ++calls;
    return std::nullopt;
  }
  void forget(RedisCall&) override {}
  const LinkState& state() const override { return state_; }

  int calls = 0;

 private:
  const LinkState state_{LinkState::Phase::kConnected, {}, {}};
};

struct Nobody final : RedisListener {};

// Notes in which order the errands of the key 1 leave.
struct Journal final : TripOwner {
  void leaving(Errand& errand, Instant) override {
    if (errand.key.low == 1) left.push_back(errand.place);
  }
  ChargeFailure done(const Errand&, ChargeReplies&, Instant, Instant) override {
    return ChargeFailure::kNone;
  }
  void lost(const Errand&, Instant) override {}

  std::vector<std::uint32_t> left;
};

TEST(RedisTrips, InAClusterErrandsOfOneKeyKeepTheirOrder) {
  const Quota quota = *Quota::make({Algorithm::kFixedWindow, 10, 1min});
  ManualReactor reactor;
  SilentClient client;
  Nobody listener;
  Journal journal;
  RedisTrips trips({.spread = KeySpread::kCluster}, 1, client, reactor, listener, journal);
  std::vector<std::uint32_t> in_order;
  for (std::uint32_t place = 0; place < 100; ++place) {
    const std::uint64_t other = 2 + place % 8;
    EXPECT_TRUE(trips.add({.place = place, .key = {1, 1}, .quota = quota}));
    EXPECT_TRUE(trips.add({.place = place, .key = {other, other}, .quota = quota}));
    in_order.push_back(place);
  }
  reactor.run(kStart);
  EXPECT_EQ(client.calls, 9);
  EXPECT_EQ(journal.left, in_order);
}

}  // namespace
}  // namespace weir
