#include "store/redis/client/sentinel_client.h"

#include <utility>

#include "store/redis/client/endpoint_text.h"

namespace weir {
namespace {

constexpr std::string_view kSwitches = "+switch-master";

}  // namespace

SentinelClient::SentinelClient(const RedisUrl& url, const RedisSurroundings& surroundings,
                               RedisStateListener& listener, Instant now)
    : listener_(listener),
      master_name_(url.master),
      encryption_(url.destinations.front().encryption),
      question_{"SENTINEL", "GET-MASTER-ADDR-BY-NAME", master_name_},
      state_{.since = now},
      next_question_(surroundings.reactor.make_alarm([this](Instant at) { ask(at); })),
      sentinel_({.credentials = url.sentinel_credentials, .server = Login::Server::kSentinel},
                surroundings, *this),
      master_({.credentials = url.credentials, .database = url.database}, surroundings, *this) {
  sentinel_.move_to(url.destinations, now);
}

SentinelClient::~SentinelClient() { Conversation::forget(*this); }

std::optional<CallFailure> SentinelClient::send(std::span<const std::string_view> words,
                                                std::uint16_t, Instant deadline, RedisCall& call,
                                                Instant now) {
  return master_.send(words, deadline, call, now);
}

void SentinelClient::link_changed(Link& link, Instant now) {
  if (&link == &sentinel_ && sentinel_.is_connected()) sentinel_.subscribe(kSwitches);
  if (!link.is_connected() || &link == &sentinel_) ask(now);
  update_state(now);
}

// What it says of the new address is not looked at: asking is as fast, and one way.
void SentinelClient::link_pushed(const resp::Reply& push, Instant now) {
  const bool is_ours =
      push[1].text() == kSwitches && push[2].text().starts_with(master_name_ + " ");
  if (is_ours) ask(now);
}

void SentinelClient::ask(Instant now) {
  if (is_asking_) return;
  const auto refusal = sentinel_.send(question_, now + kAnswerMax, *this, now);
  is_asking_ = !refusal;
  if (refusal) next_question_->set(Instant::max());  // again when there is a sentinel
}

void SentinelClient::ask_after(Duration wait, Instant now) { next_question_->set(now + wait); }

void SentinelClient::replied(const resp::Reply& reply, Instant now) noexcept {
  is_asking_ = false;
  const auto port = parse_port(reply[1].text());
  if (reply.is_error()) return blame_sentinel(std::string(reply.text()), now);
  if (!port || reply[0].text().empty()) {
    return blame_sentinel("it knows no master \"" + master_name_ + "\"", now);
  }
  complaint_.clear();
  has_moved_ = true;
  master_.move_to({{.host = std::string(reply[0].text()),
                    .port = *port,
                    .path = {},
                    .encryption = encryption_}},
                  now);
  ask_after(master_.is_connected() ? kAskAgain : kAskAgainSoon, now);
  update_state(now);
}

void SentinelClient::failed(CallFailure why, Instant now) noexcept {
  is_asking_ = false;
  if (why == CallFailure::kTimedOut) blame_sentinel("it does not answer in time", now);
}

// Another may know better.
void SentinelClient::blame_sentinel(std::string why, Instant now) {
  complaint_ = sentinel_.destination().to_string() + ": " + why;
  sentinel_.give_up({.why = std::move(why)}, now);
  update_state(now);
}

// The master's state counts; without one, why it cannot be found.
void SentinelClient::update_state(Instant now) {
  LinkState next = has_moved_ ? master_.state() : sentinel_.state();
  if (!has_moved_ && sentinel_.is_connected()) next.phase = LinkState::Phase::kConnecting;
  if (!has_moved_ && !complaint_.empty()) {
    next = {.phase = LinkState::Phase::kDisconnected, .reason = complaint_, .since = now};
  }
  const bool is_news = next.phase != state_.phase || next.reason != state_.reason;
  if (!is_news) return;
  state_ = std::move(next);
  listener_.redis_changed(state_, now);
}

}  // namespace weir
