#include "store/redis/client/cluster_client.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "store/redis/script/cluster_slot.h"

namespace weir {
namespace {

constexpr std::array<std::string_view, 2> kMapQuestion = {"CLUSTER", "SLOTS"};
constexpr std::array<std::string_view, 1> kAsking = {"ASKING"};

}  // namespace

ClusterClient::ClusterClient(const RedisUrl& url, const RedisSurroundings& surroundings,
                             RedisListener& listener, Instant now)
    : surroundings_(surroundings),
      listener_(listener),
      login_{.credentials = url.credentials, .server = Login::Server::kClusterNode},
      seeds_(url.destinations),
      state_{.since = now},
      slots_(kClusterSlots),
      next_try_(surroundings.reactor.make_alarm([this](Instant at) { try_again(at); })),
      teller_(login_, surroundings,
              {.words = kMapQuestion,
               .answer_max = kAnswerMax,
               .use = [this](const auto& slots, Instant at) { return use_map(slots, at); }},
              [this](const LinkState& state, Instant at) {
                if (state.phase == LinkState::Phase::kConnected) want_map(at);
                update_state(at);
              }) {
  waiting_.reserve(kWaitingMax);
  teller_.link().move_to(seeds_, now);
}

// Calls fail while the links go, and may ask for another map.
ClusterClient::~ClusterClient() {
  std::ranges::fill(slots_, nullptr);
  const auto gone = std::exchange(masters_, {});
  for (RedisCall* const call : std::exchange(waiting_, {})) {
    if (call != nullptr) call->failed(RedisFailure::kDisconnected, state_.since);
  }
}

std::optional<RedisFailure> ClusterClient::send(std::span<const std::string_view> words,
                                                std::uint16_t slot, Instant deadline,
                                                RedisCall& call, Instant now) {
  WEIR_ASSERT(slot < kClusterSlots);
  Link* const link = slots_[slot];
  if (link == nullptr) return RedisFailure::kDisconnected;
  call.slot_ = slot;
  call.redirections_ = 0;
  return link->send(words, deadline, call, now);
}

void ClusterClient::forget(RedisCall& call) {
  Conversation::forget(call);
  std::ranges::replace(waiting_, &call, static_cast<RedisCall*>(nullptr));
}

bool ClusterClient::takes_error(const Destination& from, RedisCall& call, const resp::Reply& error,
                                Instant now) {
  const std::string_view code = error.error_code();
  if (code == "MOVED" || code == "CLUSTERDOWN") want_map(now);
  if (code == "MOVED" || code == "ASK") return redirect(from, call, error, now);
  return code == "TRYAGAIN" && wait(call, now);
}

bool ClusterClient::redirect(const Destination& from, RedisCall& call, const resp::Reply& error,
                             Instant now) {
  const auto where = Redirection::parse(error.text());
  if (!where || ++call.redirections_ > kRedirectionsMax) {
    call.failed(RedisFailure::kNotReady, now);
    return true;
  }
  Destination destination = from;
  destination.port = where->port;
  if (!where->host.empty()) destination.host = std::string(where->host);
  Link* const link = link_to(destination, now);
  if (link != nullptr && error.error_code() == "ASK") link->send_blindly(kAsking, now);
  resend(link, call, now);
  return true;
}

// False: too many wait.
bool ClusterClient::wait(RedisCall& call, Instant now) {
  if (waiting_.size() == kWaitingMax) return false;
  if (waiting_.empty()) next_try_->set(now + kTryAgain);
  waiting_.push_back(&call);
  return true;
}

void ClusterClient::try_again(Instant now) {
  // By index: calls that fail may forget others, or send.
  const auto count = waiting_.size();
  for (std::size_t i = 0; i < count; ++i) {
    RedisCall* const call = std::exchange(waiting_[i], nullptr);
    if (call != nullptr) resend(slots_[call->slot_], *call, now);
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
}

void ClusterClient::resend(Link* link, RedisCall& call, Instant now) {
  auto failure = std::optional(RedisFailure::kDisconnected);
  if (now >= call.deadline_) {
    failure = RedisFailure::kTimedOut;
  } else if (link != nullptr) {
    failure = link->send(call.words_, call.deadline_, call, now);
  }
  if (failure) call.failed(*failure, now);
}

// Null: there are too many masters.
Link* ClusterClient::link_to(const Destination& destination, Instant now) {
  for (const auto& link : masters_) {
    if (link->destination() == destination) return link.get();
  }
  if (masters_.size() == ClusterMap::kNodesMax) return nullptr;
  RedisSurroundings surroundings = surroundings_;
  surroundings.seed += static_cast<std::uint32_t>(masters_.size()) + 1;
  masters_.push_back(std::make_unique<Link>(
      login_, surroundings,
      [this](const LinkState& state, Instant at) {
        if (state.phase != LinkState::Phase::kConnected) want_map(at);
        update_state(at);
      },
      [this, destination](RedisCall& call, const resp::Reply& error, Instant at) {
        return takes_error(destination, call, error, at);
      }));
  Link* const link = masters_.back().get();
  link->move_to({destination}, now);
  return link;
}

void ClusterClient::want_map(Instant now) {
  teller_.ask_at(std::max(now, teller_.asked_at() + kMapsApart));
}

std::string ClusterClient::use_map(const resp::Reply& slots, Instant now) {
  auto map = ClusterMap::parse(slots, teller_.link().destination());
  if (map.ranges.empty()) return "no master has a slot";
  // A redirection may have made a link to another node.
  if (map != map_ || masters_.size() != map.masters.size()) {
    assign_slots(map, now);
    map_ = std::move(map);
  }
  update_state(now);
  const bool is_well = state_.phase == LinkState::Phase::kConnected;
  teller_.ask_at(now + (is_well ? kMapAgain : map_again_));
  map_again_ = std::min(2 * map_again_, kMapAgainLate);
  return {};
}

// Links to nodes that are no longer masters go last: their calls fail, and may ask for another map.
void ClusterClient::assign_slots(const ClusterMap& map, Instant now) {
  for (const Destination& master : map.masters) link_to(master, now);
  auto tellers = seeds_;
  tellers.insert(tellers.end(), map.masters.begin(), map.masters.end());
  tellers.insert(tellers.end(), map.replicas.begin(), map.replicas.end());
  std::vector<std::unique_ptr<Link>> gone;
  gone.reserve(masters_.size());
  // From here on nothing allocates.
  std::ranges::fill(slots_, nullptr);
  for (const auto& range : map.ranges) {
    Link* const link = link_to(map.masters[range.master], now);
    std::fill(slots_.begin() + range.first, slots_.begin() + range.last + 1, link);
  }
  const auto is_master = [&](const auto& link) {
    return std::ranges::find(map.masters, link->destination()) != map.masters.end();
  };
  const auto others = std::ranges::stable_partition(masters_, is_master);
  gone.assign(std::move_iterator(others.begin()), std::move_iterator(others.end()));
  masters_.resize(masters_.size() - gone.size());
  teller_.link().move_to(std::move(tellers), now);
}

LinkState ClusterClient::overall_state(Instant now) const {
  using Phase = LinkState::Phase;
  if (masters_.empty() && teller_.complaint().empty()) {
    LinkState state = teller_.link().state();
    if (teller_.link().is_connected()) state.phase = Phase::kConnecting;
    return state;
  }
  const auto away =
      std::ranges::find_if(masters_, [](const auto& l) { return !l->is_connected(); });
  if (masters_.empty()) {
    return {.phase = Phase::kDisconnected, .reason = teller_.complaint(), .since = now};
  }
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
  if (is_news) map_again_ = kMapAgainSoon;
  if (is_news) listener_.redis_changed(state_, now);
}

}  // namespace weir
