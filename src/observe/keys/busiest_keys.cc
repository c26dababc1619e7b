#include "observe/keys/busiest_keys.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace weir {
namespace {

// The requests before the next sample, if each is sampled with a chance of 1 / 2^shift.
std::int32_t gap(unsigned shift, Prng& random) noexcept {
  if (shift == 0) return 0;
  const double chance = std::ldexp(1.0, -static_cast<int>(shift));
  return static_cast<std::int32_t>(std::log1p(-random.unit()) / std::log1p(-chance));
}

std::uint32_t second_of(Instant now) noexcept {
  return static_cast<std::uint32_t>(
      std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count());
}

}  // namespace

// ---- sampling ----

unsigned SamplePace::next(std::uint32_t second, std::uint32_t most) noexcept {
  if (second != second_) {
    const std::uint32_t quiet = second - second_ - (samples_ < most / 2 ? 0 : 1);
    shift_ = static_cast<std::uint8_t>(shift_ - std::min<std::uint32_t>(shift_, quiet));
    second_ = second;
    samples_ = 0;
  }
  if (++samples_ > most) {
    shift_ = static_cast<std::uint8_t>(std::min(shift_ + 1u, kShiftMax));
    samples_ = static_cast<std::uint16_t>(most / 2);
  }
  return shift_;
}

// ---- one summary ----

// The key goes first and comes last, so that a reader does not take the old key's count for the new
// key's. The fence pairs with the one in read(), the release with the acquire there.
void KeySummary::Counter::take_over(std::uint64_t new_hash, std::uint64_t weight) noexcept {
  const std::uint64_t inherited = count.load(std::memory_order_relaxed);
  hash.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  error.store(inherited, std::memory_order_relaxed);
  count.store(inherited + weight, std::memory_order_relaxed);
  hash.store(new_hash, std::memory_order_release);
}

std::optional<KeyEstimate> KeySummary::Counter::read() const noexcept {
  const std::uint64_t key = hash.load(std::memory_order_acquire);
  const std::uint64_t high = count.load(std::memory_order_relaxed);
  const std::uint64_t off = error.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (key == 0 || hash.load(std::memory_order_relaxed) != key) return std::nullopt;
  return KeyEstimate{.hash = key, .low = high - std::min(high, off), .high = high};
}

std::size_t KeySummary::add(std::uint64_t hash, std::uint64_t weight) noexcept {
  hash = std::max<std::uint64_t>(hash, 1);
  total_.add(weight);
  if (weight > weight_.load(std::memory_order_relaxed)) {
    weight_.store(weight, std::memory_order_relaxed);
  }
  const auto known = std::ranges::find_if(counters_, [hash](const Counter& counter) {
    return counter.hash.load(std::memory_order_relaxed) == hash;
  });
  const auto found = known != counters_.end() ? known : least();
  if (known == found) {
    found->count.store(found->count.load(std::memory_order_relaxed) + weight,
                       std::memory_order_relaxed);
  } else {
    found->take_over(hash, weight);
  }
  return static_cast<std::size_t>(found - counters_.begin());
}

KeySummary::Counters::iterator KeySummary::least() noexcept {
  auto least = counters_.begin();
  std::uint64_t least_count = least->count.load(std::memory_order_relaxed);
  for (auto counter = counters_.begin() + 1; counter != counters_.end(); ++counter) {
    const std::uint64_t count = counter->count.load(std::memory_order_relaxed);
    if (count >= least_count) continue;
    least = counter;
    least_count = count;
  }
  return least;
}

void KeySummary::clear() noexcept {
  total_.clear();
  weight_.store(0, std::memory_order_relaxed);
  for (Counter& counter : counters_) {
    counter.hash.store(0, std::memory_order_relaxed);
    counter.count.store(0, std::memory_order_relaxed);
    counter.error.store(0, std::memory_order_relaxed);
  }
}

// A key may lose its counter and get another one during this; it is still reported once.
KeyReport KeySummary::report() const {
  KeyReport report{.total = total(),
                   .rest = std::numeric_limits<std::uint64_t>::max(),
                   .weight = std::max<std::uint64_t>(weight_.load(std::memory_order_relaxed), 1),
                   .keys = {}};
  for (const Counter& counter : counters_) {
    report.rest = std::min(report.rest, counter.count.load(std::memory_order_relaxed));
    if (const auto key = counter.read()) report.keys.push_back(*key);
  }
  std::ranges::sort(report.keys, {}, &KeyEstimate::hash);
  const auto twice = std::ranges::unique(report.keys, {}, &KeyEstimate::hash);
  report.keys.erase(twice.begin(), twice.end());
  return report;
}

// ---- texts ----

// In the order in which a counter changes its key.
void KeyText::write(std::uint64_t hash, std::string_view text) noexcept {
  if (hash_.load(std::memory_order_relaxed) == hash) return;
  hash_.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::array<std::uint64_t, kWords> words{};
  const std::size_t size = std::min(text.size(), kBytesMax);
  std::memcpy(words.data(), text.data(), size);
  size_.store(size, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_relaxed);
  hash_.store(hash, std::memory_order_release);
}

void KeyText::name_in(KeyReport& report) const {
  const std::uint64_t hash = hash_.load(std::memory_order_acquire);
  const auto found = std::ranges::lower_bound(report.keys, hash, {}, &KeyEstimate::hash);
  if (found == report.keys.end() || found->hash != hash) return;
  std::array<std::uint64_t, kWords> words{};
  const std::uint64_t size = size_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < kWords; ++i) words[i] = words_[i].load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (hash_.load(std::memory_order_relaxed) != hash) return;
  found->text.assign(std::min<std::uint64_t>(size, kBytesMax), '\0');
  std::memcpy(found->text.data(), words.data(), found->text.size());
}

