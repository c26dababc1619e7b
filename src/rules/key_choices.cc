#include "rules/key_choices.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "rules/rule_key.h"

namespace weir {
namespace {

using Texts = std::vector<std::string>;

// The values, each once: at most kChoicesMax + 1, which is too many.
Texts values_of(const KeyPart& part, const Request& request) {
  std::set<std::string, std::less<>> values;
  PartScratch scratch{};
  for_each_value(part, request, scratch, [&](std::string_view value) {
    if (values.size() <= KeyChoices::kChoicesMax && !values.contains(value)) values.emplace(value);
  });
  if (values.empty()) return {std::string()};
  return {values.begin(), values.end()};
}

// Collects texts until there are too many.
class Bounded {
 public:
  // Adds a text, which `write` writes.
  template <typename Write>
  void add(Write write) {
    if (is_full()) return;
    write(texts_.emplace_back());
    bytes_ += texts_.back().size();
  }
  bool is_full() const {
    return texts_.size() > KeyChoices::kChoicesMax || bytes_ > KeyChoices::kBytesMax;
  }
  // The texts; empty if there are too many.
  Texts take() { return is_full() ? Texts() : std::move(texts_); }

 private:
  Texts texts_;
  std::size_t bytes_ = 0;
};

// Extends each key by each value of the part.
Texts continued(const Texts& keys, const Rule& rule, const KeyPart& part, const Request& request) {
  Bounded longer;
  const Texts values = values_of(part, request);
  for (const std::string& key : keys) {
    for (const std::string& value : values) {
      longer.add(
          [&](std::string& text) { append_value(rule, part, value, request, text.assign(key)); });
    }
  }
  return longer.take();
}

// All keys that the parts may give together.
Texts joined_keys(const Rule& rule, const Request& request) {
  Texts keys = {std::string()};
  for (const KeyPart& part : rule.key_parts) keys = continued(keys, rule, part, request);
  return keys;
}

// The keys of all parts up to the first part with exactly one value.
Texts first_keys(const Rule& rule, const Request& request) {
  Bounded keys;
  for (const KeyPart& part : rule.key_parts) {
    const Texts values = values_of(part, request);
    for (const std::string& value : values) {
      keys.add([&](std::string& text) { append_value(rule, part, value, request, text); });
    }
    if (values.size() == 1 && !values.front().empty()) break;
  }
  return keys.take();
}

Texts tiers_of(const Rule& rule, const Request& request) {
  if (request.named_tier) return {std::string(*request.named_tier)};
  if (!rule.tier) return {std::string()};
  Bounded tiers;
  for (const std::string& value : values_of(*rule.tier, request)) {
    tiers.add([&](std::string& text) { text = value; });
  }
  return tiers.take();
}

// The least that a list of limits admits, in the long run and at once.
std::pair<double, std::int64_t> least_of(std::span<const Quota> limits) {
  std::pair least = {std::numeric_limits<double>::max(), kLimitMax};
  for (const Quota& quota : limits) {
    const double rate =
        static_cast<double>(quota.limit()) / static_cast<double>(quota.window().count());
    least = {std::min(least.first, rate), std::min(least.second, quota.capacity())};
  }
  return least;
}

}  // namespace

bool admits_less(std::span<const Quota> one, std::span<const Quota> other) {
  return least_of(one) < least_of(other);
}

std::shared_ptr<const KeyChoices> key_choices(const Rule& rule, const Request& request) {
  auto choices = std::make_shared<KeyChoices>();
  std::string counted;
  make_key(rule, request, counted);
  const bool is_joined = rule.key_form == Rule::KeyForm::kAll;
  if (request.named_key) {
    choices->keys = {counted};
  } else {
    choices->keys = is_joined ? joined_keys(rule, request) : first_keys(rule, request);
  }
  choices->tiers = tiers_of(rule, request);
  if (choices->are_too_many()) return choices;
  if (std::ranges::find(choices->keys, counted) == choices->keys.end()) {
    choices->keys.push_back(std::move(counted));
  }
  if (choices->tiers.size() > 1) choices->tiers.emplace_back();
  return choices;
}

std::span<const Quota> least_limits(const Rule& rule, const KeyChoices& choices) {
  std::span<const Quota> least;
  const auto take = [&](std::span<const Quota> limits) {
    if (least.empty() || admits_less(limits, least)) least = limits;
  };
  bool has_own = false;
  for (const std::string& key : choices.keys) {
    const auto found = rule.overrides.find(key);
    if (found != rule.overrides.end()) take(found->second);
    has_own = has_own || found == rule.overrides.end();
  }
  for (const std::string& tier : choices.tiers) {
    if (has_own) take(rule.limits_for_tier(tier));
  }
  return least;
}

}  // namespace weir
