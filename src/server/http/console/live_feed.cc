#include "server/http/console/live_feed.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/duration_text.h"
#include "observe/keys/key_report.h"
#include "proto/websocket/frames.h"
#include "rulebook/rule_text.h"
#include "server/http/console/live_json.h"

namespace weir {
namespace {

constexpr std::size_t kEventTextMax = 300;  // of an event
constexpr std::size_t kNamedMax = 5;        // of one kind, in the text of an event
constexpr std::size_t kLatencySeconds = 10;
constexpr int kTakingSeconds = 3;  // that a node may need to take others' changes
constexpr const char* kNothingChanged = "nothing in the rules has changed";
constexpr std::size_t kTimedRulesMax = 4'096;  // 160 bytes each

LatencyFigures difference(const LatencyFigures& now, const LatencyFigures& before) {
  LatencyFigures grown;
  for (std::size_t i = 0; i < grown.counts.size(); ++i) {
    grown.counts[i] = now.counts[i] - before.counts[i];
  }
  return grown;
}

std::string tenths_text(double value) {
  const auto rounded = static_cast<std::int64_t>(value * 10 + 0.5);
  return std::to_string(rounded / 10) + "." + std::to_string(rounded % 10);
}

LiveEvent surge_event(const TrafficEvent& event) {
  const bool began = event.kind == TrafficEvent::Kind::kBegan;
  const std::string rate =
      tenths_text(event.rate) + " requests/s in the five quietest of seven seconds";
  return {.at = static_cast<double>(event.at),
          .kind = began ? "surge" : "surge_end",
          .rule = event.rule,
          .text = began ? rate + "; usual are " + tenths_text(event.band.low) + " to " +
                              tenths_text(event.band.high)
                        : "as usual again, after up to " + rate};
}

std::string lines(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& line : std::span(all).first(std::min(all.size(), kNamedMax))) {
    text += (text.empty() ? "" : "; ") + line;
  }
  if (all.size() <= kNamedMax) return text;
  return text + "; and " + std::to_string(all.size() - kNamedMax) + " more";
}

std::string node_text(const std::string& id, const std::string& title) {
  return title.empty() ? id : title + " (" + id + ")";
}

std::string node_text(const std::string& id, const std::vector<NodeAbout>& abouts) {
  if (id.empty()) return "another node";
  const auto about = std::ranges::find(abouts, id, &NodeAbout::id);
  return node_text(id, about == abouts.end() ? "" : about->title);
}

// A start forgets the counters of a node alone; Redis keeps those of a fleet.
LiveEvent start_event(const LivePicture& picture, Instant started) {
  const bool is_alone = !picture.figures->shared;
  const std::string text = "the node has started";
  return {.at = picture.wall(started),
          .kind = "start",
          .text = is_alone ? text + "; counters and changes of rules by hand are forgotten" : text};
}

// The key that a person blocked, or for readers who may not see it the hash that denials have.
std::string whom(const Block& block, const RuleSet& rules, const KeyHasher& hasher, bool is_open) {
  if (is_open) return block.key;
  const Rule* const rule = rules.find(block.rule);
  if (blocked_network(block) || rule == nullptr)
    return blocked_network(block) ? "a network" : "a key";
  const Quota& quota = rule->limits_for(block.key, {}).front();
  const KeyName name{.rule = rule->id, .bucket = {}, .key = block.key};
  return "key " + hash_text(hasher.hash(name, quota).low);
}

LiveEvent node_event(const FleetRoster::News& news) {
  using enum FleetRoster::Change;
  const std::string node = node_text(news.node, news.title);
  switch (news.change) {
    case kJoined: return {.kind = "node", .text = node + " has joined"};
    case kRestarted: return {.kind = "node", .text = node + " has started again"};
    case kReturned: return {.kind = "node", .text = node + " is back"};
    case kLeft: return {.kind = "node", .text = node + " has stopped"};
    case kGone: break;
  }
  return {.kind = "node_gone", .text = node + " is gone: it died, or does not reach Redis"};
}

}  // namespace

LiveMessage::LiveMessage(std::string_view json)
    : frame_(websocket::text_frame(json)), head_size_(frame_.size() - json.size()) {}

void LiveFeed::tick(Second second, Instant now) {
  LivePicture picture{.now = now,
                      .wall_lead = second.wall_lead,
                      .rules = std::move(second.rules),
                      .ruleless = view_.traffic.rules().number_with(rule_hash({})),
                      .traffic = std::move(second.traffic),
                      .figures = std::make_shared<const NodeFigures>(view_.figures())};
  picture.at = picture.wall(now);
  picture.is_public = people_ == People::kHidden;
  note_latency(picture.traffic->own.window.second(0));
  picture.latency = recent_latency();
  note_events(picture);
  picture.rules_version = rules_version_;
  picture.absent = roster_.absent(*picture.traffic, view_.info.node);
  const std::scoped_lock lock(mutex_);
  history_.keep(*picture.traffic, picture.latency);
  picture_ = std::move(picture);
  message_.reset();
  told_.clear();
}

