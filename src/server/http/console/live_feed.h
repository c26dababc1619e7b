// LiveFeed: news of this node and its fleet for consoles, once a second.
//
//   first core ──tick()──> the second that has ended ──message()──> one text, made once for all
//                     └──> TrafficHistory ──history()──> charts and lists of up to a day
//
// The feed makes a message only if a console wants it; the first that does makes it. It has no
// keys, so all consoles get the same.
//
// Thread rule: tick() by one thread; the rest from any.
// Tested by live_feed_test.cc and http_live_test.cc.

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/block_list.h"
#include "observe/latency_counts.h"
#include "observe/traffic_history.h"
#include "observe/unusual/traffic_events.h"
#include "rulebook/rule_desk.h"
#include "rules/request/client_address.h"
#include "rules/rule_set.h"
#include "server/http/console/fleet_roster.h"
#include "server/http/node_view.h"
#include "weir/time.h"

namespace weir {

// An event that people should see when it happens.
struct LiveEvent {
  std::uint64_t id = 0;  // from 1, without gaps
  double at = 0;         // seconds since 1970
  std::string_view kind{};
  std::string rule{};  // empty: of no rule
  std::string text{};
};

// One message, as the WebSocket frame that sends it.
class LiveMessage {
 public:
  explicit LiveMessage(std::string_view json);
  std::string_view frame() const { return frame_; }
  std::string_view json() const { return std::string_view(frame_).substr(head_size_); }

 private:
  const std::string frame_;
  const std::size_t head_size_;
};
using LiveMessagePtr = std::shared_ptr<const LiveMessage>;

// The input of a message.
struct LivePicture {
  Instant now{};           // of the node's clock
  Duration wall_lead{0};   // of the wall clock
  bool is_public = false;  // anybody may read it
  double at = 0;           // `now` by the wall clock, in seconds since 1970
  RuleSetPtr rules{};
  std::uint64_t rules_version = 0;
  RuleNumber ruleless = kNoRuleNumber;  // the number of checks without a rule
  std::shared_ptr<const TrafficSnapshot> traffic{};
  std::shared_ptr<const NodeFigures> figures{};
  LatencyFigures latency{};  // of the last ten seconds
  std::vector<FleetRoster::Absent> absent{};
  std::map<std::string, std::string> apart{};  // nodes that changes by hand do not reach, and why

  // To the millisecond: the same instant stays the same a second later.
  double wall(Instant then) const {
    const auto there = std::chrono::round<std::chrono::milliseconds>(then + wall_lead);
    return std::chrono::duration<double>(there.time_since_epoch()).count();
  }
  // When a second of the traffic ended, by the wall clock.
  double wall_end(std::int64_t second) const {
    return wall(Instant(std::chrono::seconds(second + 1)) - traffic->lead);
  }
};

class LiveFeed {
 public:
  static constexpr int kConsolesMax = 1'000;  // that listen at once
  static constexpr int kStrangersMax = 50;    // of these, without a session, from one network
  static constexpr std::size_t kEventsMax = 50;
  static constexpr std::size_t kRulesMax = 100;  // in a message, the busiest

  // Whether events name the people who changed rules, and whom they have blocked.
  enum class People : std::uint8_t { kNamed, kHidden };

  // All of it outlives the feed.
  LiveFeed(const NodeView& view, const TrafficEvents& surges, const RuleDesk& desk,
           BlockList& blocks, People people = People::kNamed)
      : view_(view), surges_(surges), desk_(desk), blocks_(blocks), people_(people) {}

  // A second has ended.
  struct Second {
    std::shared_ptr<const TrafficSnapshot> traffic;
    RuleSetPtr rules;
    Duration wall_lead{0};  // how far the wall clock is ahead of ours
  };
  void tick(Second second, Instant now);

  // As of the last tick.
  LiveMessagePtr message();
  // The last so many seconds, with the rules that denied most; and the same of one rule.
  std::string history(std::chrono::seconds span);
  std::string history(std::chrono::seconds span, RuleNumber rule) const;

  // Adds an event of that kind; the text is a sentence without its stop.
  void tell(std::string_view kind, std::string rule, std::string text);

  // A console listens for as long as it keeps this.
  using Seat = std::shared_ptr<LiveFeed>;
  // Null if all seats are taken; for a stranger, if all of its network are.
  Seat take_seat(const std::optional<Caller>& stranger = {});
  int consoles() const {
    const std::scoped_lock lock(seats_mutex_);
    return consoles_;
  }

  // Counts a console that was dropped: it took no messages, or only made work.
  void count_dropped() { dropped_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  void leave(const std::optional<Caller>& stranger) noexcept;
  void note_latency(const TrafficSecond& second);
  LatencyFigures recent_latency() const;
  void note_events(LivePicture& picture);
  void note_blocks(const LivePicture& picture, std::vector<LiveEvent>& news);
  void note_rules(const LivePicture& picture, std::vector<LiveEvent>& news);
  LiveEvent event_of(const RuleVersion& version) const;
  std::optional<LiveEvent> news_of_redis(const NodeFigures& figures);
  void note_apart(LivePicture& picture, const std::vector<NodeAbout>& abouts,
                  std::vector<LiveEvent>& news);
  void add(LiveEvent event);

  const NodeView& view_;
  const TrafficEvents& surges_;
  const RuleDesk& desk_;
  BlockList& blocks_;
  const People people_;
  std::atomic<std::uint64_t> dropped_{0};  // relaxed: it orders nothing else

  mutable std::mutex seats_mutex_;  // guards these two
  int consoles_ = 0;
  std::map<Caller, int> strangers_;  // by network: seats of consoles without a session

  // Only the ticking thread uses these.
  std::unordered_map<RuleNumber, LatencyFigures> latency_before_;  // of rules that were timed
  std::deque<LatencyFigures> latency_;                             // by second, ten of them
  std::uint64_t last_surge_ = 0;
  std::uint64_t rules_version_ = 0;
  bool is_reload_fine_ = true;
  Instant same_reload_{};
  std::optional<bool> redis_up_;  // since Redis was first up
  std::uint64_t redis_losses_ = 0;
  FleetRoster roster_;
  std::map<std::string, int> apart_;  // seconds for which changes by hand have not reached a node

  mutable std::mutex mutex_;  // guards the fields below
  LivePicture picture_;
  LiveMessagePtr message_;  // of the picture, once a console wanted it
  TrafficHistory history_;
  std::map<std::chrono::seconds, std::string> told_;  // histories made since the last second
  std::deque<LiveEvent> events_;
  std::uint64_t last_event_ = 0;
};

}  // namespace weir
