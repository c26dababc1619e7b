#include "store/redis/fleet/switches_field.h"

#include <algorithm>
#include <cstdint>

#include "base/ascii.h"
#include "base/decimal.h"
#include "base/packed.h"

namespace weir {
namespace {

constexpr char kVersion = '1';

std::string bytes_of(std::int64_t since_us, const RecentRequests& why) {
  PackedWriter out;
  out.version(kVersion).number(static_cast<std::uint64_t>(since_us));
  return out.number(why.all).number(why.latest).number(why.denied).take();
}

// Times are by Redis's clock; nullopt for a broken entry. A switch that began later than now counts
// as beginning now: another clock has written it.
std::optional<RuleSwitch> switch_in(std::string_view entry, Instant redis_now) {
  const auto now_us = static_cast<std::uint64_t>(epoch_us(redis_now));
  const auto stamp = read_decimal<std::uint64_t>(take_until(entry, ' '));
  const auto number = read_decimal<std::uint32_t>(take_until(entry, ' '));
  PackedReader in(entry);
  in.require(stamp && number > 0U && *number <= now_us / 1'000'000);
  in.version(kVersion);
  const std::uint64_t since = in.number(INT64_MAX);
  RuleSwitch there;
  there.why.all = in.number(INT64_MAX);
  there.why.latest = in.number(INT64_MAX);
  there.why.denied = in.number(INT64_MAX);
  if (!in.is_whole()) return std::nullopt;
  there.active = {algorithm_of_switch(*number), *number};
  const std::uint64_t began = std::min(since == 0 ? *stamp : since, now_us);
  there.since = instant_from_epoch_us(static_cast<std::int64_t>(began));
  return there;
}

}  // namespace

// Until Redis's clock is known, a switch begins with its stamp.
void SwitchesField::say(std::vector<std::string>& words, Instant) {
  words.push_back(epoch_);
  words.push_back(stamp_);
  const auto unsaid = switches_.unsaid(kSwitchesMax);
  for (const RuleSwitches::Said& said : unsaid) {
    words.push_back(std::to_string(said.rule));
    words.push_back(std::to_string(said.replaces));
    words.push_back(std::to_string(said.to.active.number));
    words.push_back(bytes_of(lead_ ? epoch_us(said.to.since + *lead_) : 0, said.to.why));
  }
  said_ = unsaid.size();
}

std::string SwitchesField::hear(const resp::Reply& told, Instant now) {
  switches_.answered();
  heard_ = 0;
  const auto redis_now_us = clock_us(told[0]);
  if (!redis_now_us) {
    warn_of_garbage(told.text().empty() ? "it answers something else" : told.text());
    return {};
  }
  const Instant redis_now = instant_from_epoch_us(*redis_now_us);
  lead_ = redis_now - now;
  if (told[1].text() != epoch_) switches_.say_all_again();
  epoch_ = told[1].text();
  stamp_ = told[2].text();
  each_pair(told, 3, [&](std::string_view rule, std::string_view entry) {
    take(rule, entry, redis_now);
    ++heard_;
  });
  return {};
}

// A broken entry counts as the lowest switch, so that this node says the one it knows again.
void SwitchesField::take(std::string_view rule, std::string_view entry, Instant redis_now) {
  const auto hash = read_decimal<std::uint64_t>(rule);
  auto there = switch_in(entry, redis_now);
  if (there) there->since -= *lead_;
  if (hash) switches_.learn(*hash, there.value_or(RuleSwitch()));
  if (!hash || !there) warn_of_garbage("the entry '" + std::string(rule) + "' is none");
}

void SwitchesField::warn_of_garbage(std::string_view what) {
  listener_.warn_once(has_warned_,
                      key_ + " does not say which algorithms rules follow: " + std::string(what));
}

bool SwitchesField::has_more() const { return std::max(said_, heard_) == kSwitchesMax; }

}  // namespace weir
