#include "simulate/world.h"

#include <algorithm>

#include "base/duration_text.h"
#include "simulate/faults.h"
#include "simulate/traffic.h"

namespace weir::sim {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(250);
constexpr Duration kLeaveMax = std::chrono::seconds(1);
constexpr Duration kLeaveEvery = std::chrono::milliseconds(5);

Duration up_to(Prng& chance, Duration most) {
  if (most.count() == 0) return most;
  return Duration(
             static_cast<std::int64_t>(chance.unit() * 2.0 * static_cast<double>(most.count()))) -
         most;
}
std::vector<Rule> as_of(Instant begins, std::vector<Rule> rules) {
  for (Rule& rule : rules) {
    if (!rule.quota.is_by_calendar()) continue;
    rule.quota.set_window_ends(window_ends(rule.calendar, rule.quota, begins));
  }
  return rules;
}
std::int64_t up_to(Prng& chance, std::int64_t most) {
  return up_to(chance, Duration(most)).count();
}

}  // namespace

// A request without an answer yet, with room for the answers.
class World::Request final : Asks::Listener {
 public:
  explicit Request(World& world) : world_(world) {}

  void begin(std::size_t node, std::size_t source, const std::vector<Part>& parts, Then then,
             const Work& work) {
    SimNode& at = *world_.node(node);
    asked_.node = node;
    asked_.life = world_.life(node);
    asked_.source = source;
    asked_.parts.assign(parts.begin(), parts.end());
    asked_.work = work;
    asked_.at = world_.now();
    asked_.at_node = at.now();
    if (world_.redis_) asked_.at_redis = world_.redis_->now();
    asked_.number = ++world_.asked_;
    then_ = std::move(then);
    asks_ = at.pool().take(operation());
    const RuleSet& rules = at.rules();
    for (const Part& part : parts) {
      if (part.verb == Verb::kCommit) continue;
      asks_->add({.rule = &rules.rules()[part.rule],
                  .key = world_.keys_[part.key],
                  .cost = part.verb == Verb::kRefund ? -part.cost : part.cost,
                  .counting = part.verb == Verb::kCharge ? Ask::Counting::kAlways
                                                         : Ask::Counting::kAsTheRuleSays});
    }
    for (const auto& check : world_.checks_) check->asked(asked_);
    is_done_ = false;
    if (decide(at.now()) != Asks::Progress::kWaits) return world_.finished(*this);
    asks_->listen(*this);
  }

  // The node is gone: no answer comes.
  void abandon() {
    asks_.reset();
    then_ = nullptr;
    is_done_ = true;
  }
  bool is_of(std::size_t node) const { return asks_ != nullptr && asked_.node == node; }
  bool is_waiting() const { return asks_ != nullptr && !is_done_; }
  const Asked& asked() const { return asked_; }
  bool is_done() const { return is_done_; }

  void tell(std::vector<Answer>& answers) {
    is_done_ = true;
    answers.clear();
    for (std::size_t i = 0; i < asks_->size(); ++i) answers.push_back(asks_->answer(i));
    answers.resize(asked_.parts.size());
    const Holding::Hold hold = held();
    const Answered answered{.asked = asked_,
                            .at = world_.now(),
                            .is_unavailable = asks_->progress() == Asks::Progress::kUnavailable,
                            .answers = answers,
                            .token = hold.token,
                            .committed = asks_->holding().committed(),
                            .here = hold.here};
    asks_.reset();
    if (world_.is_noting()) world_.note(text_of(answered));
    world_.count(answered);
    for (const auto& check : world_.checks_) check->answered(answered);
    if (const Then then = std::exchange(then_, nullptr)) then(answered);
  }