LiveMessagePtr LiveFeed::message() {
  const std::scoped_lock lock(mutex_);
  if (message_ == nullptr && picture_.traffic != nullptr) {
    message_ = std::make_shared<const LiveMessage>(live_json(view_, picture_, events_));
  }
  if (message_ == nullptr) return std::make_shared<const LiveMessage>(R"({"t":0})");
  return message_;
}

std::string LiveFeed::history(std::chrono::seconds span) {
  const std::scoped_lock lock(mutex_);
  if (picture_.traffic == nullptr) return "{}";
  std::string& told = told_[span];
  if (told.empty()) told = history_json(view_, picture_, history_, span);
  return told;
}

std::string LiveFeed::history(std::chrono::seconds span, RuleNumber rule) const {
  const std::scoped_lock lock(mutex_);
  return picture_.traffic == nullptr ? "{}" : history_json(picture_, history_, span, rule);
}

LiveFeed::Seat LiveFeed::take_seat(const std::optional<Caller>& stranger) {
  const std::scoped_lock lock(seats_mutex_);
  if (consoles_ == kConsolesMax) return nullptr;
  if (stranger) {
    int& taken = strangers_[stranger->network()];
    if (taken == kStrangersMax) return nullptr;
    ++taken;
  }
  ++consoles_;
  return Seat(this, [stranger](LiveFeed* feed) { feed->leave(stranger); });
}

void LiveFeed::leave(const std::optional<Caller>& stranger) noexcept {
  const std::scoped_lock lock(seats_mutex_);
  --consoles_;
  if (!stranger) return;
  const auto found = strangers_.find(stranger->network());
  if (--found->second == 0) strangers_.erase(found);
}

void LiveFeed::tell(std::string_view kind, std::string rule, std::string text) {
  LiveEvent event{.kind = kind, .rule = std::move(rule), .text = std::move(text)};
  const std::scoped_lock lock(mutex_);
  event.at = picture_.at;
  add(std::move(event));
}

// REQUIRES: the lock is held
void LiveFeed::add(LiveEvent event) {
  if (event.text.size() > kEventTextMax) {
    const auto end = event.text.rfind(' ', kEventTextMax);
    event.text.replace(std::min(end, kEventTextMax), std::string::npos, " ...");
  }
  event.id = ++last_event_;
  events_.push_back(std::move(event));
  if (events_.size() > kEventsMax) events_.pop_front();
}

// A rule with its first figures counts if all its answers are of this second.
void LiveFeed::note_latency(const TrafficSecond& second) {
  LatencyFigures sum;
  for (const RuleTraffic& rule : second.rules) {
    const LatencyFigures now = view_.traffic.rules().latency(rule.rule);
    const auto known = latency_before_.find(rule.rule);
    if (known != latency_before_.end()) {
      sum += difference(now, known->second);
      known->second = now;
    } else if (latency_before_.size() < kTimedRulesMax) {
      if (now.total() <= rule.counts.requests) sum += now;
      latency_before_.emplace(rule.rule, now);
    }
  }
  latency_.push_back(sum);
  if (latency_.size() > kLatencySeconds) latency_.pop_front();
}

LatencyFigures LiveFeed::recent_latency() const {
  LatencyFigures sum;
  for (const LatencyFigures& second : latency_) sum += second;
  return sum;
}

// Adds news since the last second that no tell() adds.
void LiveFeed::note_events(LivePicture& picture) {
  std::vector<LiveEvent> news;
  const auto surges = surges_.since(last_surge_);
  std::map<std::string, std::vector<std::string>> reached;  // by rule, keys near their limits
  for (const auto& surge : surges.events) {
    if (surge->kind == TrafficEvent::Kind::kLimit) reached[surge->rule].push_back(surge->text);
    if (surge->text.empty()) news.push_back(surge_event(*surge));
  }
  for (const auto& [rule, texts] : reached) {
    news.push_back({.kind = "limit", .rule = rule, .text = lines(texts)});
  }
  last_surge_ = surges.last;
  const NodeFigures& figures = *picture.figures;
  note_rules(picture, news);
  note_blocks(picture, news);
  if (auto event = news_of_redis(figures)) news.push_back(*std::move(event));
  const std::uint64_t losses = figures.shared ? figures.shared->losses : 0;
  if (std::exchange(redis_losses_, losses) != losses) {
    news.push_back(
        {.kind = "redis_emptied", .text = "Redis has lost what it had: its counters begin at 0"});
  }
  std::vector<RuleHold::Node> alive;
  if (figures.shared && figures.shared->rules && figures.shared->rules->heard != Instant{}) {
    alive = figures.shared->rules->nodes;
  }
  auto abouts = figures.shared ? figures.shared->others : std::vector<NodeAbout>();
  abouts.push_back(figures.about);
  abouts.back().id = view_.info.node;
  for (const auto& change : roster_.look(*picture.traffic, abouts, alive)) {
    news.push_back(node_event(change));
  }
  note_apart(picture, abouts, news);
  for (LiveEvent& event : news) event.at = event.at == 0 ? picture.at : event.at;
  std::ranges::stable_sort(news, {}, &LiveEvent::at);
  const std::scoped_lock lock(mutex_);
  for (LiveEvent& event : news) add(std::move(event));
}

