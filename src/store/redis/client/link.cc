#include "store/redis/client/link.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/if_memory.h"

namespace weir {

using Phase = LinkState::Phase;

namespace {

// A hint for a server that closes the connection without a word when it is greeted.
std::string_view hint_about(const Destination& destination) {
  if (destination.is_unix()) return "";
  return destination.encryption == Encryption::kNone
             ? ", as happens at a port for TLS (rediss://)"
             : ", as happens where a certificate of ours is wanted (cert_file, key_file)";
}

}  // namespace

Link::Link(Login login, const RedisSurroundings& surroundings, Changed changed,
           TakesError takes_error)
    : login_(std::move(login)),
      surroundings_(surroundings),
      changed_(std::move(changed)),
      takes_error_(std::move(takes_error)),
      chance_(surroundings.seed),
      retry_(surroundings.reactor.make_alarm([this](Instant now) { dial(now); })) {}

Link::~Link() { drop(); }

void Link::move_to(std::vector<Destination> destinations, Instant now) {
  WEIR_ASSERT(!destinations.empty());
  if (!destinations_.empty()) {
    const auto same = std::ranges::find(destinations, destination());
    if (same != destinations.end()) {
      current_ = static_cast<std::size_t>(same - destinations.begin());
      destinations_ = std::move(destinations);
      return;
    }
  }
  destinations_ = std::move(destinations);
  current_ = 0;
  failures_ = 0;
  if (state_.phase == Phase::kConnecting) state_.since = now;
  const bool was_connected = is_connected();
  drop();
  dial(now);
  if (was_connected) enter(Phase::kDisconnected, "moving to " + destination().to_string(), now);
}

void Link::give_up(const Ending& why, Instant now) {
  if (conversation_ == nullptr) return;
  const std::size_t useless = current_;
  drop();
  lose(why.why, {}, why.retry, now);
  if (current_ == useless) turn_to_next();
}

void Link::turn_to_next() { current_ = (current_ + 1) % destinations_.size(); }

std::optional<RedisFailure> Link::send(std::span<const std::string_view> words, Instant deadline,
                                       RedisCall& call, Instant now) {
  if (conversation_ == nullptr) return RedisFailure::kDisconnected;
  return conversation_->send(words, deadline, call, now);
}

void Link::send_blindly(std::span<const std::string_view> words, Instant now) {
  if (conversation_ != nullptr) conversation_->send_blindly(words, now);
}

void Link::subscribe(std::string_view channel, Conversation::Hear hear) {
  if (conversation_ != nullptr) conversation_->subscribe(channel, std::move(hear));
}

// Without memory, it tries again.
void Link::dial(Instant now) {
  retry_->set(now + kBackoffMin);
  dial_ = surroundings_.dialer.dial(destination(), now + kDialMax, *this);
  retry_->set(Instant::max());
}

std::unique_ptr<Session> Link::connected(Instant now) {
  auto conversation = std::make_unique<Conversation>(
      login_, surroundings_.reactor, static_cast<ConversationListener&>(*this), now);
  conversation_ = conversation.get();
  return conversation;
}

void Link::not_connected(const std::string& why, Instant now) {
  lose(why, {}, Ending::Retry::kSoon, now);
}

void Link::opened(Instant now) { enter(Phase::kConnected, {}, now); }

void Link::ended(const Ending& ending, Instant now) {
  conversation_ = nullptr;
  const bool in_greeting = !is_connected();
  const bool is_silent = in_greeting && ending.by == Ending::By::kPeer;
  lose(ending.why, is_silent ? hint_about(destination()) : "", ending.retry, now);
}

// Does not call changed_.
void Link::drop() {
  dial_.reset();
  retry_->set(Instant::max());
  if (conversation_ != nullptr) std::exchange(conversation_, nullptr)->leave();
}

// Plans the next attempt even if there is no memory to say why the last one failed.
void Link::lose(std::string_view why, std::string_view hint, Ending::Retry retry, Instant now) {
  const bool was_connected = is_connected();
  const bool held_well = was_connected && now - state_.since >= kHeldWell;
  if (held_well) failures_ = 0;
  retry_->set(now + next_wait(retry));
  const Destination& lost = destination();
  if (!held_well) turn_to_next();  // else it tries the same one first
  std::string reason;
  std::string cause;
  has_memory_for([&] {
    cause = std::string(why).append(hint);
    reason = lost.to_string() + ": " + cause;
  });
  // The same failure at another destination is no news.
  const bool is_news = was_connected || state_.phase == Phase::kConnecting ||
                       (retry == Ending::Retry::kLater && announced_ != cause);
  if (!is_news) return state_.reason.swap(reason);
  announced_.swap(cause);
  enter(Phase::kDisconnected, std::move(reason), now);
}

// The other destinations of a round have not failed yet: they are tried soon.
Duration Link::next_wait(Ending::Retry retry) {
  ++failures_;
  const std::size_t rounds = failures_ / destinations_.size();
  const bool round_is_over = failures_ % destinations_.size() == 0;
  Duration whole = kBackoffMin;
  if (round_is_over && retry == Ending::Retry::kLater) {
    whole = kRetryLater;
  } else if (round_is_over) {
    whole =
        std::min(kBackoffMin * (1 << std::min<std::size_t>(rounds - 1, 10)), Duration(kBackoffMax));
  }
  auto less = std::uniform_int_distribution<std::int64_t>(0, whole.count() / 2);
  return whole - Duration(less(chance_));
}

void Link::enter(Phase phase, std::string reason, Instant now) {
  state_ = {.phase = phase, .reason = std::move(reason), .since = now};
  changed_(state_, now);
}

}  // namespace weir
