#include "engine/asks/round.h"

#include <algorithm>
#include <utility>

#include "algo/quota_share.h"
#include "algo/waiting_room.h"
#include "base/assert.h"
#include "base/if_memory.h"
#include "engine/tenants/tenant_table.h"
#include "rules/named_client.h"
#include "rules/time/calendar.h"

namespace weir {
namespace {

[[gnu::always_inline]] inline bool is_asked_alike(const Round::Item& item, const Rule* rule) {
  return item.mode == Mode::kLocal && !item.is_apart() &&
         (rule == nullptr || !(rule->is_proportional || rule->holds_max > 0));
}

[[gnu::always_inline]] inline bool is_watched(const Rule* rule) {
  return rule != nullptr && rule->notify_at.front() != 0;
}

// Not from a cluster: its servers fail over one by one. Nor in shadow, where requests pass the
// limit.
bool may_lend(const Round::Item& item, const Engine& engine) {
  return !item.is_shadow() && !engine.fleet()->is_spread();
}

// Blocks know the key by its name in this place; counters of all places know another name. Returns
// whether that name will change. Out of line, so that others do not pay for it.
[[gnu::noinline]] bool name_in_world(Round::Item& item, const Engine& engine) {
  const KeyHasher* const own = engine.world->hasher();
  const HashedName name =
      (own == nullptr ? engine.hasher() : *own)
          .hash_names({.rule = item.ask.rule->id, .bucket = item.ask.bucket, .key = item.ask.key});
  for (std::size_t i = 0; i < item.limits.size(); ++i) {
    item.hashes[i] = KeyHasher::combine_names(name, item.limits[i]);
  }
  return engine.world->awaits_hasher();
}

// Lists see the address itself, as they do of requests. Out of line, as above.
[[gnu::noinline]] void name_client(Round::Item& item) {
  Ask& ask = item.ask;
  PartScratch scratch;
  const auto [client, counted] = named_client(*ask.rule, ask.key, scratch);
  if (!client) return;
  ask.client = client;
  ask.key = item.key.assign(counted);
}

Mode mode_of(const Round::Item& item, const Engine& engine) {
  if (engine.fleet() == nullptr) return Mode::kLocal;
  const Rule* const rule = item.ask.rule;
  const bool rule_decides =
      rule != nullptr && (!item.ask.mode || rule->holds_max > 0 || rule->mode == Mode::kWorld ||
                          std::ranges::any_of(item.limits, &Quota::is_never_over));
  const Mode mode = engine.mode_for(rule_decides ? rule->mode : item.ask.mode);
  const bool lends = mode == Mode::kLeased && item.has_slots();
  return lends && !may_lend(item, engine) ? Mode::kStrict : mode;
}

}  // namespace

std::int64_t limit_percent(const Rule& rule, const Engine& engine) {
  return rule.surge_percent < 100 && engine.is_unusual(rule.number) ? rule.surge_percent : 100;
}

void Round::begin(Operation operation) {
  WEIR_ASSERT(operation != Operation::kDrain);  // kDrain comes with an ask
  operation_ = operation;
  size_ = 0;
  method_ = {};
  path_ = {};
  country_ = {};
  joint_limits_ = 0;
  modes_ = 0;
  is_plain_ = true;
  lets_pass_ = false;
  denial_status_ = {};
}

void Round::keep_texts() noexcept {
  const auto keep = [](std::string_view& text, auto& room) {
    text = {room.data(), text.substr(0, room.size()).copy(room.data(), room.size())};
  };
  keep(method_, kept_method_);
  keep(path_, kept_path_);
  keep(country_, kept_country_);
  for (const auto& item : items()) {
    std::string_view& key = item->ask.key;
    if (item->ask.rule != nullptr || key.data() == item->key.data()) continue;
    has_long_texts_ = has_long_texts_ || key.size() > kKeyKeptMax / 2;
    if (!has_memory_for([&] { key = item->key.assign(key); })) key = {};
  }
}

void Round::grow() {
  WEIR_ASSERT(size_ < kItemsMax);
  items_.push_back(std::make_unique<Item>());
}

bool Round::add(const Ask& asked) {
  if (size_ == kItemsMax) return false;
  Item& item = next_item();
  const Ask& ask = item.ask;
  if (&asked != &ask) item.ask = asked;
  const bool is_callers = ask.rule != nullptr && ask.key_origin == Ask::KeyOrigin::kCaller;
  if (is_callers && may_name_client(*ask.rule, ask.key)) name_client(item);
  item.decisions.clear();
  item.own = is_hit(operation_) ? ask.own_operation() : Operation::kSpendEach;
  take_limits(item);
  if (operation_ == Operation::kSpendAll && !item.is_shadow() && !item.is_apart()) {
    if (joint_limits_ + item.limits.size() > Batch::kChargesMax) return false;
    joint_limits_ += item.limits.size();
  }
  item.name = name_of(ask);
  for (std::size_t i = 0; i < item.limits.size(); ++i) {
    const bool is_followed = item.limits.data() == item.followed.data();
    if (item.limits[i].algorithm() >= Algorithm::kAdaptive && !is_followed) follow(item);
    item.hashes[i] = KeyHasher::combine_names(item.name, item.limits[i]);
  }
  if (ask.rule != nullptr) {
    const bool is_there = ask.key.data() == item.key.data();
    if (!is_there) item.ask.key = item.key.assign(ask.key);
    if (!item.ask.tier.empty()) item.ask.tier = item.tier.assign(item.ask.tier);
    has_long_texts_ = has_long_texts_ || ask.key.size() + ask.tier.size() > kKeyKeptMax / 2;
  }
  item.mode = mode_of(item, engine_);
  item.is_spread = item.mode != Mode::kLocal && engine_.fleet_for(item.mode).is_spread();
  modes_ |= 1u << static_cast<unsigned>(item.mode);
  const bool is_world = item.mode == Mode::kWorld;
  if (is_world ? name_in_world(item, engine_) : engine_.awaits_hasher()) {
    item.key.assign(ask.key);
    item.bucket.assign(ask.bucket);
    has_long_texts_ = true;  // perhaps
  }
  is_plain_ = is_plain_ && is_asked_alike(item, ask.rule) && !is_watched(ask.rule);
  ++size_;
  return true;
}

bool Round::has(const Ask& ask) const {
  return std::ranges::any_of(items(), [&](const auto& item) {
    const Ask& other = item->ask;
    return other.rule == ask.rule && other.key == ask.key &&
           (other.tier == ask.tier || (ask.rule != nullptr && ask.rule->has_tenants));
  });
}

HashedName Round::name_of(const Ask& ask) const {
  KeyName name{.rule = {}, .bucket = ask.bucket, .key = ask.key};
  if (ask.rule == nullptr) return engine_.hasher().hash_names(name);
  const KeyHash* const rule =
      hashes_ == nullptr ? nullptr : hashes_->find(*ask.rule, engine_.hasher());
  if (rule == nullptr) name.rule = ask.rule->id;
  HashedName hashed = engine_.hasher().hash_names(name);
  if (rule == nullptr) return hashed;
  hashed.rule = *rule;
  hashed.has_rule = true;
  return hashed;
}

void Round::take_limits(Item& item) const {
  const Ask& ask = item.ask;
  if (ask.rule == nullptr) {
    item.limits = std::span<const Quota>(&item.ask.quota, 1);
    return;
  }
  if (ask.rule->has_tenants && take_tenants_limit(item)) return;
  const bool has_choice = ask.choices != nullptr && !ask.choices->are_too_many();
  item.limits =
      has_choice ? least_limits(*ask.rule, *ask.choices) : ask.rule->limits_for(ask.key, ask.tier);
  const std::int64_t percent = limit_percent(*ask.rule, engine_);
  if (percent == 100 && ask.patience == Duration{0}) return;
  change_limits(item, percent);
}

// Takes the key's own limit, and returns true if it has one. A plan becomes the tier. A request
// that repeats its key gets the least of its possible limits.
[[gnu::noinline]] bool Round::take_tenants_limit(Item& item) const {
  Ask& ask = item.ask;
  const Rule& rule = *ask.rule;
  item.anchor = 0;
  if (engine_.tenants == nullptr) return false;
  const bool has_choice = ask.choices != nullptr && !ask.choices->are_too_many();
  const auto own_of = [&](std::string_view key) {
    const bool may_have = rule.overrides.empty() || !rule.overrides.contains(key);
    return may_have ? engine_.tenants->find(key) : std::nullopt;
  };
  std::optional<Quota> own;
  if (!has_choice) {
    const auto terms = own_of(ask.key);
    if (!terms) return false;
    item.anchor = terms->anchor;
    if (!terms->plan.empty()) ask.tier = terms->plan;
    if (terms->plan.empty()) own = tenant_quota(rule.quota, *terms);
  } else {
    auto choices = std::make_shared<KeyChoices>(*ask.choices);
    for (const std::string& key : choices->keys) {
      const auto terms = own_of(key);
      if (!terms) continue;
      if (!terms->plan.empty()) choices->tiers.emplace_back(terms->plan);
      const Quota limit = tenant_quota(rule.quota, *terms);
      if (terms->plan.empty() && (!own || admits_less({&limit, 1}, {&*own, 1}))) own = limit;
    }
    ask.choices = std::move(choices);
    if (own && !admits_less({&*own, 1}, least_limits(rule, *ask.choices))) own.reset();
  }
  if (!own) return false;
  item.limits = {&*own, 1};
  change_limits(item, limit_percent(rule, engine_));
  return true;
}

void Round::change_limits(Item& item, std::int64_t percent) const {
  const Ask& ask = item.ask;
  item.changed.clear();
  for (const Quota& quota : item.limits) {
    const Quota part = percent == 100 ? quota : percent_of(quota, percent);
    item.changed.push_back(ask.patience == Duration{0} ? part : *with_room(part, ask.patience));
  }
  item.limits = item.changed;
}

// Makes the limits follow the active algorithm, and prepares those by a calendar. They are the
// rule's, so it changes a copy.
[[gnu::noinline, gnu::cold]] void Round::follow(Item& item) {
  const RuleNumber rule = item.ask.rule == nullptr ? kNoRuleNumber : item.ask.rule->number;
  const ActiveAlgorithm active = engine_.active_for(rule);
  const bool has_tenant = item.ask.rule != nullptr && item.ask.rule->has_tenants;
  const Quota* limit = item.limits.data();
  for (Quota& followed : std::span(item.followed.data(), item.limits.size())) {
    followed = *limit++;
    followed.follow(active);
    if (has_tenant) take_anchor(followed, item.anchor);
    is_plain_ = is_plain_ && !followed.is_by_calendar();
  }
  item.limits = {item.followed.data(), item.limits.size()};
}

// By the wall clock, because Redis has one. This node's memory has another timeline.
bool Round::learn_window_ends(Engine& engine, Instant now) {
  const Instant wall = engine.wall_time(now);
  for (const auto& item : items()) {
    for (Quota& quota : std::span(item->followed.data(), item->limits.size())) {
      if (item->limits.data() != item->followed.data() || !quota.is_by_calendar()) continue;
      const auto& ends = engine.calendars().window_ends(item->ask.rule->calendar, quota, wall);
      quota.set_window_ends(item->mode == Mode::kLocal ? moved(ends, now - wall) : ends);
    }
  }
  const auto of_all = [this](auto holds) {
    return std::ranges::all_of(items(), [&](const auto& item) { return holds(*item); });
  };
  const bool are_alike =
      of_all([](const Item& item) { return is_asked_alike(item, item.ask.rule); });
  is_plain_ = are_alike && of_all([](const Item& item) { return !is_watched(item.ask.rule); });
  return are_alike;
}

bool Round::may_hold() const {
  return !is_plain_ && engine_.holds != nullptr &&
         std::ranges::any_of(items(), [](const auto& item) {
           return item->ask.rule != nullptr && item->ask.rule->holds_max > 0;
         });
}

bool Round::is_denied() const {
  return std::ranges::any_of(
      items(), [](const auto& item) { return !item->is_shadow() && !item->answer.allowed(); });
}

void Round::forget_long_keys() noexcept {
  if (!std::exchange(has_long_texts_, false)) return;
  for (const auto& item : items()) {
    for (std::string* const text : {&item->key, &item->tier, &item->bucket}) {
      if (text->capacity() > kKeyKeptMax) std::string().swap(*text);
    }
  }
}

}  // namespace weir
