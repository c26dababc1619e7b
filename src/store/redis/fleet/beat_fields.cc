#include "store/redis/fleet/beat_fields.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/decimal.h"
#include "engine/block_text.h"

namespace weir {
namespace {

constexpr auto kFleet = BlockList::Audience::kFleet;

constexpr std::int64_t kLeftMaxMs = std::int64_t{10} * 366 * 24 * 3600 * 1000;

constexpr std::int64_t kClockMaxUs = 253'402'300'800'000'000;  // the year 9999

std::int64_t milliseconds(Duration duration) {
  return std::chrono::ceil<std::chrono::milliseconds>(duration).count();
}

// Not below 0.
std::optional<std::int64_t> number_in(std::string_view text) {
  const auto number = read_decimal<std::int64_t>(text);
  return number >= 0 ? number : std::nullopt;
}

std::string bytes_of(const HashSecret& secret) {
  return {reinterpret_cast<const char*>(secret.bytes.data()), secret.bytes.size()};
}

}  // namespace

std::optional<std::int64_t> clock_us(const resp::Reply& told) {
  const auto us = told.integer();
  return us >= 0 && us <= kClockMaxUs ? us : std::nullopt;
}

// ---- nodes ----

void NodesField::say(std::vector<std::string>& words, Instant) {
  words.push_back(node_);
  words.push_back(std::to_string(kAliveMax / std::chrono::seconds(1)));
  words.emplace_back(word_);
}

std::string NodesField::hear(const resp::Reply& told, Instant) {
  count_ = std::max<std::int64_t>(1, told.integer().value_or(1));
  return {};
}

// ---- secret ----

// A Redis that has lost the secret gets it back from the node that comes first.
void SecretField::say(std::vector<std::string>& words, Instant) {
  words.push_back(found_.empty() ? bytes_of(own_) : found_);
}

std::string SecretField::hear(const resp::Reply& told, Instant) {
  news_ = News::kNone;
  const std::string_view found = told[0].text();
  if (found.size() != own_.bytes.size()) return "the key " + key_ + " holds something else";
  if (found != found_) {
    news_ = found_.empty() ? News::kFound : News::kReplaced;
    found_ = found;
  } else if (told[1].integer() == 1) {
    news_ = News::kLost;
  }
  return {};
}

HashSecret SecretField::found() const {
  HashSecret secret;
  std::memcpy(secret.bytes.data(), found_.data(), secret.bytes.size());
  return secret;
}

// ---- blocks ----

// Sends no block again that a node has lifted meanwhile.
void BlocksField::take_up_news(Instant now) {
  for (Block& block : blocks_.take_news(kFleet, kBlocksMax - untold_.size())) {
    untold_.push_back(std::move(block));
  }
  while (!lost_.empty() && untold_.size() < kBlocksMax) {
    Block block = std::move(lost_.back());
    lost_.pop_back();
    const auto until = blocks_.until(block.rule, block.key, now);
    if (!until) continue;
    block.until = *until;
    untold_.push_back(std::move(block));
  }
}

// What no beat has brought is sent again; twice does no harm.
void BlocksField::say(std::vector<std::string>& words, Instant now) {
  take_up_news(now);
  words.push_back(node_);
  words.push_back(last_read_);
  for (const Block& block : untold_) {
    words.push_back(to_text({&block, 1}));
    words.push_back(std::to_string(milliseconds(std::max(block.until - now, Duration::zero()))));
  }
  said_ = untold_.size();
}

std::string BlocksField::hear(const resp::Reply& told, Instant now) {
  untold_.clear();
  learn(told, now);
  return {};
}

// After the time come four texts for each block: id, node, block, what was left of it. Redis
// says how long ago that was, whatever the clock of the node that sent it. Skips what it cannot
// read.
void BlocksField::learn(const resp::Reply& told, Instant now) {
  heard_ = 0;
  const std::int64_t redis_now_ms =
      std::clamp<std::int64_t>(told[0].integer().value_or(0), 0, kClockMaxUs / 1'000);
  std::array<std::string_view, 4> entry;
  std::size_t filled = 0;
  for (const resp::Reply text : told) {
    if (text.integer()) continue;  // the time
    entry[filled++] = text.text();
    if (filled < entry.size()) continue;
    filled = 0;
    ++heard_;
    const auto told_ms = number_in(entry[0].substr(0, entry[0].find('-')));
    if (!told_ms) continue;
    last_read_ = entry[0];
    if (entry[1] == node_) continue;
    auto blocks = blocks_from_text(entry[2]);
    const auto left_ms = number_in(entry[3]);
    if (!blocks || !left_ms) continue;
    const auto passed = std::clamp(redis_now_ms - *told_ms, -kLeftMaxMs, kLeftMaxMs);
    const auto left =
        std::clamp(std::min(*left_ms, kLeftMaxMs) - passed, std::int64_t{0}, kLeftMaxMs);
    for (Block& block : *blocks) {
      block.until = now + std::chrono::milliseconds(left);
      blocks_.learn(std::move(block), kFleet, now);
    }
  }
}

// Its clock, of which ids are made, may be behind the old one's.
void BlocksField::tell_all_again(Instant now) {
  lost_ = blocks_.list("", BlockList::kBlocksMax, now);
  last_read_ = kFromTheStart;
}

bool BlocksField::is_idle() const {
  return untold_.empty() && lost_.empty() && !blocks_.has_news(kFleet);
}

bool BlocksField::has_more() const {
  return std::max(said_, heard_) == kBlocksMax || !lost_.empty();
}

}  // namespace weir
