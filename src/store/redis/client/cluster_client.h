// ClusterClient: the client of a cluster's masters.
//
//   one link to each master     carries the commands for its slots
//   one link to any node        asks which master has which slots (the map)
//
// The client fetches the map when a node says that a slot has moved, when a link has been lost, and
// every kMapAgain. While something is wrong, the client fetches the map after kMapAgainSoon, and
// then each time after twice as long, up to kMapAgainLate. A large fleet would else keep the nodes
// busy. A command that a node redirects goes on at once: MOVED for good, ASK for this time. After
// TRYAGAIN (its keys are just being moved) the client tries a command again every kTryAgain until
// its deadline. It redirects each command kRedirectionsMax times at most.
//
// Thread rule: one core. Tested by clients_test.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "store/redis/client/cluster_map.h"
#include "store/redis/client/informant.h"
#include "store/redis/client/redis_url.h"

namespace weir {

class ClusterClient final : public RedisClient {
 public:
  static constexpr Duration kMapAgain = std::chrono::seconds(10);
  static constexpr Duration kMapAgainSoon = std::chrono::milliseconds(250);
  static constexpr Duration kMapAgainLate = std::chrono::seconds(1);
  // At least, however many commands ask for it.
  static constexpr Duration kMapsApart = std::chrono::milliseconds(50);
  static constexpr Duration kAnswerMax = std::chrono::seconds(1);
  static constexpr Duration kTryAgain = std::chrono::milliseconds(5);
  static constexpr std::uint8_t kRedirectionsMax = 5;
  static constexpr std::size_t kWaitingMax = 1'024;

  ClusterClient(const RedisUrl& url, const RedisSurroundings& surroundings, RedisListener& listener,
                Instant now);
  ~ClusterClient() override;

  std::optional<RedisFailure> send(std::span<const std::string_view> words, std::uint16_t slot,
                                   Instant deadline, RedisCall& call, Instant now) override;
  void forget(RedisCall& call) override;
  const LinkState& state() const override { return state_; }

 private:
  void want_map(Instant now);
  std::string use_map(const resp::Reply& slots, Instant now);
  void assign_slots(const ClusterMap& map, Instant now);

  Link* link_to(const Destination& destination, Instant now);
  bool takes_error(const Destination& from, RedisCall& call, const resp::Reply& error, Instant now);
  bool redirect(const Destination& from, RedisCall& call, const resp::Reply& error, Instant now);
  bool wait(RedisCall& call, Instant now);
  void try_again(Instant now);
  void resend(Link* link, RedisCall& call, Instant now);
  void update_state(Instant now);
  LinkState overall_state(Instant now) const;

  const RedisSurroundings surroundings_;
  RedisListener& listener_;
  const Login login_;
  const std::vector<Destination> seeds_;
  Duration map_again_ = kMapAgainSoon;  // while something is wrong
  ClusterMap map_;
  LinkState state_;
  std::vector<std::unique_ptr<Link>> masters_;
  std::vector<Link*> slots_;         // null: no master has the slot
  std::vector<RedisCall*> waiting_;  // to be tried again; null: forgotten
  std::unique_ptr<Alarm> next_try_;
  Informant teller_;  // of the map
};

}  // namespace weir
