#include "store/redis/fleet/fleet_beat.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/if_memory.h"
#include "store/redis/script/cluster_slot.h"

namespace weir {
namespace {

#include "store/redis/fleet/beat_script.inc"

// The part of a second in which urgent words are said, if a round of turns lasts that long.
constexpr double kUrgentPart = 0.75;

constexpr std::string_view kSomethingElse = "it answers something else";

}  // namespace

FleetBeat::FleetBeat(const Options& options, const World& world, Instant now)
    : ScriptCall(world.client, kBeatScript),
      interval_(std::min(options.interval, kIntervalMax)),
      world_(world),
      tag_(options.prefix + "{fleet}:"),
      place_(crc16(options.node) / 65536.0),
      nodes_(options.node),
      news_(world.state),
      secret_(tag_ + "secret", options.secret),
      blocks_(options.node, world.topics.blocks, world.topics.audience, options.blocks_read),
      alarm_(world.reactor.make_alarm([this](Instant then) { beat(then); })) {
  if (RecentTraffic* const traffic = world.topics.traffic) {
    speakers_.push_back({&traffic_.emplace(options.node, *traffic, world.listener)});
  }
  if (RuleSwitches* const switches = world.topics.switches) {
    speakers_.push_back({&switches_.emplace(tag_ + "switches", *switches, world.listener)});
  }
  if (FleetKeys* const keys = world.topics.keys) {
    speakers_.push_back({&busiest_.emplace(options.node, world.topics.traffic->rules(), *keys)});
  }
  if (SharedRules* const rules = world.topics.rules) {
    speakers_.push_back({&rules_.emplace(tag_ + "rules", options.node, *rules, world.listener)});
  }
  if (SharedTenants* const tenants = world.topics.tenants) {
    speakers_.push_back(
        {&tenants_.emplace(tag_ + "tenants", options.node, *tenants, world.listener)});
  }
  if (world.topics.about) {
    speakers_.push_back({&about_.emplace(options.node, world.topics.about, world.state)});
  }
  if (world.topics.notices != nullptr) {
    speakers_.push_back({&limits_.emplace(options.node, *world.topics.notices)});
  }
  world.topics.blocks.share(world.topics.audience);
  alarm_->set(now);
}

FleetBeat::~FleetBeat() {
  note_failure();
  world_.client.forget(*this);
}

// Requests that wait for Redis to take something wait no longer.
void FleetBeat::note_failure() noexcept {
  if (world_.topics.tenants != nullptr) world_.topics.tenants->fail();
}

// How long it takes until each node has had a turn.
Duration FleetBeat::turns() const {
  return kTurn * std::min<std::int64_t>(world_.state.live_nodes(), kIntervalMax / kTurn);
}

// Clocks of all nodes end their seconds together: the nodes spread their words over the next one.
std::optional<Instant> FleetBeat::due(const BeatField& field) const {
  const auto due = field.due();
  if (!due) return due;
  if (!field.is_urgent()) return std::max(*due, asked_ + turns());
  return *due + std::chrono::duration_cast<Duration>(turns() * place_ * kUrgentPart);
}

// After the interval, or when a field is due before.
Instant FleetBeat::next_beat(Instant now) const {
  Instant next = now + std::max(interval_, turns());
  for (const Speaker& speaker : speakers_) {
    const auto due = this->due(*speaker.field);
    if (due > now) next = std::min(next, *due);
  }
  return next;
}

// When words that could not wait for the answer, or did not fit, are due. A beat before that would
// leave them out, and put them off.
std::optional<Instant> FleetBeat::more_due(Instant now) const {
  std::optional<Instant> first;
  for (const Speaker& speaker : speakers_) {
    const auto due = this->due(*speaker.field);
    if (!speaker.field->has_more() && !(due && *due <= now)) continue;
    first = std::min(first.value_or(Instant::max()), std::max(now, due.value_or(now)));
  }
  return first;
}

void FleetBeat::beat(Instant now) {
  if (!is_asking_ && phase_ == Phase::kAlive && is_connected()) {
    has_memory_for([&] { ask(now); });  // else the next beat says it
  }
  if (!is_connected()) note_failure();
  alarm_->set(next_beat(now));
}

bool FleetBeat::leave(Instant now) {
  if (is_asking_) return false;
  if (phase_ == Phase::kGone || !is_connected()) return true;
  phase_ = Phase::kLeaving;
  nodes_.leave();
  ask(now);
  return false;
}

bool FleetBeat::is_connected() const {
  return world_.client.state().phase == LinkState::Phase::kConnected;
}

// Fields that wait for news come last. A field that is silent now may not wait in the next beat: it
// does not hear what this beat's news are about.
std::vector<FleetBeat::Speaker*> FleetBeat::let_speak(Instant now) {
  std::vector<Speaker*> speaking;
  for (Speaker& speaker : speakers_) {
    const bool is_due = due(*speaker.field).value_or(now) <= now;
    speaker.is_said = is_due || speaker.field->follows_news();
    speaker.is_answered = speaker.is_answered && speaker.is_said;
    if (!speaker.is_said) continue;
    speaker.words.clear();
    speaker.field->say(speaker.words, now);
    speaker.waits = speaker.is_answered && speaker.field->follows_news();
    speaking.push_back(&speaker);
  }
  const auto waiting = std::ranges::stable_partition(speaking, std::not_fn(&Speaker::waits));
  news_speaker_.words.clear();
  news_.say(news_speaker_.words, now);
  speaking.insert(waiting.begin(), &news_speaker_);
  return speaking;
}

// In beat.lua's form: the fields' keys, and for each its name and its words.
void FleetBeat::ask(Instant now) {
  world_.listener.before_beat(now);
  const auto speaking = let_speak(now);
  said_ = {std::to_string(speaking.size())};
  for (const Speaker* const one : speaking) {
    said_.push_back(tag_ + std::string(one->field->name()));
  }
  for (const Speaker* const one : speaking) {
    said_.emplace_back(one->field->name());
    said_.push_back(std::to_string(one->words.size()));
    said_.insert(said_.end(), one->words.begin(), one->words.end());
  }
  words_ = {"EVALSHA", kBeatScriptSha};
  words_.insert(words_.end(), said_.begin(), said_.end());
  asked_ = now;
  is_asking_ = !send(words_, cluster_slot(tag_), now + kAnswerMax, now);
}

// If there is no memory for the answer, the next beat brings it again.
void FleetBeat::answered(const resp::Reply& reply, Instant now) noexcept {
  is_asking_ = false;
  if (phase_ == Phase::kLeaving && blocks_.has_said_all()) phase_ = Phase::kGone;
  has_memory_for([&] {
    if (reply.is_error()) return complain(reply.text());
    if (reply.at(nodes_.name()).is_null()) return complain(kSomethingElse);
    take(reply, now);
  });
}

// A Redis that is only slow may yet take the words. A silent Redis ends the connection.
void FleetBeat::failed(RedisFailure why, Instant) noexcept {
  is_asking_ = false;
  if (why == RedisFailure::kDisconnected) note_failure();
}

// All fields hear their answers, even if another one complains: they have said their words. News
// count only if they come with an answer to each field that did not wait for them.
void FleetBeat::take(const resp::Reply& reply, Instant now) {
  std::string complaint;
  resp::Reply news = reply.at(news_.name());
  const bool passes_over = !news.text().empty() && !news_speaker_.words[0].empty();
  for (Speaker& speaker : speakers_) {
    const resp::Reply told = reply.at(speaker.field->name());
    if (told.is_null()) {
      if (!speaker.is_said) continue;
      if (speaker.waits && passes_over) {
        speaker.field->hear_no_news();
      } else {
        news = {};
      }
      continue;
    }
    speaker.is_answered = false;
    std::string wrong = speaker.field->hear(told, now);
    speaker.is_answered = wrong.empty() && speaker.is_said;
    if (complaint.empty()) complaint = std::move(wrong);
  }
  static_cast<void>(news_.hear(news, now));
  if (!complaint.empty()) return complain(complaint);
  use_secret(now);
  world_.state.note_beat(now - asked_);
  world_.state.set_heard(nodes_.heard(asked_), now);
  world_.state.set_beat_failure({});
  if (const auto more = more_due(now)) alarm_->set(*more);
}

void FleetBeat::complain(std::string_view why) {
  note_failure();
  const std::string sentence =
      "this node and the others do not hear of each other: " + std::string(why);
  if (world_.state.set_beat_failure(sentence)) world_.listener.warn(sentence);
}

void FleetBeat::use_secret(Instant now) {
  if (secret_.has_news()) world_.listener.secret_found(secret_.found(), now);
  if (!secret_.is_lost()) return;
  world_.state.note_loss();
  world_.listener.warn("the Redis has lost what it had: its counters begin at 0");
}

}  // namespace weir
