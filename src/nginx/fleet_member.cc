#include "nginx/fleet_member.h"

#include <cstring>
#include <utility>

#include "observe/rule_counts.h"

namespace weir::nginx {
namespace {

// A block takes at most so long from one worker to the one that tells other nodes.
constexpr Duration kLookEvery = std::chrono::milliseconds(50);
constexpr Duration kTurn = std::chrono::milliseconds(5);

// Each process waits for a random time before it tries again, with a seed of its own.
std::uint32_t seed_of(const RedisFleetOptions& options, std::int32_t process) {
  std::uint32_t seed = 0;
  std::memcpy(&seed, options.secret.bytes.data(), sizeof(seed));
  return seed + static_cast<std::uint32_t>(process);
}

std::uint64_t name_of(const RedisFleetOptions& options) {
  return rule_hash(options.url.to_string() + "\n" + options.prefix);
}

RedisFleetOptions as_one_of_many(RedisFleetOptions options, const FleetMember::World& world) {
  options.node = world.board.node();
  options.secret = world.own_secret;
  options.processes = world.workers;
  options.beat = RedisFleetOptions::Beat::kByTurns;
  return options;
}

}  // namespace

FleetMember::FleetMember(RedisFleetOptions options, std::shared_ptr<const TlsTrust> trust,
                         World world)
    : options_(as_one_of_many(std::move(options), world)),
      world_(std::move(world)),
      worker_{.fleet = name_of(options_), .process = world_.process},
      owed_(world_.owed, {.fleet = worker_.fleet, .process = worker_.process}),
      loop_(world_.clock),
      dialer_(loop_),
      traffic_(world_.judge.traffic(), loop_.now()),
      switches_({}, active_, [](const RuleSwitches::Change&) {}),
      state_(1, loop_.now()) {
  dialer_.use_tls(std::move(trust));
  Engine& engine = world_.judge.engine();
  fleet_ = std::make_unique<RedisFleet>(options_, place(), loop_.now());
  answers_ = loop_.make_alarm([&engine](Instant then) { engine.go_on(then); });
  engine.await_hasher();
  engine.join(*fleet_, [&alarm = *answers_] { alarm.set(Instant{}); });
  looks_ = loop_.make_alarm([this](Instant then) {
    looks_->set(then + kLookEvery);
    look(then);
  });
  looks_->set(loop_.now());
}

FleetMember::~FleetMember() {
  fleet_.reset();
  world_.board.leave(worker_);
}

RedisFleet::Core FleetMember::place() {
  return {.number = 0,
          .surroundings = {.reactor = loop_,
                           .dialer = dialer_,
                           .seed = seed_of(options_, world_.process)},
          .blocks = world_.judge.blocks().list(),
          .traffic = traffic_,
          .switches = switches_,
          .rule_counts = world_.judge.traffic().rules(),
          .keys = keys_,
          .state = state_,
          .listener = *this,
          .own_counters = world_.judge.engine().local(),
          .owed = &owed_};
}

void FleetMember::join(Duration patience) {
  const Instant end = loop_.now() + patience;
  while (loop_.now() < end && !(fleet_->is_connected() && secret_)) {
    if (fleet_->has_tried() && !fleet_->is_connected()) return;
    turn(kTurn);
  }
}

void FleetMember::turn(Duration wait) {
  loop_.turn(wait);
  world_.judge.blocks().tell(loop_.now());
}

// Everything that the workers of one node have to know of each other.
void FleetMember::look(Instant now) {
  using Wish = FleetBoard::Wish;
  dialer_.sweep();
  const auto news = world_.board.look(worker_, is_retired_ ? Wish::kNothing : Wish::kSeat, now);
  const auto& secret = news.known.secret;
  const bool is_new = secret && (!secret_ || secret->bytes != secret_->bytes);
  if (is_new && !has_seat_) use_secret(*secret, now);
  traffic_.tick(now);
  world_.judge.blocks().learn(now);
  take_seat(news, now);
  if (!has_seat_) return state_.set_live_nodes(news.known.live_nodes);
  note();
  if (fleet_->has_told_blocks()) world_.judge.blocks().fleet_knows_all();
  if (!secret_) return;
  owed_.inherit(
      [&](const Charge& charge, std::int64_t entered) { fleet_->owe(charge, entered, now); });
}

void FleetMember::note() {
  world_.board.note(
      worker_,
      {.live_nodes = state_.live_nodes(), .secret = secret_, .blocks_read = fleet_->blocks_read()});
}

void FleetMember::take_seat(const FleetBoard::News& news, Instant now) {
  if (std::exchange(has_seat_, news.has_seat) == news.has_seat) return;
  if (!has_seat_) {
    fleet_->end_beat();
    return world_.judge.blocks().stop_telling_fleet();
  }
  const std::string& read = news.known.blocks_read;
  state_.set_live_nodes(news.known.live_nodes);  // until the first beat, perhaps for long
  world_.judge.blocks().tell_fleet(now);
  fleet_->begin_beat({.secret = secret_.value_or(options_.secret),
                      .blocks_read = read.empty() ? std::string(BlocksField::kFromTheStart) : read},
                     now);
}

void FleetMember::use_secret(const HashSecret& secret, Instant now) {
  secret_ = secret;
  const KeyHasher& hasher = hashers_.emplace_back(secret);
  world_.judge.engine().use_hasher(hasher);
  fleet_->use_secret(hasher, now);
}

void FleetMember::retire() {
  if (std::exchange(is_retired_, true)) return;
  world_.board.leave(worker_);
  take_seat({}, loop_.now());
}

void FleetMember::leave(Duration patience) {
  retire();
  const Instant end = loop_.read_clock() + patience;
  while (!fleet_->leave(loop_.now()) && loop_.now() < end) turn(kTurn);
}

SharedStoreFigures FleetMember::figures() const {
  return state_.shown(options_.mode, *traffic_.snapshot());
}

void FleetMember::health_changed(const FleetHealth& health) {
  world_.say(health.is_healthy ? Severity::kNotice : Severity::kWarning,
             to_text(health, options_.url.to_string()));
}

void FleetMember::fleet_warned(const std::string& sentence) {
  world_.say(Severity::kWarning, sentence);
}

void FleetMember::secret_found(const HashSecret& secret, Instant now) {
  if (!secret_ || secret_->bytes != secret.bytes) use_secret(secret, now);
  note();
}

}  // namespace weir::nginx
