#include "store/redis/client/cluster_client.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "store/redis/client/endpoint_text.h"
#include "store/redis/script/cluster_slot.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 2> kMapQuestion = {"CLUSTER", "SLOTS"};
constexpr std::array<std::string_view, 1> kAsking = {"ASKING"};

}  // namespace

ClusterClient::ClusterClient(const RedisUrl& url, const RedisSurroundings& surroundings,
                             RedisStateListener& listener, Instant now)
    : surroundings_(surroundings),
      listener_(listener),
      login_{.credentials = url.credentials, .server = Login::Server::kClusterNode},
      seeds_(url.destinations),
      state_{.since = now},
      slots_(kClusterSlots),
      next_map_(surroundings.reactor.make_alarm([this](Instant at) { ask_for_map(at); })),
      next_try_(surroundings.reactor.make_alarm([this](Instant at) { try_again(at); })),
      teller_(login_, surroundings, *this) {
  teller_.move_to(seeds_, now);
}

// Calls fail while the links go, and may ask for more.
ClusterClient::~ClusterClient() {
  Conversation::forget(*this);
  std::ranges::fill(slots_, nullptr);
  const auto gone = std::exchange(masters_, {});
  for (RedisCall* const call : std::exchange(waiting_, {})) {
    if (call != nullptr) call->failed(CallFailure::kDisconnected, state_.since);
  }
}

std::optional<CallFailure> ClusterClient::send(std::span<const std::string_view> words,
                                               std::uint16_t slot, Instant deadline,
                                               RedisCall& call, Instant now) {
  WEIR_ASSERT(slot < kClusterSlots);
  Link* const link = slots_[slot];
  if (link == nullptr) return CallFailure::kDisconnected;
  call.slot_ = slot;
  call.redirections_ = 0;
  return link->send(words, deadline, call, now);
}

void ClusterClient::forget(RedisCall& call) {
  Conversation::forget(call);
  std::ranges::replace(waiting_, &call, static_cast<RedisCall*>(nullptr));
}

void ClusterClient::link_changed(Link& link, Instant now) {
  if (&link == &teller_ ? teller_.is_connected() : !link.is_connected()) want_map(now);
  update_state(now);
}

bool ClusterClient::link_takes_error(Link& link, RedisCall& call, const resp::Reply& error,
                                     Instant now) {
  if (&call == this) return false;  // the question for the map
  const std::string_view code = error.error_code();
  if (code == "MOVED" || code == "CLUSTERDOWN") want_map(now);
  if (code == "MOVED" || code == "ASK") return redirect(link, call, error, now);
  return code == "TRYAGAIN" && wait(call, now);
}

bool ClusterClient::redirect(const Link& from, RedisCall& call, const resp::Reply& error,
                             Instant now) {
  const auto where = parse_redirection(error.text());
  if (!where || ++call.redirections_ > kRedirectionsMax) {
    call.failed(CallFailure::kRefused, now);
    return true;
  }
  Destination destination = from.destination();
  destination.port = where->port;
  if (!where->host.empty()) destination.host = std::string(where->host);
  Link* const link = link_to(destination, now);
  if (link != nullptr && error.error_code() == "ASK") link->send_blindly(kAsking, now);
  resend(link, call, now);
  return true;
}

// False: no more can wait.
bool ClusterClient::wait(RedisCall& call, Instant now) {
  if (waiting_.size() == kWaitingMax) return false;
  if (waiting_.empty()) next_try_->set(now + kTryAgain);
  waiting_.push_back(&call);
  return true;
}