// ---- the rules of a core ----

std::int64_t CoreBusiestKeys::period_of(Instant now) noexcept {
  return std::chrono::floor<std::chrono::minutes>(now.time_since_epoch()).count();
}

// In the order in which KeySketch begins a minute.
void CoreBusiestKeys::Window::begin(std::int64_t new_number) noexcept {
  number.store(kNoPeriod, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (KeySummary& summary : summaries) summary.clear();
  number.store(new_number, std::memory_order_release);
}

std::uint64_t CoreBusiestKeys::RuleKeys::asked_since(std::int64_t period) const noexcept {
  std::uint64_t asked = 0;
  for (const Window& window : windows) {
    if (window.number.load(std::memory_order_relaxed) >= period) {
      asked += window.summaries.front().total();
    }
  }
  return asked;
}

// The rule goes first and comes last, as in a minute.
void CoreBusiestKeys::RuleKeys::give_to(RuleNumber rule) noexcept {
  owner.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (Window& window : windows) window.begin(kNoPeriod);
  owner.store(rule + 1, std::memory_order_release);
}

// Null: the rule gets none.
CoreBusiestKeys::RuleKeys* CoreBusiestKeys::keys_of(const Sample& sample, KeySampler& sampler,
                                                    std::int64_t period, Prng& random) noexcept {
  RuleKeys& own = rules_[sampler.index_];
  if (own.owner.load(std::memory_order_relaxed) == sample.rule + 1) return &own;
  std::size_t least = 0;
  std::uint64_t least_asked = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t i = 0; i < kRules && least_asked > 0; ++i) {
    const bool is_free = rules_[i].owner.load(std::memory_order_relaxed) == 0;
    const std::uint64_t asked = is_free ? 0 : rules_[i].asked_since(period - 1);
    if (asked >= least_asked) continue;
    least = i;
    least_asked = asked;
  }
  const std::uint64_t weight = std::uint64_t{1} << sampler.shift_;
  if (random.next() % (least_asked + weight) >= weight) return nullptr;
  rules_[least].give_to(sample.rule);
  sampler.index_ = static_cast<std::uint16_t>(least);
  return &rules_[least];
}

// The keys' hashes are secret, hence the gaps are, too: nobody can aim between the samples.
void CoreBusiestKeys::add(const Sample& sample, KeySampler& sampler, Instant now) noexcept {
  Prng random(chance_ ^ sample.hash ^ static_cast<std::uint64_t>(epoch_us(now)));
  chance_ = random.next();
  const std::int64_t period = period_of(now);
  if (RuleKeys* const keys = keys_of(sample, sampler, period, random)) {
    count(*keys, sample, std::uint64_t{1} << sampler.shift_, period);
  }
  const std::uint32_t second = second_of(now);
  const unsigned shift =
      std::max(sampler.pace_.next(second, kRuleSamplesMax), pace_.next(second, kSamplesMax));
  sampler.shift_ = static_cast<std::uint8_t>(shift);
  sampler.left_ = gap(shift, random);
}

void CoreBusiestKeys::count(RuleKeys& keys, const Sample& sample, std::uint64_t weight,
                            std::int64_t period) noexcept {
  const std::size_t which = static_cast<std::uint64_t>(period) % 2;
  Window& window = keys.windows[which];
  if (window.number.load(std::memory_order_relaxed) != period) window.begin(period);
  const std::size_t kinds = sample.outcome == RuleOutcome::kAllowed ? 1 : kKeysByCount;
  for (std::size_t by = 0; by < kinds; ++by) {
    const std::size_t counter = window.summaries[by].add(sample.hash, weight);
    if (keeps_texts_.load(std::memory_order_relaxed) == 0) continue;
    const auto at = static_cast<std::size_t>(&keys - rules_.data());
    texts_[at][which][by][counter].write(std::max<std::uint64_t>(sample.hash, 1), sample.key);
  }
}

KeyReport CoreBusiestKeys::report_of(const RuleKeys& keys, std::size_t window, KeysBy by) const {
  const auto kind = static_cast<std::size_t>(by);
  KeyReport report = keys.windows[window].summaries[kind].report();
  if (keeps_texts_.load(std::memory_order_relaxed) == 0) return report;
  const auto& texts = texts_[static_cast<std::size_t>(&keys - rules_.data())][window][kind];
  for (const KeyText& text : texts) text.name_in(report);
  return report;
}

KeyReport CoreBusiestKeys::report(RuleNumber rule, KeysBy by, Instant now) const {
  const std::int64_t newest = period_of(now);
  KeyReport sum;
  for (const RuleKeys& keys : rules_) {
    if (keys.owner.load(std::memory_order_acquire) != rule + 1) continue;
    for (std::size_t i = 0; i < keys.windows.size(); ++i) {
      const auto& number = keys.windows[i].number;
      const std::int64_t period = number.load(std::memory_order_acquire);
      if (period != newest && period != newest - 1) continue;
      KeyReport report = report_of(keys, i, by);
      std::atomic_thread_fence(std::memory_order_acquire);
      const bool is_whole = number.load(std::memory_order_relaxed) == period &&
                            keys.owner.load(std::memory_order_relaxed) == rule + 1;
      if (is_whole) sum.add(std::move(report));
    }
  }
  return sum;
}

}  // namespace weir
