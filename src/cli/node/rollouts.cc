#include "cli/node/rollouts.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <boost/json/value.hpp>
#include <utility>

#include "base/if_memory.h"
#include "config/yaml/yaml_document.h"
#include "config/yaml/yaml_text.h"
#include "server/http/admin/shared_json.h"

namespace weir {
namespace {

using Event = RolloutLook::Event;

constexpr std::size_t kKeysNamed = 5;
constexpr std::int64_t kSketched = 120;  // seconds at most that a sketch began before a step

std::string text_of(const Rollout& rollout) {
  const std::string where = fmt::format("denies {}% of the keys", rollout.percent);
  return rollout.stopped.empty() ? where : where + " again, and has stopped: " + rollout.stopped;
}

}  // namespace

void Rollouts::look(Others others, Instant now) {
  has_memory_for([&] {
    auto view = world_.desk.view();
    if (view != view_) follow(*view, now);
    view_ = std::move(view);
    for (auto& [id, one] : watched_) look_at(id, one, others, now);
  });
}

// A rollout that goes on unchanged is watched on. Its events have the time of the version.
void Rollouts::follow(const RulesView& view, Instant now) {
  const RuleHistory history = world_.desk.history();
  const Instant changed = history.empty() ? now : history.back()->when;
  auto before = std::exchange(watched_, {});
  for (const RuleView& rule : view.rules) {
    if (!rule.rollout) continue;
    auto known = before.extract(rule.id);
    if (known && known.mapped().rollout == *rule.rollout) {
      watched_.insert(std::move(known));
      continue;
    }
    watched_.emplace(rule.id, Watched{*rule.rollout, {.looked = now}, now});
    // A rollout that stopped before this node looked, or before it read its file again, is no news.
    if (known || rule.rollout->stopped.empty()) tell(rule.id, text_of(*rule.rollout), changed);
  }
  for (const auto& [id, one] : before) tell(id, "has ended", changed);
}

void Rollouts::look_at(const std::string& id, Watched& one, Others others, Instant now) {
  RuleCounts& counts = world_.traffic.rules();
  counts.add_keys(counts.number_of(id), one.seen, now);
  const RolloutKeys keys{.seen = KeySketch::estimate(one.seen.all),
                         .denied = KeySketch::estimate(one.seen.denied)};
  const RolloutLook found = weir::look(one.rollout, one.watch, keys, now);
  one.watch = found.watch;
  if (found.event == Event::kNone) return;
  if (found.event == Event::kStep && others == Others::kAway) return;
  std::string why = fmt::format("it denied {}{} of about {} keys", keys.denied > 0 ? "about " : "",
                                keys.denied, keys.seen);
  boost::json::object fields{{"shadow", nullptr}, {"enforce", fmt::format("{}%", found.to)}};
  if (found.event == Event::kStop) {
    why += fmt::format(", more than {}%, in this step and up to two minutes before",
                       one.rollout.denied_max);
    fields["rollout"] = {{"stopped", why + keys_denied(id, one.since, now)}};
  } else if (found.to == one.rollout.steps.back()) {
    fields["rollout"] = nullptr;
  }
  const auto done = [id](const RuleReply& reply) {
    if (!is_refusal(reply.outcome) || reply.outcome == ChangeOutcome::kOutdated) return;
    spdlog::warn("the rollout of rule {} cannot go on: {}", id, reply.detail);
  };
  world_.desk.change({.kind = RuleChange::Kind::kPatch,
                      .id = id,
                      .text = to_json(fields),
                      .if_version = view_->version,
                      .author = {.who = "the rollout", .why = std::move(why)}},
                     done, now);
}

// The keys that the rule denied most often, for a log and a terminal. Clients choose keys, so this
// removes control characters.
std::string Rollouts::keys_denied(const std::string& id, Instant since, Instant now) const {
  const RuleNumber rule = world_.traffic.rules().number_of(id);
  std::map<std::uint64_t, KeyEstimate> keys;
  world_.traffic.each_denial(
      CoreDenials::second_of(since) - kSketched, CoreDenials::second_of(now),
      [&](const DenialRecord& denial) {
        if (denial.rule != rule || denial.is_shadow) return;
        auto& key = keys[denial.key_hash];
        key = {.hash = denial.key_hash, .low = key.low + denial.times, .text = denial.key};
      });
  KeyReport report;
  for (auto& [hash, key] : keys) report.keys.push_back(std::move(key));
  std::string text;
  for (const KeyEstimate& key : report.ranked(kKeysNamed)) {
    const std::string shown = printable(key.text);
    text += (text.empty() ? ": " : ", ") + (shown.empty() ? hash_text(key.hash) : shown);
  }
  return text;
}

void Rollouts::tell(const std::string& id, std::string text, Instant then) const {
  spdlog::info("the rollout of rule {} {}", id, text);
  world_.tell({.kind = TrafficEvent::Kind::kRollout,
               .rule = id,
               .at = CoreDenials::second_of(then),
               .text = std::move(text)});
}

}  // namespace weir
