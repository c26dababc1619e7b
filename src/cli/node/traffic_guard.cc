#include "cli/node/traffic_guard.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "base/if_memory.h"
#include "config/yaml/yaml_text.h"
#include "observe/denials.h"
#include "proto/json_writer.h"
#include "rules/time/calendar.h"
#include "server/http/admin/shared_json.h"
#include "server/http/query.h"

namespace weir {
namespace {

constexpr Duration kLookEvery = std::chrono::milliseconds(250);

// Clients choose keys, so their control characters must not reach the log.
std::string key_text(const KeyEstimate& key) {
  const std::string shown = printable(key.text);
  return shown.empty() ? hash_text(key.hash) : JsonWriter().string(shown).text();
}

std::string keys_text(const TrafficEvent& event) {
  std::string text;
  for (const KeyEstimate& key : event.keys) {
    text += text.empty() ? "; busiest keys: " : ", ";
    text += fmt::format("{} ({})", key_text(key), key.low);
  }
  return text;
}

TrafficEvent event_of(const LimitNotice& notice) {
  const auto used = static_cast<std::uint64_t>(notice.used);
  const KeyEstimate key{
      .hash = notice.key_hash, .low = used, .high = used, .text = as_utf8(notice.key)};
  const std::string how_much =
      fmt::format("{} of {} per {} are used", notice.used, notice.limit, window_text(notice.quota));
  // The cost does not fit into the rest.
  const bool is_early = 100 * notice.used < notice.percent * notice.limit;
  const std::string text =
      is_early ? fmt::format("key {} was denied: {}", key_text(key), how_much)
               : fmt::format("key {} has reached {}%: {}", key_text(key), notice.percent, how_much);
  return {.kind = TrafficEvent::Kind::kLimit,
          .rule = notice.rule,
          .at = CoreDenials::second_of(notice.at),
          .text = text,
          .keys = {key},
          .percent = notice.percent,
          .limit = notice.limit,
          .quota = notice.quota};
}

void log_event(const TrafficEvent& event) {
  if (event.kind == TrafficEvent::Kind::kBegan) {
    spdlog::warn(
        "unusual traffic of rule {} since {}: {:.1f} requests/s; usual are {:.1f} to {:.1f}{}",
        event.rule, utc_text(event.since), event.rate, event.band.low, event.band.high,
        keys_text(event));
  } else {
    spdlog::info(
        "the traffic of rule {} is as usual again; it was unusual for {} s, with up to "
        "{:.1f} requests/s",
        event.rule, event.at - event.since, event.rate);
  }
}

}  // namespace

TrafficGuard::TrafficGuard(const Options& options, const RecentTraffic& traffic, IdOf id_of,
                           KeysOf keys_of)
    : node_(options.node),
      host_(options.host),
      traffic_(traffic),
      id_of_(std::move(id_of)),
      keys_of_(std::move(keys_of)),
      watch_(options.watch) {
  if (!options.webhook) return;
  webhook_origin_ = options.webhook->url.origin();
  webhook_ = std::make_unique<Webhook>(
      *options.webhook, [this](const Webhook::Outcome& outcome) { log_delivery(outcome); });
}

void TrafficGuard::start(NoticesSince notices) {
  thread_ = std::jthread(
      [this, notices = std::move(notices)](const std::stop_token& stop) { watch(notices, stop); });
}

void TrafficGuard::stop() {
  thread_ = {};  // waits for the thread's end
  if (webhook_ != nullptr) webhook_->stop();
}

Webhook::Figures TrafficGuard::webhook_figures() const {
  return webhook_ == nullptr ? Webhook::Figures{} : webhook_->figures();
}

void TrafficGuard::watch(const NoticesSince& notices, const std::stop_token& stop) {
  std::shared_ptr<const TrafficSnapshot> seen;
  while (pause(stop, kLookEvery)) {
    if (notices) has_memory_for([&] { tell(notices()); });
    auto snapshot = traffic_.snapshot();
    if (snapshot == seen) continue;
    seen = std::move(snapshot);
    // Checks go on without memory; the list may lack these seconds' events.
    has_memory_for([&] { look(*seen); });
  }
}

void TrafficGuard::look(const TrafficSnapshot& snapshot) {
  for (const TrafficWatch::Found& found : watch_.look(snapshot)) take(found, snapshot);
  // Events whose end found no memory.
  std::erase_if(open_, [this](const auto& one) {
    if (watch_.is_unusual(one.first)) return false;
    unusual_rules_.end(one.first);
    return true;
  });
}

// Ignores an event of a rule that is not in force any more.
void TrafficGuard::take(const TrafficWatch::Found& found, const TrafficSnapshot& snapshot) {
  using Event = TrafficEvent;
  const bool began = found.change == UnusualTraffic::Change::kBegan;
  if (!began) unusual_rules_.end(found.rule);
  auto& id = open_[found.rule];
  if (began) {
    unusual_rules_.begin(found.rule);
    id = id_of_(found.rule);
  }
  if (!id.empty()) {
    const auto lead = std::chrono::round<std::chrono::seconds>(snapshot.lead).count();
    const auto event = events_.add({.kind = began ? Event::Kind::kBegan : Event::Kind::kEnded,
                                    .rule = id,
                                    .at = found.second - lead,  // by this node's clock
                                    .since = found.traffic.since() - lead,
                                    .rate = began ? found.traffic.level() : found.traffic.peak(),
                                    .band = found.traffic.band(),
                                    .keys = keys_of_(found.rule, id).ranked(Event::kKeysMax)});
    log_event(*event);
    if (posts(snapshot)) post(*event);
  }
  if (!began) open_.erase(found.rule);
}

void TrafficGuard::tell(TrafficEvent event) {
  const bool is_own = event.kind == TrafficEvent::Kind::kTenants;
  const auto told = events_.add(std::move(event));
  if (is_own ? webhook_ != nullptr : posts(*traffic_.snapshot())) post(*told);
}

void TrafficGuard::tell(const LimitNotices::Told& told) {
  std::vector<TrafficEvent> events;
  for (const LimitNotice& notice : told.notices) events.push_back(event_of(notice));
  if (told.left_out > 0) {
    events.push_back({.kind = TrafficEvent::Kind::kLimit,
                      .at = CoreDenials::second_of(told.at),
                      .text = fmt::format("{} more like these are left out", told.left_out)});
  }
  for (TrafficEvent& event : events) {
    const std::string rule = event.rule.empty() ? "" : fmt::format(" of rule {}", event.rule);
    spdlog::info("limits{}: {}", rule, event.text);
    const auto added = events_.add(std::move(event));
    if (webhook_ != nullptr) post(*added);
  }
}

// The living node whose name comes first posts for all.
bool TrafficGuard::posts(const TrafficSnapshot& snapshot) const {
  if (webhook_ == nullptr) return false;
  if (snapshot.large) return snapshot.large->first == node_;
  return snapshot.nodes.empty() || snapshot.nodes.front().name == node_;
}

void TrafficGuard::post(const TrafficEvent& event) const {
  JsonWriter json;
  json.begin_object().field("host", host_);
  write_event(json, event);
  json.end_object();
  webhook_->post(json.text());
}

// One line when deliveries begin to fail, and one when they work again.
void TrafficGuard::log_delivery(const Webhook::Outcome& outcome) {
  const bool fails = !outcome.fault.empty();
  if (std::exchange(webhook_fails_, fails) == fails) return;
  if (fails) {
    spdlog::warn("the webhook {} does not take an event: {}; from now on failures are only counted",
                 webhook_origin_, outcome.fault);
  } else {
    spdlog::info("the webhook {} takes events again", webhook_origin_);
  }
}

}  // namespace weir