void ClusterClient::try_again(Instant now) {
  // By index: those that fail may forget others, or send.
  const auto count = waiting_.size();
  for (std::size_t i = 0; i < count; ++i) {
    RedisCall* const call = std::exchange(waiting_[i], nullptr);
    if (call != nullptr) resend(slots_[call->slot_], *call, now);
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
}

void ClusterClient::resend(Link* link, RedisCall& call, Instant now) {
  auto failure = std::optional(CallFailure::kDisconnected);
  if (now >= call.deadline_) {
    failure = CallFailure::kTimedOut;
  } else if (link != nullptr) {
    failure = link->send(call.words_, call.deadline_, call, now);
  }
  if (failure) call.failed(*failure, now);
}

Link* ClusterClient::link_to(const Destination& destination, Instant now) {
  for (const auto& link : masters_) {
    if (link->destination() == destination) return link.get();
  }
  if (masters_.size() == ClusterMap::kNodesMax) return nullptr;
  RedisSurroundings surroundings = surroundings_;
  surroundings.seed += static_cast<std::uint32_t>(masters_.size()) + 1;
  masters_.push_back(
      std::make_unique<Link>(login_, surroundings, static_cast<LinkListener&>(*this)));
  Link* const link = masters_.back().get();
  link->move_to({destination}, now);
  return link;
}

void ClusterClient::want_map(Instant now) { next_map_->set(std::max(now, asked_at_ + kMapsApart)); }

void ClusterClient::ask_for_map(Instant now) {
  if (is_asking_) return;
  asked_at_ = now;
  // Without a connection: when there is one.
  is_asking_ = !teller_.send(kMapQuestion, now + kAnswerMax, *this, now);
}

void ClusterClient::replied(const resp::Reply& reply, Instant now) noexcept {
  is_asking_ = false;
  if (reply.is_error()) return blame_teller(std::string(reply.text()), now);
  const auto map = ClusterMap::parse(reply, teller_.destination());
  if (map.ranges.empty()) return blame_teller("no master has a slot", now);
  complaint_.clear();
  use_map(map, now);
  update_state(now);
  const bool is_well = state_.phase == LinkState::Phase::kConnected;
  next_map_->set(now + (is_well ? kMapAgain : kMapAgainSoon));
}

void ClusterClient::failed(CallFailure why, Instant now) noexcept {
  is_asking_ = false;
  if (why == CallFailure::kTimedOut) blame_teller("it does not answer in time", now);
}

void ClusterClient::blame_teller(std::string why, Instant now) {
  complaint_ = teller_.destination().to_string() + ": " + why;
  teller_.give_up({.why = std::move(why)}, now);
  update_state(now);
}

// Links to those who are no masters any more go last: their calls fail, and may ask for
// more.
void ClusterClient::use_map(const ClusterMap& map, Instant now) {
  std::ranges::fill(slots_, nullptr);
  for (const auto& range : map.ranges) {
    Link* const link = link_to(map.masters[range.master], now);
    std::fill(slots_.begin() + range.first, slots_.begin() + range.last + 1, link);
  }
  const auto is_master = [&](const auto& link) {
    return std::ranges::find(map.masters, link->destination()) != map.masters.end();
  };
  const auto others = std::ranges::stable_partition(masters_, is_master);
  const auto gone =
      std::vector(std::move_iterator(others.begin()), std::move_iterator(others.end()));
  masters_.resize(masters_.size() - gone.size());

  auto tellers = seeds_;
  tellers.insert(tellers.end(), map.masters.begin(), map.masters.end());
  tellers.insert(tellers.end(), map.replicas.begin(), map.replicas.end());
  teller_.move_to(std::move(tellers), now);
}

LinkState ClusterClient::overall_state(Instant now) const {
  using Phase = LinkState::Phase;
  if (masters_.empty() && complaint_.empty()) {
    LinkState state = teller_.state();
    if (teller_.is_connected()) state.phase = Phase::kConnecting;
    return state;
  }
  const auto away =
      std::ranges::find_if(masters_, [](const auto& l) { return !l->is_connected(); });
  if (masters_.empty()) return {.phase = Phase::kDisconnected, .reason = complaint_, .since = now};
  if (away != masters_.end()) {
    const bool is_new = (*away)->state().phase == Phase::kConnecting;
    const bool starts = is_new && state_.phase == Phase::kConnecting;
    return {.phase = starts ? Phase::kConnecting : Phase::kDisconnected,
            .reason = is_new ? "connecting to " + (*away)->destination().to_string()
                             : (*away)->state().reason,
            .since = now};
  }
  if (std::ranges::find(slots_, nullptr) != slots_.end()) {
    return {.phase = Phase::kDisconnected, .reason = "some slots have no master", .since = now};
  }
  return {.phase = Phase::kConnected, .reason = {}, .since = now};
}

void ClusterClient::update_state(Instant now) {
  LinkState next = overall_state(now);
  const bool is_news = next.phase != state_.phase;
  if (!is_news) next.since = state_.since;
  state_ = std::move(next);
  if (is_news) listener_.redis_changed(state_, now);
}

}  // namespace weir
