#include "store/redis/client/sentinel_client.h"

#include <utility>

#include "store/redis/client/cluster_map.h"

namespace weir {
namespace {

constexpr std::string_view kSwitches = "+switch-master";

}  // namespace

SentinelClient::SentinelClient(const RedisUrl& url, const RedisSurroundings& surroundings,
                               RedisListener& listener, Instant now)
    : listener_(listener),
      master_name_(url.master),
      encryption_(url.destinations.front().encryption),
      question_{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_name_},
      state_{.since = now},
      sentinel_(
          {.credentials = url.sentinel_credentials, .server = Login::Server::kSentinel},
          surroundings,
          {.words = question_,
           .answer_max = kAnswerMax,
           .use = [this](const auto& address, Instant at) { return go_to_master(address, at); }},
          [this](const LinkState&, Instant at) { sentinel_changed(at); }),
      master_({.credentials = url.credentials, .database = url.database}, surroundings,
              [this](const LinkState&, Instant at) { master_changed(at); }) {
  sentinel_.link().move_to(url.destinations, now);
}

std::optional<RedisFailure> SentinelClient::send(std::span<const std::string_view> words,
                                                 std::uint16_t, Instant deadline, RedisCall& call,
                                                 Instant now) {
  return master_.send(words, deadline, call, now);
}

void SentinelClient::sentinel_changed(Instant now) {
  sentinel_.link().subscribe(kSwitches,
                             [this](const auto& push, Instant at) { announced(push, at); });
  sentinel_.ask(now);
  update_state(now);
}

void SentinelClient::master_changed(Instant now) {
  if (!master_.is_connected()) sentinel_.ask(now);
  update_state(now);
}

// Does not use the address in the announcement: asking is as fast, so one way is enough.
void SentinelClient::announced(const resp::Reply& push, Instant now) {
  const bool is_ours =
      push[1].text() == kSwitches && push[2].text().starts_with(master_name_ + " ");
  if (is_ours) sentinel_.ask(now);
}

std::string SentinelClient::go_to_master(const resp::Reply& address, Instant now) {
  const auto port = parse_port(address[1].text());
  if (!port || address[0].text().empty()) return "it knows no master \"" + master_name_ + "\"";
  master_.move_to({{.host = std::string(address[0].text()),
                    .port = *port,
                    .path = {},
                    .encryption = encryption_}},
                  now);
  has_moved_ = true;
  sentinel_.ask_at(now + (master_.is_connected() ? kAskAgain : kAskAgainSoon));
  update_state(now);
  return {};
}

// The master's state counts; without a master, why it cannot be found.
void SentinelClient::update_state(Instant now) {
  const LinkState& sentinel = sentinel_.link().state();
  LinkState next = has_moved_ ? master_.state() : sentinel;
  if (!has_moved_ && sentinel_.link().is_connected()) next.phase = LinkState::Phase::kConnecting;
  if (!has_moved_ && !sentinel_.complaint().empty()) {
    next = {
        .phase = LinkState::Phase::kDisconnected, .reason = sentinel_.complaint(), .since = now};
  }
  const bool is_news = next.phase != state_.phase || next.reason != state_.reason;
  if (!is_news) return;
  state_ = std::move(next);
  listener_.redis_changed(state_, now);
}

}  // namespace weir
