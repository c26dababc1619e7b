#include "observe/denials.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "base/ascii.h"
#include "base/prng.h"

namespace weir {
namespace {

// A hash that is equal for denials that are counted in one entry.
std::uint64_t name_of(const DenialFacts& facts) noexcept {
  const std::uint64_t which =
      (std::uint64_t{static_cast<std::uint8_t>(facts.door)} << 57) |
      (std::uint64_t{facts.is_shadow} << 56) | (std::uint64_t{facts.status} << 40) |
      (std::uint64_t{facts.rule} << 8) | static_cast<std::uint8_t>(facts.cause);
  return Prng(which ^ facts.key_hash).next();
}

constexpr std::array<std::string_view, 8> kMethods = {"",    "GET",   "HEAD",   "POST",
                                                      "PUT", "PATCH", "DELETE", "OPTIONS"};

std::uint8_t method_of(std::string_view text) noexcept {
  const auto found = std::ranges::find(kMethods, text);
  return found == kMethods.end() ? 0 : static_cast<std::uint8_t>(found - kMethods.begin());
}

std::string printable(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) c = c >= ' ' && c <= '~' ? c : '?';
  return shown;
}

// Two letters, in capitals; zeros for any other text of a header.
std::array<char, 2> country_of(std::string_view text) noexcept {
  const auto is_letter = [](char c) { return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z'; };
  if (text.size() != 2 || !is_letter(text[0]) || !is_letter(text[1])) return {};
  return {static_cast<char>(text[0] & ~0x20), static_cast<char>(text[1] & ~0x20)};
}

// Writes the text word by word. Returns the number of bytes that are kept.
template <typename Words>
std::uint32_t write_text(Words& words, std::string_view text) noexcept {
  text = CoreDenials::kept(text);
  for (std::size_t at = 0; at < text.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min<std::size_t>(8, text.size() - at));
    words[at / 8].store(word, std::memory_order_relaxed);
  }
  return static_cast<std::uint32_t>(text.size());
}

template <typename Words>
void read_text(const Words& words, std::size_t size, std::string& text) {
  text.resize(std::min(size, words.size() * 8));
  for (std::size_t at = 0; at < text.size(); at += 8) {
    const std::uint64_t word = words[at / 8].load(std::memory_order_relaxed);
    std::memcpy(text.data() + at, &word, std::min<std::size_t>(8, text.size() - at));
  }
}

}  // namespace

std::string_view method_name(std::uint8_t method) { return kMethods[method % kMethods.size()]; }

std::vector<DenialRecord> added_up(std::vector<DenialRecord> denials) {
  const auto order = [](const DenialRecord& one) {
    return std::tuple(CoreDenials::second_of(one.at), name_of(one), one.at);
  };
  std::ranges::sort(denials, {}, order);
  std::vector<DenialRecord> sums;
  for (DenialRecord& one : denials) {
    if (sums.empty() || name_of(sums.back()) != name_of(one) ||
        CoreDenials::second_of(sums.back().at) != CoreDenials::second_of(one.at)) {
      sums.push_back(std::move(one));
    } else {
      sums.back().times += one.times;
      sums.back().retry_after = std::max(sums.back().retry_after, one.retry_after);
    }
  }
  std::ranges::sort(sums, {}, &DenialRecord::at);
  return sums;
}

std::string to_text(const DenialRecord& denial, std::string_view rule) {
  std::string text = denial.is_shadow ? "denied in shadow: " : "denied: ";
  text += rule.empty() ? "no rule" : "rule " + std::string(rule);
  text += denial.key.empty() ? ", key hash " + hash_text(denial.key_hash)
                             : ", key \"" + printable(denial.key) + "\"";
  text.append(", cause ").append(kDenialCauses[static_cast<std::size_t>(denial.cause)]);
  text += ", " + std::to_string(denial.remaining) + " of " + std::to_string(denial.limit) +
          " left, cost " + std::to_string(denial.cost);
  if (denial.retry_after > Duration::zero()) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(denial.retry_after).count();
    text += ", again in " + std::to_string(seconds) + " s";
  }
  if (denial.status > 0) text += ", status " + std::to_string(denial.status);
  if (denial.times > 1) text += ", " + std::to_string(denial.times) + " times in this second";
  return text;
}

std::string_view CoreDenials::kept(std::string_view text) noexcept {
  if (text.size() <= kTextMax) return text;
  const auto is_within = [&](std::size_t at) { return (text[at] & 0xc0) == 0x80; };
  std::size_t end = kTextMax;
  while (end > 0 && is_within(end)) --end;
  return text.substr(0, end);
}

