#include "simulate/traffic.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace weir::sim {
namespace {

using Kind = TrafficSource::Kind;

constexpr Duration kSecond = std::chrono::seconds(1);
constexpr Duration kCronEvery = std::chrono::seconds(2);
constexpr Duration kAnswered = std::chrono::milliseconds(50);  // with two trips, past its deadline
constexpr Duration kBackoffMin = std::chrono::milliseconds(10);
constexpr std::int64_t kHitsOfWork = 20;  // of a hundred requests: these spend, as any request

Duration seconds_of(double number) { return Duration(static_cast<std::int64_t>(number * 1e6)); }

}  // namespace

// Work under way. It commits its reservation, maybe late, twice, or not at all.
class Traffic::Works {
 public:
  Works(World& world, const TrafficSource& spec, std::size_t number, Prng& chance)
      : world_(world),
        spec_(spec),
        number_(number),
        chance_(chance),
        next_(world.queue(), [this](Instant now) { commit_due(now); }) {}

  void reserve(std::size_t node, const Part& part) {
    const auto begin = [this](const Answered& answered) {
      if (!answered.token.empty()) plan(answered);
    };
    world_.ask(node, number_, {part}, begin, {.hold = spec_.hold});
  }

 private:
  void plan(const Answered& answered) {
    const Asked& asked = answered.asked;
    const auto fate = chance_.below(10);
    if (fate < 2) return;  // its caller has died
    Commit commit{.node = asked.node, .part = asked.parts.front(), .work = asked.work};
    commit.part.verb = Verb::kCommit;
    commit.part.cost = chance_.below(static_cast<std::uint32_t>(2 * spec_.cost + 1));
    commit.work.token = answered.token;
    commit.work.number = asked.number;
    const double lasts = fate == 2 ? 1.0 + chance_.unit() / 4 : chance_.unit();
    const Instant ends = world_.now() + seconds_of(lasts * to_seconds(spec_.hold));
    due_.emplace(ends, commit);
    if (fate == 3) due_.emplace(ends + Duration(chance_.below(kTwiceWithin)), commit);
    next_.set(due_.begin()->first);
  }
  void commit_due(Instant now) {
    while (!due_.empty() && due_.begin()->first <= now) {
      Commit commit = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      // Any node of a fleet takes the commit.
      if (chance_.below(2) == 0) {
        commit.node = chance_.below(static_cast<std::uint32_t>(world_.nodes()));
      }
      world_.ask(commit.node, number_, {commit.part}, {}, commit.work);
    }
    next_.set(due_.empty() ? Instant::max() : due_.begin()->first);
  }
  static double to_seconds(Duration time) { return static_cast<double>(time.count()) / 1e6; }

  struct Commit {
    std::size_t node = 0;
    Part part;
    Work work;
  };
  static constexpr std::uint32_t kTwiceWithin = 20'000;  // microseconds

  World& world_;
  const TrafficSource& spec_;
  const std::size_t number_;
  Prng& chance_;
  std::multimap<Instant, Commit> due_;
  Task next_;
};

// One source. Each key of the patient and the hasty is a client of its own.
class Traffic::Source {
 public:
  Source(World& world, const TrafficSource& spec, std::size_t number, std::uint32_t first_key)
      : world_(world),
        spec_(spec),
        number_(number),
        first_key_(first_key),
        chance_(world.chance().next()),
        works_(world, spec, number, chance_),
        until_(world.now() + spec.until.value_or(world.scenario().length)),
        next_(world.queue(), [this](Instant now) { go_on(now); }) {
    for (const std::string& id : spec.rules) rules_.push_back(place_of(id));
    if (rules_.empty()) rules_.push_back(0);
    const Instant from = world.now() + spec.from;
    if (!is_of_clients()) plan(from);
    for (std::int64_t i = 0; is_of_clients() && i < spec.keys; ++i) {
      clients_.push_back(std::make_unique<Task>(
          world.queue(), [this, i](Instant) { ask_as(static_cast<std::size_t>(i)); }));
      clients_.back()->set(from + gap());
      waits_.push_back(kBackoffMin);
    }
  }

 private:
  bool is_of_clients() const { return spec_.kind == Kind::kPatient || spec_.kind == Kind::kHasty; }
  std::uint32_t place_of(const std::string& id) const {
    const auto& rules = world_.rules();
    return static_cast<std::uint32_t>(std::ranges::find(rules, id, &Rule::id) - rules.begin());
  }
  Duration gap() {
    if (spec_.rate <= 0) return kSecond * 1'000'000;
    return std::max(Duration(1), seconds_of(-std::log(1.0 - chance_.unit()) / spec_.rate));
  }
  void plan(Instant when) { next_.set(when < until_ ? when : Instant::max()); }

  // Few keys come most of the time.
  std::uint32_t key() {
    if (spec_.kind == Kind::kAttack) return fresh_key();
    const double share = std::pow(static_cast<double>(spec_.keys), chance_.unit());
    return first_key_ + static_cast<std::uint32_t>(share) - 1;
  }
  std::uint32_t fresh_key() {
    return first_key_ + chance_.below(static_cast<std::uint32_t>(spec_.keys));
  }

  void go_on(Instant now) {
    switch (spec_.kind) {
      case Kind::kBursts: {
        // As many at once as come in a second, on average.
        const auto size = 1 + static_cast<std::int64_t>(2 * spec_.rate * chance_.unit());
        const std::uint32_t one = key();
        for (std::int64_t i = 0; i < size; ++i) ask(one);
        return plan(now + Duration(chance_.below(2'000'000)));
      }
      case Kind::kCron:
        for (std::int64_t i = 0; i < spec_.keys; ++i) {
          for (double n = 0; n < spec_.rate; ++n) ask(first_key_ + static_cast<std::uint32_t>(i));
        }
        return plan(now + kCronEvery);
      default: break;
    }
    ask(key());
    plan(now + gap());
  }