// Blocks by people on any node, except blocks from before this node started, and those that ended
// before this node heard of them.
void LiveFeed::note_blocks(const LivePicture& picture, std::vector<LiveEvent>& news) {
  const bool is_public = people_ == People::kHidden;
  const auto& shared = picture.figures->shared;
  for (const auto& [act, teller] : blocks_.take_acts()) {
    if (act.began < view_.info.started) continue;
    std::string text =
        whom(act, *picture.rules, blocks_.hasher(), !is_public && view_.traffic.keeps_key_texts());
    const Duration length = std::chrono::round<std::chrono::seconds>(act.until - act.began);
    text += is_lift(act) ? " is blocked no more" : " is blocked for " + format_duration(length);
    if (act.rule.empty()) text += ", whatever the rule";
    if (!is_public && !act.by.empty()) text += ", by " + act.by;
    if (shared)
      text += teller ? ", told by " + node_text(*teller, shared->others) : ", at this node";
    if (!is_public) text += reason_of({.why = act.why});
    news.push_back({.at = picture.wall(act.began),
                    .kind = "block",
                    .rule = act.rule,
                    .text = std::move(text)});
  }
}

// By the nodes' own words. While Redis is away nothing is known.
void LiveFeed::note_apart(LivePicture& picture, const std::vector<NodeAbout>& abouts,
                          std::vector<LiveEvent>& news) {
  const auto& shared = picture.figures->shared;
  if (!shared || !shared->rules) return;
  const auto before = std::exchange(apart_, {});
  std::map<std::string, std::vector<std::string>> told;  // by reason; empty: they reach it again
  for (const auto& [name, why_not] : shared->rules->nodes) {
    const auto found = before.find(name);
    int seconds = found == before.end() ? 0 : found->second;
    const bool was_apart = seconds == kTakingSeconds;
    if (why_not.empty()) {
      seconds = 0;
    } else if (shared->is_healthy) {
      seconds = std::min(seconds + 1, kTakingSeconds);
    }
    const bool is_apart = seconds == kTakingSeconds;
    if (is_apart) picture.apart[name] = why_not;
    if (seconds > 0) apart_[name] = seconds;
    if (is_apart == was_apart) continue;
    told[why_not].push_back(node_text(name, abouts));
  }
  for (const auto& [why_not, nodes] : told) {
    const std::string whom = lines(nodes);
    news.push_back({.kind = why_not.empty() ? "rules" : "rules_apart",
                    .text = why_not.empty()
                                ? "changes by hand reach " + whom + " again"
                                : "changes by hand do not reach " + whom + ": " + why_not});
  }
}

void LiveFeed::note_rules(const LivePicture& picture, std::vector<LiveEvent>& news) {
  const auto reloads = view_.reloads.figures();
  const bool was_fine = std::exchange(is_reload_fine_, reloads.succeeded);
  if (was_fine && !is_reload_fine_) {
    news.push_back({.kind = "reload_failed",
                    .text = "the configuration was refused, and the rules stay as they are; the "
                            "log says why"});
  }
  const Instant same_before = std::exchange(same_reload_, reloads.last_same);
  const std::uint64_t version = desk_.view()->version;
  const std::uint64_t before = std::exchange(rules_version_, version);
  if (before == 0) return news.push_back(start_event(picture, view_.info.started));
  if (same_reload_ != same_before) {
    news.push_back({.at = picture.wall(same_reload_), .kind = "reload", .text = kNothingChanged});
  }
  if (version == before) return;
  for (const auto& one : desk_.history()) {
    if (one->version <= before) continue;
    news.push_back(event_of(*one));
    news.back().at = picture.wall(one->when);
    rules_version_ = one->version;  // a version may have come since
  }
}

LiveEvent LiveFeed::event_of(const RuleVersion& version) const {
  std::string text = lines(version.changes);
  if (text.empty()) text = kNothingChanged;
  if (version.origin == RuleOrigin::kFile) return {.kind = "reload", .text = std::move(text)};
  if (people_ == People::kHidden) return {.kind = "rules", .text = "by request: " + text};
  const RuleAuthor& author = version.author;
  return {.kind = "rules", .text = "by " + describe(author) + ": " + text + reason_of(author)};
}

std::optional<LiveEvent> LiveFeed::news_of_redis(const NodeFigures& figures) {
  if (!figures.shared) return std::nullopt;
  const bool is_up = figures.shared->is_healthy;
  const auto before = redis_up_;
  if (redis_up_ || is_up) redis_up_ = is_up;
  if (before.value_or(is_up) == is_up) return std::nullopt;
  if (is_up) return LiveEvent{.kind = "redis_back", .text = "Redis is back"};
  return LiveEvent{.kind = "redis_lost", .text = figures.shared->reason};
}

}  // namespace weir
