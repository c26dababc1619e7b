#include "server/http/console/live_feed.h"

#include <algorithm>

#include "proto/websocket/frames.h"
#include "server/http/console/live_json.h"

namespace weir {
namespace {

constexpr std::size_t kEventTextMax = 300;  // of an event
constexpr std::size_t kLatencySeconds = 10;
constexpr std::size_t kTimedRulesMax = 4'096;  // 160 bytes each

void add_to(LatencyFigures& sum, const LatencyFigures& more) {
  for (std::size_t i = 0; i < sum.counts.size(); ++i) sum.counts[i] += more.counts[i];
}

LatencyFigures difference(const LatencyFigures& now, const LatencyFigures& before) {
  LatencyFigures grown;
  for (std::size_t i = 0; i < grown.counts.size(); ++i) {
    grown.counts[i] = now.counts[i] - before.counts[i];
  }
  return grown;
}

std::string tenths(double value) {
  const auto rounded = static_cast<std::int64_t>(value * 10 + 0.5);
  return std::to_string(rounded / 10) + "." + std::to_string(rounded % 10);
}

LiveEvent event_of(const TrafficEvent& event) {
  const bool began = event.kind == TrafficEvent::Kind::kBegan;
  const std::string rate = tenths(event.rate) + " requests/s";
  return {.at = static_cast<double>(event.at),
          .kind = began ? "surge" : "surge_end",
          .rule = event.rule,
          .text = began ? rate + "; usual are " + tenths(event.band.low) + " to " +
                              tenths(event.band.high)
                        : "as usual again, after up to " + rate};
}

std::string lines(const std::vector<std::string>& changes) {
  std::string text;
  for (const std::string& line : changes) text += (text.empty() ? "" : "; ") + line;
  return text;
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
  note_latency(picture.traffic->own.window.second(0));
  picture.latency = recent_latency();
  note_events(picture);
  picture.rules_version = rules_version_;
  std::string point = history_json(picture);
  const std::scoped_lock lock(mutex_);
  picture_ = std::move(picture);
  message_.reset();
  history_.push_back(std::move(point));
  if (history_.size() > kHistoryMax) history_.pop_front();
}

LiveMessagePtr LiveFeed::message() {
  const std::scoped_lock lock(mutex_);
  if (message_ == nullptr && picture_.traffic != nullptr) {
    message_ = std::make_shared<const LiveMessage>(live_json(view_, picture_, events_));
  }
  if (message_ == nullptr) return std::make_shared<const LiveMessage>(R"({"t":0})");
  return message_;
}

std::string LiveFeed::history(std::size_t seconds) const {
  std::string json = R"({"seconds":[)";
  const std::scoped_lock lock(mutex_);
  const std::size_t shown = std::min(seconds, history_.size());
  for (std::size_t i = history_.size() - shown; i < history_.size(); ++i) {
    json += history_[i];
    if (i + 1 < history_.size()) json += ',';
  }
  return json + "]}";
}

LiveFeed::Place LiveFeed::take_place(const std::optional<Caller>& stranger) {
  const std::scoped_lock lock(places_mutex_);
  if (consoles_ == kConsolesMax) return nullptr;
  if (stranger) {
    int& taken = strangers_[stranger->network()];
    if (taken == kStrangersMax) return nullptr;
    ++taken;
  }
  ++consoles_;
  return Place(this, [stranger](LiveFeed* feed) { feed->leave(stranger); });
}

void LiveFeed::leave(const std::optional<Caller>& stranger) noexcept {
  const std::scoped_lock lock(places_mutex_);
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

// With the lock held.
void LiveFeed::add(LiveEvent event) {
  if (event.text.size() > kEventTextMax)
    event.text.replace(kEventTextMax, std::string::npos, "...");
  event.id = ++last_event_;
  events_.push_back(std::move(event));
  if (events_.size() > kEventsMax) events_.pop_front();
}

// A rule that is timed for the first time counts if all its answers are of this second.
void LiveFeed::note_latency(const TrafficSecond& second) {
  LatencyFigures sum;
  for (const RuleTraffic& rule : second.rules) {
    const LatencyFigures now = view_.traffic.rules().latency(rule.rule);
    const auto known = latency_before_.find(rule.rule);
    if (known != latency_before_.end()) {
      add_to(sum, difference(now, known->second));
      known->second = now;
    } else if (latency_before_.size() < kTimedRulesMax) {
      if (now.total() <= rule.counts.requests) add_to(sum, now);
      latency_before_.emplace(rule.rule, now);
    }
  }
  latency_.push_back(sum);
  if (latency_.size() > kLatencySeconds) latency_.pop_front();
}

LatencyFigures LiveFeed::recent_latency() const {
  LatencyFigures sum;
  for (const LatencyFigures& second : latency_) add_to(sum, second);
  return sum;
}

// What has happened since the last second, as far as nobody tells it.
void LiveFeed::note_events(const LivePicture& picture) {
  std::deque<LiveEvent> news;
  const auto surges = surges_.since(last_surge_);
  for (const auto& surge : surges.events) news.push_back(event_of(*surge));
  last_surge_ = surges.last;
  const std::uint64_t version = desk_.view()->version;
  if (rules_version_ != 0 && version != rules_version_) {
    const RuleHistory history = desk_.history();
    const bool has_changes = !history.empty() && history.back()->version == version;
    if (has_changes) {
      news.push_back({.at = picture.at, .kind = "rules", .text = lines(history.back()->changes)});
    }
  }
  rules_version_ = version;
  if (const auto& shared = picture.figures->shared) {
    const bool is_up = shared->is_healthy;
    if (redis_up_.value_or(is_up) != is_up) {
      news.push_back(
          {.at = picture.at, .kind = "degraded", .text = is_up ? "Redis is back" : shared->reason});
    }
    if (redis_up_ || is_up) redis_up_ = is_up;
  }
  const std::scoped_lock lock(mutex_);
  for (LiveEvent& event : news) add(std::move(event));
}

}  // namespace weir