  std::vector<Part>& parts(std::uint32_t key) {
    parts_.clear();
    Part part{.key = key};
    const auto chance = static_cast<std::int64_t>(chance_.below(100));
    const bool has_slots = world_.rules()[rules_.front()].has_slots();
    if (spec_.kind == Kind::kWork && (has_slots || chance >= kHitsOfWork)) {
      part.verb = Verb::kReserve;
    } else if (chance < spec_.looks) {
      part.verb = Verb::kLook;
    } else if (chance < spec_.looks + spec_.refunds) {
      part.verb = Verb::kRefund;
    } else if (chance < spec_.looks + spec_.refunds + spec_.charges) {
      part.verb = Verb::kCharge;
    }
    part.cost = has_slots ? 1 : 1 + chance_.below(static_cast<std::uint32_t>(spec_.cost));
    for (const std::uint32_t rule : rules_) {
      part.rule = rule;
      parts_.push_back(part);
    }
    return parts_;
  }
  std::size_t node() {
    if (spec_.node) return static_cast<std::size_t>(*spec_.node);
    return chance_.below(static_cast<std::uint32_t>(world_.nodes()));
  }
  void ask(std::uint32_t key) {
    const std::vector<Part>& asked = parts(key);
    if (asked.front().verb == Verb::kReserve) return works_.reserve(node(), asked.front());
    world_.ask(node(), number_, asked);
  }

  void ask_as(std::size_t client) {
    if (world_.now() >= until_) return;
    const Instant now = world_.now();
    // In case no answer comes. The patient ask again only when their ask is surely decided.
    const bool is_patient = spec_.kind == Kind::kPatient;
    clients_[client]->set(now + gap() + (is_patient ? world_.patience() + kAnswered : Duration(0)));
    world_.ask(node(), number_, parts(first_key_ + static_cast<std::uint32_t>(client)),
               [this, client](const Answered& answered) { heard(client, answered); });
  }
  void heard(std::size_t client, const Answered& answered) {
    const bool is_denied = !answered.is_allowed();
    Duration wait = gap();
    if (spec_.kind == Kind::kPatient) {
      for (const Answer& answer : answered.answers) {
        wait = std::max(wait, answer.decision.retry_after);
      }
    } else {
      waits_[client] = is_denied ? std::max(kBackoffMin / 10, waits_[client] / 2) : kBackoffMin;
      if (is_denied) wait = waits_[client];
    }
    clients_[client]->set(world_.now() + wait);
  }

  World& world_;
  const TrafficSource& spec_;
  const std::size_t number_;
  const std::uint32_t first_key_;
  Prng chance_;
  Works works_;
  const Instant until_;
  std::vector<std::uint32_t> rules_;
  std::vector<Part> parts_;
  std::vector<std::unique_ptr<Task>> clients_;
  std::vector<Duration> waits_;
  Task next_;
};

// Single requests with expected answers.
class Traffic::Steps {
 public:
  explicit Steps(World& world) : world_(world) {
    for (const Question& question : world.scenario().questions) {
      tasks_.push_back(
          std::make_unique<Task>(world.queue(), [this, &question](Instant) { ask(question); }));
      tasks_.back()->set(world.now() + question.at);
    }
  }

 private:
  void ask(const Question& question) {
    constexpr Verb kVerbs[] = {Verb::kHit, Verb::kLook, Verb::kCharge};
    const auto& rules = world_.rules();
    const auto found = std::ranges::find(rules, question.rule, &Rule::id);
    const bool is_refund = question.cost < 0;
    const Part part{
        .rule = question.rule.empty() ? 0 : static_cast<std::uint32_t>(found - rules.begin()),
        .key = world_.key_of(question.key),
        .cost = std::abs(question.cost),
        .verb = is_refund ? Verb::kRefund : kVerbs[static_cast<std::size_t>(question.verb)]};
    world_.ask(static_cast<std::size_t>(question.node), Asked::kNoSource, {part},
               [this, &question](const Answered& answered) { compare(question, answered); });
  }
  void compare(const Question& question, const Answered& answered) {
    const Decision& decision = answered.answers.front().decision;
    const bool is_allowed = answered.is_allowed();
    const std::string about = "the ask of '" + question.key + "' ";
    if (question.allowed && *question.allowed != is_allowed) {
      world_.fail("expected", about + (is_allowed ? "was allowed" : "was denied"));
    } else if (question.left && *question.left != decision.remaining) {
      world_.fail("expected", about + "left " + std::to_string(decision.remaining) + ", not " +
                                  std::to_string(*question.left));
    }
  }

  World& world_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

Traffic::Traffic(World& world) {
  // Some sources share their keys, the others have their own keys.
  const auto shares = [](const TrafficSource& spec) {
    return spec.kind == Kind::kSteady || spec.kind == Kind::kBursts;
  };
  std::int64_t shared = 0;
  for (const TrafficSource& spec : world.scenario().traffic) {
    if (shares(spec)) shared = std::max(shared, spec.keys);
  }
  auto next_key = static_cast<std::uint32_t>(shared);
  for (const TrafficSource& spec : world.scenario().traffic) {
    sources_.push_back(
        std::make_unique<Source>(world, spec, sources_.size(), shares(spec) ? 0 : next_key));
    if (!shares(spec)) next_key += static_cast<std::uint32_t>(spec.keys);
  }
  steps_ = std::make_unique<Steps>(world);
}

Traffic::~Traffic() = default;

}  // namespace weir::sim
