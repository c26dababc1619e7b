#include "store/redis/fleet/beat_fields.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/ascii.h"
#include "base/decimal.h"
#include "engine/block_bytes.h"
#include "observe/node_about.h"

namespace weir {
namespace {

constexpr std::int64_t kLeftMaxMs = std::int64_t{10} * 366 * 24 * 3600 * 1000;

constexpr std::int64_t kClockMaxUs = 253'402'300'800'000'000;  // the year 9999

// How often a node asks for words that nobody waits for: kNodesEvery for each kNodesAtOnce nodes;
// in a fleet of more nodes than it hears of, kNodesSeldom.
constexpr Duration kNodesEvery = std::chrono::seconds(1);
constexpr std::size_t kNodesAtOnce = 32;
constexpr std::size_t kNodesHeardMax = 256;  // beat.lua
constexpr Duration kNodesSeldom = std::chrono::seconds(60);

constexpr std::size_t kNewsMax = 512;  // bytes; the script sends fewer

std::int64_t milliseconds(Duration duration) {
  return std::chrono::ceil<std::chrono::milliseconds>(duration).count();
}

// nullopt below 0.
std::optional<std::int64_t> number_in(std::string_view text) {
  const auto number = read_decimal<std::int64_t>(text);
  return number >= 0 ? number : std::nullopt;
}

std::string bytes_of(const HashSecret& secret) {
  return {reinterpret_cast<const char*>(secret.bytes.data()), secret.bytes.size()};
}

SharedRules::Version version_in(std::string_view head, std::string_view bytes) {
  const SharedHead read = shared_head_in(head, SharedRules::kNumberMax);
  if (read.number == 0 || bytes.size() > SharedRules::kBytesMax) bytes = {};
  return {.head = read, .bytes = std::string(bytes)};
}

// The head of a table; a table without a number has an empty one.
std::string table_head(const SharedHead& head) { return head.number == 0 ? "" : to_text(head); }

}  // namespace

std::optional<std::int64_t> clock_us(const resp::Reply& told) {
  const auto us = told.integer();
  return us >= 0 && us <= kClockMaxUs ? us : std::nullopt;
}

// ---- news ----

void NewsField::say(std::vector<std::string>& words, Instant now) {
  const bool asks_all = now >= all_due_;
  words.push_back(asks_all ? "" : known_);
  const auto times = std::clamp<std::int64_t>(state_.live_nodes() / kNodes, 1, kSeldom);
  if (asks_all) all_due_ = now + times * kEvery;
}

std::string NewsField::hear(const resp::Reply& told, Instant) {
  known_ = told.text().substr(0, kNewsMax);
  return {};
}

// ---- nodes ----

void NodesField::say(std::vector<std::string>& words, Instant now) {
  words.push_back(node_);
  words.push_back(std::to_string(kAliveMax / std::chrono::seconds(1)));
  words.push_back(std::to_string(kSilentMax / std::chrono::seconds(1)));
  const bool keeps = now >= keep_due_;
  if (keeps) keep_due_ = now + kKeepsEvery;
  words.emplace_back(keeps && word_ == "beats" ? "keeps" : word_);
}

std::string NodesField::hear(const resp::Reply& told, Instant) {
  live_ = std::max<std::int64_t>(1, told[0].integer().value_or(1));
  // Below 0: unknown.
  const std::int64_t silent = told[1].integer().value_or(-1);
  silent_ = silent < 0 ? 1 : std::min(silent, kSilentNodesMax);
  oldest_ =
      Duration{std::clamp<std::int64_t>(told[2].integer().value_or(0), 0, kSilentMax.count())};
  return {};
}

// ---- secret ----

// A Redis that has lost the secret gets it back, even if a node without it came first.
void SecretField::say(std::vector<std::string>& words, Instant) {
  has_news_ = is_lost_ = false;
  words.push_back(found_.empty() ? bytes_of(own_) : found_);
  words.push_back(born_);
}

std::string SecretField::hear(const resp::Reply& told, Instant) {
  const std::string_view found = told.text().substr(0, own_.bytes.size());
  if (found.size() != own_.bytes.size()) return "the key " + key_ + " holds something else";
  has_news_ = found != found_;
  std::string_view born = told.text().substr(found.size());
  const std::string_view since = take_until(born, ' ');
  is_lost_ = (has_news_ && !found_.empty()) || since_.value_or(std::string(since)) != since;
  found_ = found;
  since_ = since;
  born_ = number_in(born) ? born : std::string_view();
  return {};
}

HashSecret SecretField::found() const {
  HashSecret secret;
  std::memcpy(secret.bytes.data(), found_.data(), secret.bytes.size());
  return secret;
}

// ---- blocks ----

// Says the acts that no beat has brought back; twice does no harm. Before it has read all, it says
// nothing: others may have said these acts, and the stream keeps only so many.
void BlocksField::say(std::vector<std::string>& words, Instant now) {
  blocks_.expire(now);
  blocks_.tell_again(audience_, untold_);
  untold_ = heard_ < kBlocksMax ? blocks_.take_news(audience_, kBlocksMax) : std::vector<Block>();
  words.push_back(node_);
  words.push_back(last_read_);
  for (const Block& act : untold_) {
    const Duration left = act.until - now;
    words.push_back(to_bytes(act));
    words.push_back(std::to_string(milliseconds(left)));
    words.push_back(std::to_string(milliseconds(std::max(left, BlockBook::kRemembered))));
  }
  said_ = untold_.size();
  is_asked_for_all_ = false;
}

std::string BlocksField::hear(const resp::Reply& told, Instant now) {
  untold_.clear();
  if (audience_ == BlockAudience::kFleet) blocks_.fleet_has_heard();
  const std::string epoch = " " + std::to_string(told[1].integer().value_or(0));
  if (!last_read_.ends_with(epoch)) {
    is_asked_for_all_ = last_read_.find(' ') != std::string::npos;
    if (is_asked_for_all_) blocks_.tell_again(audience_);
    last_read_ = std::string(kFromTheStart) + epoch;
  }
  learn(told, now);
  tell_late();
  return {};
}

// Counts beats, not time: a node that was cut off first hears what the others say.
void BlocksField::tell_late() {
  if (audience_ != BlockAudience::kWorld || has_more() || ++beats_ < kBeatsUntilLate) return;
  beats_ = 0;
  late_ = blocks_.tell_late(late_);
}

// After the time and the epoch come four texts for each act: id, node, its bytes, and the time that
// was left of it. Redis says how long ago that was, whatever the sender's clock. Skips what it
// cannot read.
void BlocksField::learn(const resp::Reply& told, Instant now) {
  heard_ = 0;
  const std::int64_t redis_now_ms =
      std::clamp<std::int64_t>(told[0].integer().value_or(0), 0, kClockMaxUs / 1'000);
  const std::string epoch = last_read_.substr(last_read_.find(' '));
  std::array<std::string_view, 4> entry;
  std::size_t filled = 0;
  for (const resp::Reply text : told) {
    if (text.integer()) continue;  // the time and the epoch
    entry[filled++] = text.text();
    if (filled < entry.size()) continue;
    filled = 0;
    ++heard_;
    const auto told_ms = number_in(entry[0].substr(0, entry[0].find('-')));
    if (!told_ms) continue;
    last_read_ = std::string(entry[0]) + epoch;
    auto acts = blocks_in(entry[2], 1);
    const auto left_ms = number_in(entry[3]);
    if (!acts || !left_ms) continue;
    const auto passed = std::clamp(redis_now_ms - *told_ms, -kLeftMaxMs, kLeftMaxMs);
    const auto left =
        std::clamp(std::min(*left_ms, kLeftMaxMs) - passed, std::int64_t{0}, kLeftMaxMs);
    for (Block& act : *acts) {
      // No clock is so far ahead. Acts that follow on this one would run out of instants.
      if (act.since > now + std::chrono::milliseconds(kLeftMaxMs)) continue;
      const Duration length = act.until - act.since;  // by one clock
      const Instant end = now + std::chrono::milliseconds(is_lift(act) ? kLeftMaxMs : left);
      act.until = is_lift(act) ? std::min(act.until, end) : end;
      act.began = now - std::chrono::milliseconds(std::max<std::int64_t>(passed, 0));
      if (!is_lift(act)) act.began = std::min(act.began, end - length);
      blocks_.learn(std::move(act), audience_, now, is_printable(entry[1], 64) ? entry[1] : "");
    }
  }
}

bool BlocksField::is_idle() const { return untold_.empty() && !has_news(); }

bool BlocksField::has_more() const {
  return std::max(said_, heard_) == kBlocksMax || is_asked_for_all_;
}

// ---- rules ----

void RulesField::say(std::vector<std::string>& words, Instant now) {
  const SharedRules::Said said = rules_.say();
  const bool wants_nodes = said.wants_nodes || nodes_due_ <= now;
  if (wants_nodes) {
    const Duration often = kNodesEvery * (1 + nodes_heard_ / kNodesAtOnce);
    nodes_due_ = now + (nodes_heard_ < kNodesHeardMax ? often : kNodesSeldom);
  }
  due_ = now + kEvery;
  words.push_back(node_);
  words.push_back(word_ = said.word);
  words.push_back(to_text(said.known));
  words.emplace_back(wants_nodes ? "1" : "0");
  is_asking_ = wants_nodes || said.offer;
  if (!said.offer) return;
  words.push_back(std::to_string(said.offer->head.number));
  words.push_back(to_text(said.offer->head));
  words.push_back(said.offer->bytes);
}

// The head and the bytes, and then each node and its word.
std::string RulesField::hear(const resp::Reply& told, Instant now) {
  if (!told.text().empty()) {
    listener_.warn_once(has_warned_, key_ + " cannot hold the rules that requests change: " +
                                         std::string(told.text()));
    return {};
  }
  std::vector<SharedRules::Word> nodes;
  each_pair(told, 2, [&](std::string_view node, std::string_view word) {
    nodes.push_back({.node = node, .word = word});
  });
  if (!nodes.empty()) nodes_heard_ = nodes.size();
  if (told.size() < 2) return {};
  told_word_ = word_;
  rules_.hear(version_in(told[0].text(), told[1].text()), nodes, now);
  return {};
}

// ---- tenants ----

void TenantsField::say(std::vector<std::string>& words, Instant now) {
  SharedTenants::Said said = tenants_.say();
  due_ = now + kEvery;
  words.push_back(std::to_string(said.place));
  words.push_back(table_head(said.known));
  is_offering_ = said.step.has_value();
  if (!said.step) return;
  const SharedTenants::Step& step = *said.step;
  using enum SharedTenants::Step::Kind;
  constexpr std::array<const char*, 4> kNames = {"change", "aside", "switch", "drop"};
  words.emplace_back(kNames[static_cast<std::size_t>(step.kind)]);
  words.push_back(table_head(step.from));
  words.push_back(
      step.kind == kDrop ? "" : table_head(step.to.head) + ' ' + bytes_of(step.to.table->secret()));
  words.push_back(node_);
  words.push_back(std::to_string(step.aside));
  for (const std::uint16_t bucket : step.buckets) {
    words.push_back(std::to_string(bucket));
    words.push_back(step.to.table->bucket_bytes(bucket));
  }
}

// The head, the text behind it, whether the step is done and no bucket follows; then the buckets.
std::string TenantsField::hear(const resp::Reply& told, Instant now) {
  if (!told.text().empty()) {
    tenants_.fail();
    listener_.warn_once(has_warned_,
                        key_ + " cannot hold the table of tenants: " + std::string(told.text()));
    return {};
  }
  if (told.size() < 4) return {};
  const std::int64_t step = told[2].integer().value_or(0);
  SharedTenants::Heard heard{.head = shared_head_in(told[0].text(), SharedTenants::kNumberMax),
                             .has_done = (step & 1) != 0,
                             .is_torn = (step & 2) != 0,
                             .is_all = told[3].integer() == 1};
  if (std::exchange(is_torn_, heard.is_torn) < heard.is_torn) {
    listener_.warn(key_ + " has lost its rows; a node that has the table puts them back");
  }
  const std::string_view secret = told[1].text();
  if (secret.size() == sizeof(HashSecret::bytes)) {
    std::memcpy(heard.secret.emplace().bytes.data(), secret.data(), secret.size());
  }
  std::size_t at = 0;
  std::optional<std::uint16_t> bucket;
  for (const resp::Reply text : told) {
    if (at++ < 4) continue;
    switch (at % 3) {
      case 2: heard.place = read_decimal<std::uint64_t>(text.text()).value_or(0); break;
      case 0: bucket = read_decimal<std::uint16_t>(text.text()); break;
      default:
        if (bucket) heard.buckets.emplace_back(*bucket, text.text());
    }
  }
  tenants_.hear(std::move(heard), now);
  return {};
}

}  // namespace weir
