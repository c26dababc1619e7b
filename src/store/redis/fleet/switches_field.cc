#include "store/redis/fleet/switches_field.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/decimal.h"

namespace weir {
namespace {

constexpr std::size_t kWordsOfEntry = 6;

std::string hex(std::uint64_t number) {
  std::array<char, 16> text;
  text.fill('0');
  std::array<char, 16> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16).ptr;
  std::copy_backward(digits.data(), end, text.data() + text.size());
  return {text.data(), text.size()};
}

std::optional<std::uint64_t> from_hex(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, 16);
  const bool is_whole = read.ec == std::errc() && read.ptr == end && text.size() == 16;
  return is_whole ? std::optional(number) : std::nullopt;
}

std::string text_of(const RecentRequests& why) {
  return std::to_string(why.all) + " " + std::to_string(why.latest) + " " +
         std::to_string(why.denied);
}

// The entry's numbers; nothing if it is no entry.
std::optional<std::array<std::uint64_t, kWordsOfEntry>> numbers_in(std::string_view entry) {
  std::array<std::uint64_t, kWordsOfEntry> numbers{};
  for (std::uint64_t& number : numbers) {
    const bool is_last = &number == &numbers.back();
    const std::size_t end = is_last ? entry.size() : entry.find(' ');
    if (end == std::string_view::npos) return std::nullopt;
    const auto read = read_decimal<std::uint64_t>(entry.substr(0, end));
    if (!read) return std::nullopt;
    number = *read;
    if (!is_last) entry.remove_prefix(end + 1);
  }
  return numbers;
}

}  // namespace

// Until Redis's clock is known, it takes the time of the beat itself.
void SwitchesField::say(std::vector<std::string>& words, Instant) {
  words.push_back(epoch_);
  words.push_back(stamp_);
  const auto unsaid = switches_.unsaid(kSwitchesMax);
  for (const RuleSwitches::Said& said : unsaid) {
    words.push_back(hex(said.rule));
    words.push_back(std::to_string(said.replaces));
    words.push_back(std::to_string(said.to.active.number));
    words.push_back(lead_ ? std::to_string(epoch_us(said.to.since + *lead_)) : std::string());
    words.push_back(text_of(said.to.why));
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
  // Rule and entry, in turn.
  std::string_view rule;
  std::size_t place = 0;
  for (const resp::Reply text : told) {
    if (place++ < 3) continue;
    if (place % 2 == 0) {
      rule = text.text();
    } else {
      take(rule, text.text(), redis_now);
      ++heard_;
    }
  }
  return {};
}

// What began later than now began now: another clock has written it. A field that is no entry
// is the lowest there can be, so that the one that is known here is said again.
void SwitchesField::take(std::string_view rule, std::string_view entry, Instant redis_now) {
  const auto hash = from_hex(rule);
  const auto numbers = numbers_in(entry);
  const auto redis_now_us = static_cast<std::uint64_t>(epoch_us(redis_now));
  const std::uint64_t number_max = std::min<std::uint64_t>(redis_now_us / 1'000'000, UINT32_MAX);
  const bool is_entry = hash && numbers && (*numbers)[1] > 0 && (*numbers)[1] <= number_max;
  if (!is_entry) {
    if (hash) switches_.learn(*hash, {});
    return warn_of_garbage("the entry '" + std::string(rule) + "' is none");
  }
  const auto number = static_cast<std::uint32_t>((*numbers)[1]);
  const auto since_us = static_cast<std::int64_t>(std::min((*numbers)[2], redis_now_us));
  switches_.learn(*hash, {.active = {algorithm_of_switch(number), number},
                          .since = instant_from_epoch_us(since_us) - *lead_,
                          .why = {(*numbers)[3], (*numbers)[4], (*numbers)[5]}});
}

void SwitchesField::warn_of_garbage(std::string_view what) {
  if (std::exchange(has_warned_, true)) return;
  listener_.fleet_warned(
      key_ + " does not say which algorithms adaptive rules follow: " + std::string(what));
}

bool SwitchesField::has_more() const { return std::max(said_, heard_) == kSwitchesMax; }

}  // namespace weir