 private:
  Asks::Progress decide(Instant now) {
    const Part& part = asked_.parts.front();
    const bool is_slot = world_.rules()[part.rule].has_slots();
    if (part.verb == Verb::kReserve) asks_->holding().reserve(asked_.work.hold);
    if (part.verb == Verb::kCommit && is_slot) asks_->holding().release(asked_.work.token);
    if (part.verb == Verb::kCommit && !is_slot) {
      asks_->holding().commit(asked_.work.token, part.cost, HoldingStore::Work::kIsDone);
    }
    return asks_->decide(now);
  }
  // The token of a reservation that has passed.
  Holding::Hold held() const {
    const bool reserves = asked_.parts.front().verb == Verb::kReserve;
    if (!reserves || asks_->progress() == Asks::Progress::kUnavailable) return {};
    return asks_->holding().hold(world_.node(asked_.node)->now());
  }
  std::string text_of(const Answered& answered) const {
    constexpr std::string_view kVerbs[] = {"hit", "look", "charge", "refund", "reserve", "commit"};
    std::string text = "node " + std::to_string(asked_.node) + ":";
    for (std::size_t i = 0; i < answered.answers.size(); ++i) {
      const Part& part = asked_.parts[i];
      const Answer& answer = answered.answers[i];
      text += " " + world_.rules()[part.rule].id + " " + world_.key_text(part.key) + " " +
              std::string(kVerbs[static_cast<std::size_t>(part.verb)]) + " " +
              std::to_string(part.cost) +
              (answered.is_unavailable ? " failed"
               : answer.allowed()      ? " allowed"
                                       : " denied");
      if (answer.is_alone) text += " alone";
      if (part.verb >= Verb::kReserve) text += text_of_work(answered);
      if (answer.cause == Answer::Cause::kBlocked) text += " blocked";
      text += ", left " + std::to_string(answer.decision.remaining);
      if (!answer.allowed()) text += ", retry " + format_duration(answer.decision.retry_after);
    }
    return text + " (asked " + format_duration(asked_.at - world_.start_) + ")";
  }
  std::string text_of_work(const Answered& answered) const {
    constexpr std::string_view kCommits[] = {"charged", "noted", "unknown"};
    if (asked_.parts.front().verb == Verb::kReserve) {
      return (answered.token.empty() ? ", holds nothing" : ", holds") + std::string(" as #") +
             std::to_string(asked_.number);
    }
    return " #" + std::to_string(asked_.work.number) + " " +
           std::string(kCommits[static_cast<std::size_t>(answered.committed)]);
  }
  Operation operation() const {
    const Verb verb = asked_.parts.front().verb;
    if (verb == Verb::kLook || verb == Verb::kCommit) return Operation::kLook;
    return asked_.parts.size() > 1 ? Operation::kSpendAll : Operation::kSpendEach;
  }
  void decided() noexcept override {
    world_.decided_.push_back(this);
    world_.collector_.set(world_.now());
  }

  World& world_;
  Asked asked_;
  AsksPtr asks_;
  Then then_;
  bool is_done_ = true;
};

