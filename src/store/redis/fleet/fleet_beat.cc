#include "store/redis/fleet/fleet_beat.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>

#include "engine/block_text.h"
#include "store/redis/cluster_slot.h"

namespace weir {
namespace {

constexpr std::string_view kScript =
#include "store/redis/fleet/beat_script.inc"
    ;

constexpr std::size_t kKeys = 3;

std::int64_t milliseconds(Duration duration) {
  return std::chrono::ceil<std::chrono::milliseconds>(duration).count();
}

constexpr std::int64_t kLeftMaxMs = std::int64_t{10} * 366 * 24 * 3600 * 1000;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  return result.ec == std::errc() && number >= 0 ? std::optional(number) : std::nullopt;
}

std::string_view bytes_of(const HashSecret& secret) {
  return {reinterpret_cast<const char*>(secret.bytes.data()), secret.bytes.size()};
}

}  // namespace

FleetBeat::FleetBeat(Options options, RedisClient& client, Reactor& reactor, BlockList& blocks,
                     FleetBeatListener& listener, Instant now)
    : options_(std::move(options)),
      client_(client),
      blocks_(blocks),
      listener_(listener),
      tag_(options_.prefix + "{fleet}:"),
      alarm_(reactor.make_alarm([this](Instant then) { beat(then); })) {
  blocks_.share();
  alarm_->set(now);
}

FleetBeat::~FleetBeat() { client_.forget(*this); }

void FleetBeat::beat(Instant now) {
  alarm_->set(now + std::min(options_.interval, kIntervalMax));
  if (is_asking_ || phase_ != Phase::kAlive || !is_connected()) return;
  ask(now);
}

bool FleetBeat::leave(Instant now) {
  if (is_asking_) return false;
  if (phase_ == Phase::kGone || !is_connected()) return true;
  phase_ = Phase::kLeaving;
  ask(now);
  return false;
}

bool FleetBeat::is_connected() const {
  return client_.state().phase == LinkState::Phase::kConnected;
}

// What has been lifted meanwhile, here or elsewhere, is not told again.
void FleetBeat::take_up_news(Instant now) {
  for (Block& block : blocks_.take_news(kBlocksMax - untold_.size())) {
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

void FleetBeat::ask(Instant now) {
  take_up_news(now);
  texts_ = {tag_ + "nodes", tag_ + "secret", tag_ + "blocks",
            std::to_string(kAliveMax / std::chrono::seconds(1)), std::to_string(kKeys)};
  for (const Block& block : untold_) {
    texts_.push_back(to_text({&block, 1}));
    texts_.push_back(std::to_string(milliseconds(std::max(block.until - now, Duration::zero()))));
  }
  // A Redis that has lost the secret gets it back from whoever comes first.
  const std::string_view secret = secret_.empty() ? bytes_of(options_.secret) : secret_;
  const std::string_view word = phase_ == Phase::kAlive ? "beats" : "leaves";
  words_ = {"EVAL",        kScript,   texts_[4], texts_[0],  texts_[1], texts_[2],
            options_.node, texts_[3], secret,    last_read_, word};
  for (std::size_t i = 5; i < texts_.size(); ++i) words_.push_back(texts_[i]);
  is_asking_ = !client_.send(words_, cluster_slot(texts_[0]), now + kAnswerMax, *this, now);
}

void FleetBeat::replied(const resp::Reply& reply, Instant now) noexcept {
  is_asking_ = false;
  if (phase_ == Phase::kLeaving && untold_.size() < kBlocksMax) phase_ = Phase::kGone;
  if (reply.is_error() || reply.size() != 5) {
    return listener_.beat_failed(reply.is_error() ? reply.text() : "it answers something else");
  }
  take(reply, now);
}

// What was to be told is told by the next beat; twice does no harm.
void FleetBeat::failed(CallFailure, Instant) noexcept { is_asking_ = false; }

void FleetBeat::take(const resp::Reply& reply, Instant now) {
  const std::size_t told = std::exchange(untold_, {}).size();
  HashSecret secret;
  const std::string_view found = reply[1].text();
  if (found.size() != secret.bytes.size()) {
    return listener_.beat_failed("the key " + tag_ + "secret holds something else");
  }
  const bool is_lost = !secret_.empty() && (found != secret_ || reply[4].integer() == 1);
  if (found != secret_) {
    secret_ = found;
    std::memcpy(secret.bytes.data(), found.data(), found.size());
    listener_.secret_found(secret, now);
  }
  listener_.nodes_counted(std::max<std::int64_t>(1, reply[0].integer().value_or(1)));
  const std::size_t learned = learn(reply[3], reply[2].integer().value_or(0), now);
  if (is_lost) {
    lost_ = blocks_.list("", BlockList::kBlocksMax, now);
    last_read_ = kFromTheStart;  // its clock, of which ids are made, may be behind the old one's
  }
  if (std::max(told, learned) == kBlocksMax || !lost_.empty()) alarm_->set(now);
}

// Four texts each: id, node, block, what was left of it. How long that is ago the Redis
// says, whatever the clock of the node that told it. What cannot be read is passed over.
// Returns how many came.
std::size_t FleetBeat::learn(const resp::Reply& told, std::int64_t redis_now_ms, Instant now) {
  std::array<std::string_view, 4> entry;
  std::size_t filled = 0;
  std::size_t entries = 0;
  for (const resp::Reply text : told) {
    entry[filled++] = text.text();
    if (filled < entry.size()) continue;
    filled = 0;
    ++entries;
    const auto told_ms = number_in(entry[0].substr(0, entry[0].find('-')));
    if (!told_ms) continue;
    last_read_ = entry[0];
    if (entry[1] == options_.node) continue;
    auto blocks = blocks_from_text(entry[2]);
    const auto left_ms = number_in(entry[3]);
    if (!blocks || !left_ms) continue;
    const auto left = std::clamp(*left_ms - (redis_now_ms - *told_ms), std::int64_t{0}, kLeftMaxMs);
    for (Block& block : *blocks) {
      block.until = now + std::chrono::milliseconds(left);
      blocks_.learn(std::move(block), now);
    }
  }
  return entries;
}

}  // namespace weir
