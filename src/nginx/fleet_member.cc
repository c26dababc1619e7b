#include "nginx/fleet_member.h"

#include <utility>

#include "net/process_limits.h"
#include "observe/rule_counts.h"
#include "weir/version.h"

namespace weir::nginx {
namespace {

// A block takes at most so long from one worker to the worker that tells other nodes.
constexpr Duration kLookEvery = std::chrono::milliseconds(50);
constexpr Duration kTurn = std::chrono::milliseconds(5);

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
      fleet_(
          options_, 1,
          {.topics = {.blocks = world_.judge.blocks().list(),
                      .traffic = &traffic_,
                      .keys = &keys_,
                      .about = [this] { return about(); }},
           .post = [](std::size_t, const std::function<void()>& action) { action(); },
           .listener = {.say = world_.say,
                        .secret_found = [this](const HashSecret&, Instant) { note(); },
                        .before_beat = [this](Instant now) { world_.judge.blocks().learn(now); }},
           .salt = static_cast<std::uint32_t>(world_.process),
           .owed = &owed_},
          loop_.now()) {
  dialer_.use_tls(std::move(trust));
  fleet_.begin(0, world_.judge.engine(), loop_, dialer_, loop_.now());
  looks_ = loop_.make_alarm([this](Instant then) {
    looks_->set(then + kLookEvery);
    look(then);
  });
  looks_->set(loop_.now());
}

FleetMember::~FleetMember() {
  fleet_.end(0);
  world_.board.leave(worker_);
}

// It has no console; each worker has its own leases and memory.
NodeAbout FleetMember::about() const {
  NodeAbout about{.title = options_.title.empty() ? host_name() : options_.title,
                  .version = std::string(kVersion) + " in nginx"};
  add_shared(about, figures());
  about.leases.reset();
  return about;
}

void FleetMember::join(Duration patience) {
  const Instant end = loop_.now() + patience;
  while (loop_.now() < end && !(fleet_.at(0).is_connected() && fleet_.secret())) {
    if (fleet_.at(0).has_tried() && !fleet_.at(0).is_connected()) return;
    turn(kTurn);
  }
}

void FleetMember::turn(Duration wait) {
  loop_.turn(wait);
  world_.judge.blocks().tell(loop_.now());
}

// Exchanges all facts that the workers of one node must know of each other.
void FleetMember::look(Instant now) {
  using Wish = FleetBoard::Wish;
  dialer_.sweep();
  const auto news = world_.board.look(worker_, is_retired_ ? Wish::kNothing : Wish::kSeat, now);
  if (news.known.secret && !has_seat_) fleet_.use_secret(*news.known.secret, now);
  traffic_.tick(now);
  world_.judge.blocks().learn(now);
  take_seat(news, now);
  if (!has_seat_) return fleet_.state().set_heard(news.known.nodes, now);
  note();
  if (fleet_.at(0).has_told_blocks()) world_.judge.blocks().fleet_knows_all();
  if (!fleet_.secret()) return;
  owed_.inherit(
      [&](const Charge& charge, std::int64_t entered) { fleet_.at(0).owe(charge, entered, now); });
}

void FleetMember::note() {
  world_.board.note(worker_, {.nodes = fleet_.state().heard(),
                              .secret = fleet_.secret(),
                              .blocks_read = fleet_.at(0).blocks_read()});
}

void FleetMember::take_seat(const FleetBoard::News& news, Instant now) {
  if (std::exchange(has_seat_, news.has_seat) == news.has_seat) return;
  if (!has_seat_) {
    fleet_.at(0).end_beat();
    return world_.judge.blocks().stop_telling_fleet();
  }
  const std::string& read = news.known.blocks_read;
  fleet_.state().set_heard(news.known.nodes, now);  // until the first beat, which may take long
  world_.judge.blocks().tell_fleet(now);
  fleet_.at(0).begin_beat(
      {.secret = fleet_.secret().value_or(options_.secret),
       .blocks_read = read.empty() ? std::string(BlocksField::kFromTheStart) : read},
      now);
}

void FleetMember::retire() {
  if (std::exchange(is_retired_, true)) return;
  world_.board.leave(worker_);
  take_seat({}, loop_.now());
}

void FleetMember::leave(Duration patience) {
  retire();
  const Instant end = loop_.read_clock() + patience;
  while (!fleet_.at(0).leave(loop_.now()) && loop_.now() < end) turn(kTurn);
}

}  // namespace weir::nginx