World::World(const Scenario& scenario, const Means& means, std::uint64_t seed, Timeline* timeline)
    : scenario_(scenario),
      means_(means),
      rules_(as_of(scenario.begins, means.rules)),
      timeline_(timeline),
      start_(scenario.begins),
      queue_(start_),
      chance_(seed),
      network_(queue_, chance_.next()),
      collector_(queue_, [this](Instant) { collect(); }),
      looker_(queue_, [this](Instant) { look(); }),
      leaver_(queue_, [this](Instant) { go_on_leaving(); }),
      whole_since_(start_) {
  tally_.rules.resize(means.rules.size());
  if (!means.settings->store.redis.empty()) {
    redis_.emplace(queue_, network_,
                   RedisServer::Options{.ahead = up_to(chance_, scenario.skew),
                                        .has_replica = has_fault(Fault::Kind::kFailover)});
    network_.add_server(std::string(has_places() ? kWorldAddress : kRedisAddress), *redis_);
  }
  for (std::size_t place = 0; place < scenario.places.size(); ++place) {
    near_.emplace_back(queue_, network_, RedisServer::Options{.number = place + 1});
    network_.add_server(SimNode::redis_of(place), near_.back());
  }
  for (std::int64_t i = 0; i < scenario.nodes; ++i) {
    hosts_.push_back(std::make_unique<Host>(queue_, up_to(chance_, scenario.skew),
                                            up_to(chance_, scenario.drift)));
    network_.path(static_cast<std::size_t>(i), 0) = {
        .latency = latency(static_cast<std::size_t>(i)),
        .jitter = scenario.jitter,
        .loss_ppm = static_cast<std::uint32_t>(scenario.loss * 10'000)};
  }
  for (std::size_t i = 0; i < hosts_.size(); ++i) start_node(i);
  checks_ = make_checks(*this);
  traffic_ = std::make_unique<Traffic>(*this);
  faults_ = std::make_unique<Faults>(*this);
  looker_.set(now() + kLookEvery);
}

World::~World() {
  for (std::size_t i = 0; i < hosts_.size(); ++i) stop_node(i);
}

void World::run() {
  const Instant end = start_ + scenario_.length;
  while (!violation_ && queue_.step(end)) {
  }
  for (std::size_t i = 0; !violation_ && i < checks_.size(); ++i) checks_[i]->end();
  if (violation_ || !scenario_.faults.empty()) return;
  for (std::size_t i = 0; i < hosts_.size(); ++i) leave_node(i);
  while (!violation_ && queue_.step(end + kLeaveMax)) {
  }
  for (std::size_t i = 0; !violation_ && i < checks_.size(); ++i) checks_[i]->have_left();
}

Mode World::mode_of(std::uint32_t rule) const {
  if (means_.settings->store.redis.empty()) return Mode::kLocal;
  const Mode mode = means_.rules[rule].mode.value_or(means_.settings->store.mode);
  return mode == Mode::kWorld ? Mode::kAsync : mode;
}

Duration World::latency(std::size_t node) const {
  const Duration near = scenario_.latency;
  const auto place = place_of(node);
  return place ? near + scenario_.places[*place] / 2 : near;
}

void World::start_node(std::size_t number) {
  Host& host = *hosts_[number];
  host.machine.frozen_until = Instant{};
  host.is_leaving = false;
  host.secret = {};
  const auto say = [this, number](const std::string& sentence) {
    if (is_noting()) note("node " + std::to_string(number) + ": " + sentence);
  };
  host.node = std::make_unique<SimNode>(SimNode::Setup{.number = number,
                                                       .life = host.life,
                                                       .machine = host.machine,
                                                       .network = network_,
                                                       .means = means_,
                                                       .place = place_of(number),
                                                       .seed = chance_.next(),
                                                       .say = say,
                                                       .tenants = listener_of(number),
                                                       .named = [this, number] { named(number); }});
}

void World::stop_node(std::size_t number) {
  Host& host = *hosts_[number];
  if (host.node == nullptr) return;
  for (const auto& check : checks_) check->stops(number);
  for (const auto& request : requests_) {
    if (!request->is_of(number)) continue;
    request->abandon();
    std::erase(decided_, request.get());
    spare_.push_back(request.get());
  }
  host.node.reset();
  ++host.life;
  for (const auto& check : checks_) check->restarted(number);
}

void World::leave_node(std::size_t number) {
  hosts_[number]->is_leaving = true;
  go_on_leaving();
}

// As the server does: again and again until it is done, or time is up.
void World::go_on_leaving() {
  bool is_any_left = false;
  for (const auto& host : hosts_) {
    if (!host->is_leaving || host->node == nullptr) continue;
    if (!host->machine.stands_still() && host->node->leave()) host->is_leaving = false;
    is_any_left = is_any_left || host->is_leaving;
  }
  if (is_any_left) leaver_.set(now() + kLeaveEvery);
}

void World::act_on_block(std::size_t number, const Fault& fault) {
  SimNode* const at = node(number);
  if (at == nullptr || machine(number).stands_still()) return;
  if (fault.kind == Fault::Kind::kLift) {
    at->blocks().lift(fault.rule, fault.key, at->now());
  } else {
    at->blocks().add({.rule = fault.rule,
                      .key = fault.key,
                      .since = at->now(),
                      .until = at->now() + fault.length,
                      .reason = BlockReason::kManual},
                     at->now());
  }
}

// One row, or many rows that are in force together or not at all.
void World::change_rows(std::size_t number, const Fault& fault) {
  SimNode* const at = node(number);
  if (at == nullptr || at->tenants() == nullptr || machine(number).stands_still()) return;
  SimTenants::Rows rows;
  for (std::int64_t i = 0; i < fault.rows; ++i) rows["k" + std::to_string(i)] = fault.limit;
  if (rows.empty()) rows[fault.key] = fault.limit;
  at->tenants()->change(std::move(rows));
}

SimTenants::Listener World::listener_of(std::size_t number) {
  return {.offered =
              [this, number](const SimTenants::Change& change) {
                for (const auto& check : checks_) check->offered(number, change);
              },
          .settled =
              [this, number](const SimTenants::Change& change, SharedTenants::Outcome outcome) {
                constexpr std::string_view kOutcomes[] = {"taken", "outdated", "unreadable", "busy",
                                                          "alone"};
                if (is_noting()) {
                  note("node " + std::to_string(number) + ": " +
                       std::to_string(change.rows.size()) + " rows in version " +
                       std::to_string(change.made.head.number) + ": " +
                       std::string(kOutcomes[static_cast<std::size_t>(outcome)]));
                }
                for (const auto& check : checks_) check->settled(number, change, outcome);
              }};
}

std::optional<std::int64_t> World::left_in_redis(std::uint32_t rule, std::uint32_t key,
                                                 RedisServer::Script script) {
  const auto is_sharing = [](const auto& host) {
    return host->node != nullptr && host->node->is_sharing();
  };
  const auto found = std::ranges::find_if(hosts_, is_sharing);
  if (!redis_ || (found == hosts_.end() && !hasher_)) return std::nullopt;
  const KeyHasher& hasher = found == hosts_.end() ? *hasher_ : (*found)->node->hasher();
  const Rule& asked = rules()[rule];
  const KeyName name{.rule = asked.id, .bucket = "", .key = keys_[key]};
  const Charge charge{.key = hasher.hash(name, asked.quota), .quota = &asked.quota, .cost = 0};
  const std::string& prefix = means_.settings->store.prefix;
  return redis_->left(charge, has_places() ? prefix + "world:" : prefix, script);
}

void World::lose_in_redis(const std::function<void()>& loss) {
  std::vector<std::optional<std::int64_t>> before;
  for (const auto& [rule, key] : shared_) before.push_back(left_in_redis(rule, key));
  loss();
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    const auto& [rule, key] = shared_[i];
    const auto left = left_in_redis(rule, key);
    if (before[i] && left && *left > *before[i]) lost(rule, key, *left - *before[i]);
  }
}

std::string World::key_text(std::uint32_t key) {
  while (keys_.size() <= key) keys_.push_back("k" + std::to_string(keys_.size()));
  return keys_[key];
}

std::uint32_t World::key_of(const std::string& text) {
  const auto key = static_cast<std::uint32_t>(std::ranges::find(keys_, text) - keys_.begin());
  if (key == keys_.size()) keys_.push_back(text);
  return key;
}

World::Request& World::free_request() {
  if (spare_.empty()) {
    requests_.push_back(std::make_unique<Request>(*this));
    spare_.push_back(requests_.back().get());
  }
  Request& request = *spare_.back();
  spare_.pop_back();
  return request;
}

void World::ask(std::size_t number, std::size_t source, const std::vector<Part>& parts, Then then,
                const Work& work) {
  if (node(number) == nullptr || hosts_[number]->is_leaving) return;
  if (machine(number).stands_still()) return;
  for (const Part& part : parts) {
    key_text(part.key);
    if (mode_of(part.rule) != Mode::kLocal) remember_shared(part);
  }
  ++tally_.requests;
  free_request().begin(number, source, parts, std::move(then), work);
}

void World::remember_shared(const Part& part) {
  is_shared_.resize(rules().size());
  std::vector<bool>& keys = is_shared_[part.rule];
  if (keys.size() <= part.key) keys.resize(part.key + 1);
  if (keys[part.key]) return;
  keys[part.key] = true;
  shared_.emplace_back(part.rule, part.key);
}

void World::finished(Request& request) {
  request.tell(answers_);
  spare_.push_back(&request);
}

void World::collect() {
  std::vector<Request*> decided;
  decided.swap(decided_);
  for (Request* request : decided) finished(*request);
}

void World::count(const Answered& answered) {
  if (answered.at > answered.asked.at) {
    ++tally_.late;
    tally_.latency.add(answered.at - answered.asked.at);
  }
  if (answered.asked.parts.front().verb == Verb::kCommit) return;
  for (std::size_t i = 0; i < answered.answers.size(); ++i) {
    RuleFigures& figures = tally_.rules[answered.asked.parts[i].rule];
    const Answer& answer = answered.answers[i];
    if (answered.is_unavailable) {
      ++figures.failed;
    } else {
      ++(answer.allowed() ? figures.allowed : figures.denied);
    }
    figures.alone += answer.is_alone;
  }
}

void World::look() {
  for (const auto& check : checks_) check->look();
  looker_.set(now() + kLookEvery);
}

void World::fault_begins(const Fault& fault) {
  ++faults_open_;
  for (const auto& check : checks_) check->faulted(fault);
}

void World::fault_ends() {
  --faults_open_;
  whole_since_ = now();
}

// A node that has just begun may bring its secret to a Redis that has lost the fleet's, until a
// node that knows the fleet's comes. A node only changes to older names.
void World::named(std::size_t number) {
  Host& host = *hosts_[number];
  const std::uint64_t secret = host.node->secret_number();
  const auto known = std::ranges::find(secrets_, secret);
  if (host.secret && known >= std::ranges::find(secrets_, *host.secret) && !has_clock_steps()) {
    fail("recovers", "node " + std::to_string(number) + " has given up the fleet's secret");
  }
  if (known == secrets_.end()) secrets_.push_back(secret);
  for (const auto& check : checks_) {
    if (secrets_.size() > 1) check->named_anew();
    if (host.secret) check->restarted(number);
  }
  host.secret = secret;
  hasher_ = host.node->hasher();
}

bool World::has_one_secret() const {
  std::optional<std::uint64_t> one;
  return std::ranges::all_of(hosts_, [&one](const auto& host) {
    if (!one) one = host->secret;
    return !host->secret || host->secret == one;
  });
}

void World::lost(std::uint32_t rule, std::uint32_t key, std::int64_t units) {
  if (is_noting()) {
    note("redis: lost " + std::to_string(units) + " units of " + rules()[rule].id + " " +
         key_text(key));
  }
  for (const auto& check : checks_) check->lost(rule, key, units);
}

void World::note(const std::string& line) {
  if (timeline_ != nullptr) timeline_->add(elapsed(), line);
}

void World::fail(std::string_view promise, const std::string& what) {
  if (violation_) return;
  violation_ = {.promise = std::string(promise), .what = what, .at = elapsed()};
  note("BROKEN: " + std::string(promise) + ": " + what);
}

void World::each_waiting(const std::function<void(const Asked&)>& visit) const {
  for (const auto& request : requests_) {
    if (request->is_waiting()) visit(request->asked());
  }
}

}  // namespace weir::sim