void CoreDenials::add(DenialFacts facts, DenialTexts texts) noexcept {
  const std::int64_t second = second_of(facts.at);
  if (second != second_) {
    second_ = second;
    begin_ = (begin_ + size_) % kEntries;
    size_ = 0;
    forgotten_ = 0;
    seen_ = {};
  }
  Own entry{
      .name = name_of(facts), .retry_after = facts.retry_after, .times = 1, .rule = facts.rule};
  for (std::size_t i = 0; i < size_; ++i) {
    if (own_[i].name == entry.name) {
      ++own_[i].times;
      if (facts.retry_after > own_[i].retry_after) {  // a key in debt owes more each time
        own_[i].retry_after = facts.retry_after;
        entries_[index_of(i)].set_wait(facts.retry_after);
      }
      return tell_times(i);
    }
    if (own_[i].rule == entry.rule) entry.turn = Turn::kFurther;
  }
  const std::size_t index = room_for(entry);
  if (index < kPerSecond) {
    size_ = std::max(size_, index + 1);
    own_[index] = entry;
    facts.country = country_of(texts.country);
    facts.method = method_of(texts.method);
    if (keeps_texts_.load(std::memory_order_relaxed) == 0) {
      facts.client = {};
      texts = {};
    }
    entries_[index_of(index)].write(facts, texts);
  }
  if (forgotten_ > 0) tell_times(0);
}

// The entry's number in this second; it may replace another. kPerSecond: there is no room.
std::size_t CoreDenials::room_for(const Own& entry) noexcept {
  const std::uint32_t seen = ++seen_[static_cast<std::size_t>(entry.turn)];
  if (size_ < kPerSecond) return size_;
  std::array<std::size_t, kPerSecond> further{};
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (own_[i].turn == Turn::kFurther) further[count++] = i;
  }
  auto random = Prng(chance_ += entry.name);
  std::size_t index = kPerSecond;
  if (entry.turn == Turn::kFurther) {
    const std::size_t drawn = random.below(seen);
    if (drawn < count) index = further[drawn];
  } else if (count > 0) {
    index = further[random.below(count)];
  } else {
    index = std::min<std::size_t>(random.below(seen), kPerSecond);
  }
  forgotten_ += index < kPerSecond ? own_[index].times : 1;
  return index;
}

// The first entry of a second also counts the denials without an entry.
void CoreDenials::tell_times(std::size_t index) noexcept {
  entries_[index_of(index)].count(own_[index].times, index == 0 ? forgotten_ : 0);
}

void CoreDenials::Entry::write(const DenialFacts& new_facts, const DenialTexts& texts) noexcept {
  std::array<std::uint64_t, kFactWords> words;
  std::memcpy(words.data(), &new_facts, sizeof(new_facts));
  // A process that was killed while it wrote has left the version odd.
  const std::uint64_t odd = version.load(std::memory_order_relaxed) | 1;
  version.store(odd, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  for (std::size_t i = 0; i < kFactWords; ++i) facts[i].store(words[i], std::memory_order_relaxed);
  key_size.store(write_text(key, texts.key), std::memory_order_relaxed);
  path_size.store(write_text(path, texts.path), std::memory_order_relaxed);
  version.store(odd + 1, std::memory_order_release);
}

// Both numbers are in one word, so that a reader sees either the old or the new ones.
void CoreDenials::Entry::count(std::uint32_t times, std::uint32_t forgotten) noexcept {
  constexpr std::size_t kOffset = offsetof(DenialFacts, times);
  static_assert(kOffset % 8 == 0 && offsetof(DenialFacts, forgotten) == kOffset + sizeof(times));
  const std::array both = {times, forgotten};
  facts[kOffset / 8].store(std::bit_cast<std::uint64_t>(both), std::memory_order_relaxed);
}

void CoreDenials::Entry::set_wait(Duration retry_after) noexcept {
  static_assert(sizeof(retry_after) == 8 && offsetof(DenialFacts, retry_after) % 8 == 0);
  facts[offsetof(DenialFacts, retry_after) / 8].store(std::bit_cast<std::uint64_t>(retry_after),
                                                      std::memory_order_relaxed);
}

std::int64_t CoreDenials::whole_since() const {
  using Seconds = std::numeric_limits<std::int64_t>;
  std::int64_t oldest = Seconds::max() - 1;
  for (const Entry& entry : entries_) {
    if (entry.version.load(std::memory_order_relaxed) == 0) return Seconds::min();
    const auto denial = entry.read(Seconds::min(), oldest);
    if (denial) oldest = second_of(denial->at);
  }
  return oldest + 1;
}

std::optional<DenialRecord> CoreDenials::Entry::read(std::int64_t first, std::int64_t last) const {
  const std::uint64_t before = version.load(std::memory_order_acquire);
  if (before == 0 || before % 2 == 1) return std::nullopt;
  std::array<std::uint64_t, kFactWords> words;
  for (std::size_t i = 0; i < kFactWords; ++i) words[i] = facts[i].load(std::memory_order_relaxed);
  DenialRecord denial{std::bit_cast<DenialFacts>(words)};
  const std::int64_t second = second_of(denial.at);
  if (second < first || second > last) return std::nullopt;
  read_text(key, key_size.load(std::memory_order_relaxed), denial.key);
  read_text(path, path_size.load(std::memory_order_relaxed), denial.path);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (version.load(std::memory_order_relaxed) != before) return std::nullopt;
  return denial;
}

}  // namespace weir
