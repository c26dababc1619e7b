#include "rules/key_choices.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "base/length_prefix.h"

namespace weir {
namespace {

using Texts = std::vector<std::string>;

// The values, each once: kChoicesMax of them and one, if there are more.
Texts values_of(const KeyPart& part, const Request& request) {
  std::set<std::string, std::less<>> values;
  PartScratch scratch{};
  for_each_value(part, request, scratch, [&](std::string_view value) {
    if (values.size() <= KeyChoices::kChoicesMax && !values.contains(value)) values.emplace(value);
  });
  if (values.empty()) return {std::string()};
  return {values.begin(), values.end()};
}

// Each key with each value behind it. Empty if they are too many.
Texts continued(const Texts& keys, const Texts& values, std::span<const KeyPart> parts) {
  if (keys.size() * values.size() > KeyChoices::kChoicesMax) return {};
  Texts longer;
  std::size_t bytes = 0;
  for (const std::string& key : keys) {
    for (const std::string& value : values) {
      append_part(parts, value, longer.emplace_back(key));
      bytes += longer.back().size();
      if (bytes > KeyChoices::kBytesMax) return {};
    }
  }
  return longer;
}

// All keys that these parts may make.
Texts choices_of(std::span<const KeyPart> parts, const Request& request) {
  Texts keys = {std::string()};
  for (const KeyPart& part : parts) keys = continued(keys, values_of(part, request), parts);
  return keys;
}

// What a list of limits admits in the long run, and at once.
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

void append_part(std::span<const KeyPart> parts, std::string_view text, std::string& key) {
  if (parts.size() == 1) {
    key += text;
  } else {
    append_with_length(key, text);
  }
}

std::shared_ptr<const KeyChoices> key_choices(const Rule& rule, const Request& request) {
  auto choices = std::make_shared<KeyChoices>();
  choices->keys = choices_of(rule.key_parts, request);
  choices->tiers = rule.tier ? choices_of({&*rule.tier, 1}, request) : Texts{std::string()};
  if (choices->keys.size() > 1) {
    std::string counted;
    make_key(rule, request, counted);
    choices->keys.push_back(std::move(counted));
  }
  if (choices->tiers.size() > 1) choices->tiers.emplace_back();
  return choices;
}

std::span<const Quota> least_limits(const Rule& rule, const KeyChoices& choices) {
  std::span<const Quota> least;
  const auto take = [&](std::span<const Quota> limits) {
    if (least.empty() || least_of(limits) < least_of(least)) least = limits;
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
