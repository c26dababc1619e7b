#include "store/redis/fleet/redis_fleet.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "engine/engine.h"
#include "store/redis/strict/split_store.h"

namespace weir {
namespace {

constexpr Duration kPublishEvery = std::chrono::milliseconds(500);

KeyHash hash_of_nothing(const KeyHasher& hasher) { return hasher.hash({}, Quota()); }

bool is_cluster(const RedisUrl& url) { return url.topology == RedisUrl::Topology::kCluster; }

// The cores of each node of the fleet, if nodes are alike.
std::int64_t cores_of_node(const RedisFleet::Core& core, const RedisFleetOptions& options) {
  return static_cast<std::int64_t>(core.state.cores() * options.processes);
}

std::uint64_t number_in_fleet(const RedisFleet::Core& core, const RedisFleetOptions& options) {
  const std::uint64_t node =
      std::hash<std::string>()(options.node + ' ' + std::to_string(core.process));
  return node - node % LeasedSlots::kCoresMax + core.number % LeasedSlots::kCoresMax;
}

RedisStoreOptions store_options(const RedisFleetOptions& options, const RedisFleet::Core& core) {
  return {.prefix = options.prefix,
          .deadline = options.deadline,
          .spread = is_cluster(options.url) ? KeySpread::kCluster : KeySpread::kOneServer,
          .seed = core.surroundings.seed,
          .own_counters = &core.own_counters,
          .live_nodes = [&state = core.state] { return state.live_nodes(); }};
}

}  // namespace

RedisFleet::RedisFleet(const RedisFleetOptions& options, const Core& core, Instant now)
    : options_(options),
      core_(core),
      own_hasher_(options.secret),
      hasher_(is_everywhere() ? &own_hasher_ : nullptr),
      own_counters_(&core.own_counters, [&state = core.state] { return state.live_nodes(); }) {
  auto& reactor = core_.surroundings.reactor;
  RedisListener& listener = *this;
  client_ = make_redis_client(options_.url, core_.surroundings, listener, now);
  const RedisStoreOptions redis_options = store_options(options_, core_);
  sender_.emplace(redis_options, *client_, reactor, listener);
  auto store = std::make_unique<RedisStore>(redis_options, *sender_);
  strict_store_ = store.get();
  strict_ = std::move(store);
  if (is_cluster(options_.url)) strict_ = std::make_unique<SplitStore>(std::move(strict_), reactor);
  holds_.emplace(redis_options, *sender_, reactor);
  if (core_.tokens != nullptr) {
    slots_.emplace(LeasedSlots::Place{.core = number_in_fleet(core_, options_),
                                      .deadline = options_.deadline,
                                      .tokens = *core_.tokens,
                                      .redis = *holds_},
                   *sender_, reactor);
  }
  const auto stores = [this] { return live_nodes() * cores_of_node(core_, options_); };
  const auto share = [stores] { return 2 * stores(); };
  if (!is_everywhere()) {
    leased_.emplace(
        LeasedStoreOptions{.redis = redis_options, .share = share, .keys = options_.keys}, *strict_,
        *sender_, reactor);
  }
  using Reach = AsyncStoreOptions::Reach;
  async_.emplace(AsyncStoreOptions{.redis = redis_options,
                                   .interval = options_.sync_interval,
                                   .stores = stores,
                                   .keys = options_.keys,
                                   .reach = is_everywhere() ? Reach::kFar : Reach::kNear,
                                   .owed = core_.owed,
                                   .waiting_since = &core_.state.waiting_since(core_.number)},
                 *strict_, *sender_, reactor);
  const bool beats = options_.beat == RedisFleetOptions::Beat::kFirstCore && core_.number == 0;
  if (beats) {
    begin_beat({.secret = options_.secret, .blocks_read = std::string(BlocksField::kFromTheStart)},
               now);
  }
  publisher_ = reactor.make_alarm([this](Instant then) { publish(then); });
  publisher_->set(now + kPublishEvery);
}

RedisFleet::~RedisFleet() { sender_->give_up(); }

void RedisFleet::begin_beat(const Known& known, Instant now) {
  beat_.emplace(FleetBeat::Options{.prefix = options_.prefix,
                                   .interval = options_.sync_interval,
                                   .node = options_.node,
                                   .secret = known.secret,
                                   .blocks_read = known.blocks_read},
                FleetBeat::World{.client = *client_,
                                 .reactor = core_.surroundings.reactor,
                                 .topics = core_.topics,
                                 .state = core_.state,
                                 .listener = core_.listener},
                now);
}

// A master of a cluster may hang while others answer.
SharingFacts RedisFleet::sharing(const Quota& quota, Instant now) const {
  SharingFacts facts = core_.state.sharing(quota, now);
  facts.stores = facts.nodes * cores_of_node(core_, options_);
  facts.period = options_.sync_interval / 2;
  if (facts.trip > facts.period) facts.period += facts.trip;
  if (is_spread()) facts.late = std::max(facts.late, AsyncKey::kPatience);
  return facts;
}

Store& RedisFleet::store(Mode mode) {
  if (!has_secret_) return away_;
  if (mode == Mode::kLeased) return *leased_;
  if (has_copies(mode)) return *async_;
  return *strict_;
}

SharedHolds* RedisFleet::holds(Mode mode) {
  if (!has_secret_) return nullptr;
  if (mode == Mode::kLeased) return slots_ ? &*slots_ : nullptr;
  return &*holds_;
}

Store& RedisFleet::leases_at_hand() {
  if (!has_secret_) return away_;
  return leased_->at_hand();
}

bool RedisFleet::is_spread() const { return is_cluster(options_.url); }

void RedisFleet::admitted_alone(const Charge& charge, Instant now) {
  async_->note_admitted(charge, now);
}

void RedisFleet::admitted_early(const KeyName& name, std::span<const Quota> limits,
                                std::int64_t cost, Instant now) {
  early_.note(name, limits, cost, now);
}

void RedisFleet::counted_early(const KeyName& name, std::span<const Quota> limits,
                               std::int64_t cost, Instant now) {
  early_here_.note(name, limits, cost, now);
}

void RedisFleet::owe(const Charge& charge, std::int64_t entered, Instant now) {
  if (has_secret_) async_->owe(charge, entered, now);
}

void RedisFleet::redis_changed(const LinkState&, Instant now) {
  report(now);
  catch_up(now);
}

void RedisFleet::breaker_changed(Instant now) {
  report(now);
  catch_up(now);
}

// Once Redis answers, this core first charges there the units that this node has admitted alone.
void RedisFleet::catch_up(Instant now) {
  if (async_ && is_connected() && sender_->breaker().closed()) async_->catch_up(now);
}

void RedisFleet::report(Instant now) {
  if (!async_) return;  // while it is being made
  const LinkState& link = client_->state();
  FleetHealth health{.is_healthy = true, .since = now};
  if (link.phase != LinkState::Phase::kConnected) {
    health.is_healthy = false;
    health.reason = link.reason.empty() ? "not connected yet" : link.reason;
  } else if (!sender_->breaker().closed()) {
    health.is_healthy = false;
    health.reason = last_failure_.empty() ? "it does not decide" : last_failure_;
  } else if (!has_secret_) {
    health.is_healthy = false;
    health.reason = "the fleet's secret is not known yet";
  }
  if (core_.state.report(core_.number, health)) core_.listener.reached();
}

// The log names a failure that changes health once, in that change.
void RedisFleet::redis_failed(RedisFailure failure, std::string_view detail, Instant now) {
  last_failure_ = failure_meaning(failure);
  if (!detail.empty()) last_failure_.append(": ").append(detail);
  if (failure <= RedisFailure::kNotAsked || !core_.state.is_news(failure, now)) return;
  core_.listener.warn(last_failure_);
}

void RedisFleet::use_secret(const KeyHasher& hasher, Instant now) {
  has_secret_ = true;
  if (is_everywhere()) hasher_ = &hasher;
  const KeyHasher& own = own_hasher_;
  // If the fleet has taken this node's own secret, its counters know the keys already.
  const bool are_renamed = hash_of_nothing(own) != hash_of_nothing(hasher);
  // Own counters know, by the key's old name, how much still counts.
  const auto counted = [&](const KeyName& name, Charge charge) {
    const Quota& quota = *charge.quota;
    if (!EarlyCharges::keeps_times(quota)) return charge;
    const Charge look{.key = own.hash(name, quota), .quota = &quota, .cost = 0};
    const std::int64_t left = core_.own_counters.decide_one(Operation::kLook, look, now).remaining;
    if (left > 0) charge.cost = std::min(charge.cost, quota.capacity() - left);
    return charge;
  };
  early_.tell(hasher, now, [&](const KeyName& name, const Charge& most) {
    const Charge charge = counted(name, most);
    if (are_renamed) own_counters_.enter(charge, now);
    async_->note_admitted(charge, now);
  });
  early_here_.tell(hasher, now, [&](const KeyName& name, const Charge& most) {
    const Charge charge = counted(name, most);
    if (are_renamed) core_.own_counters.decide_one(Operation::kCharge, charge, now);
  });
  report(now);
}

bool RedisFleet::leave(Instant now) {
  const bool has_told = async_->tell_all(now);
  const bool has_given_back = !leased_ || leased_->give_back_all(now);
  const bool has_left = !beat_ || beat_->leave(now);
  return has_told && has_given_back && holds_->has_ended_all() && has_left;
}

void RedisFleet::publish(Instant now) {
  report(now);  // in case there was no memory when it changed
  const CallCounts& calls = sender_->counts();
  FleetFigures figures{
      .counts = async_->counts(), .failures = calls.failures, .peaks = async_->peaks()};
  if (leased_) add_to(figures.counts, leased_->counts());
  figures.counts[kAsyncForgotten] += early_.forgotten();
  figures.counts[kStoreCalls] = static_cast<std::int64_t>(calls.calls);
  figures.counts[kStoreCharges] = static_cast<std::int64_t>(calls.charges);
  figures.counts[kScriptLoads] = static_cast<std::int64_t>(calls.reloads);
  figures.counts[kRemembered] = static_cast<std::int64_t>(strict_store_->remembered());
  core_.state.publish(core_.number, figures);
  publisher_->set(now + kPublishEvery);
  // Skips changes that were undone meanwhile: a Redis that comes and goes many times a second would
  // fill the log.
  const FleetHealth health = core_.state.health();
  const bool is_told = health.is_healthy == told_.is_healthy && health.reason == told_.reason;
  if (core_.number > 0 || is_told) return;
  told_ = health;
  using enum FleetListener::Severity;
  core_.listener.say(health.is_healthy ? kNotice : kWarning,
                     to_text(health, options_.url.to_string()));
}

}  // namespace weir
