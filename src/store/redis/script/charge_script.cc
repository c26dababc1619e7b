#include "store/redis/script/charge_script.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "algo/exponential_backoff.h"
#include "algo/token_bucket.h"
#include "base/assert.h"
#include "base/base64url.h"
#include "proto/text_writer.h"
#include "store/redis/script/cluster_slot.h"

namespace weir {
namespace {

// The script is longer than a literal that every compiler has to take; ours take it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "store/redis/script/charge_script.inc"
#pragma GCC diagnostic pop

// Verdicts are 0 to 2; in place of one, 3 stands for a failure.
constexpr std::int64_t kFailed = 3;
// The script says when more comes; sent only where the rest of the reply does not say it.
constexpr std::int64_t kHasMore = 32;
constexpr std::size_t kChargeSize = 47;     // bytes of a packed charge
constexpr std::size_t kHeaderSizeMax = 74;  // of a core that lends slots
constexpr std::size_t kTagSizeMax = 22;
constexpr std::size_t kBracedSizeMax = 2 * kTagSizeMax;  // {tag}key: 2 + 11 + 22, {key}: 24

// The text between the braces of a key's name.
char* put_tag(char* at, const Charge& charge) {
  if (charge.tag != 0) return put_base64url(at, charge.tag);
  return put_base64url(put_base64url(at, charge.key.high), charge.key.low);
}

char* put_name(char* at, const Charge& charge) {
  *at++ = '{';
  at = put_tag(at, charge);
  *at++ = '}';
  if (charge.tag == 0) return at;
  return put_base64url(put_base64url(at, charge.key.high), charge.key.low);
}

// Appends the numbers in little-endian order.
template <typename... Numbers>
void append(std::string& out, Numbers... numbers) {
  static_assert(std::endian::native == std::endian::little);
  std::array<char, (sizeof(Numbers) + ...)> bytes;
  char* at = bytes.data();
  const auto put = [&at](const auto& number) {
    std::memcpy(at, &number, sizeof(number));
    at += sizeof(number);
  };
  (put(numbers), ...);
  out.append(bytes.data(), bytes.size());
}

// The failure that a decision's code stands for.
ChargeFailure failure_of(std::int64_t code) {
  const std::int64_t kind = code >> 2;
  const bool known = code >= 0 && (code & 3) == kFailed && kind >= 1 && kind <= 4;
  return known ? static_cast<ChargeFailure>(kind) : ChargeFailure::kMalformed;
}

std::int64_t limit_told(const Quota& quota, std::uint8_t level) {
  if (level == 0) return quota.capacity();
  return algo::halved_limit(quota, level);
}

// Zero where the script sends the time, if anything more comes.
Duration more_after_of(const Quota& quota, const Decision& decision) {
  switch (quota.algorithm()) {
    case Algorithm::kFixedWindow:
    case Algorithm::kCalendarWindow: return quota.limit() > 0 ? decision.reset_after : Duration{0};
    case Algorithm::kTokenBucket:
      return algo::more_after<algo::Int128>(quota, decision.remaining, decision.reset_after);
    default: return Duration{0};
  }
}

// The number of Algorithm, or one that no new algorithm moves, as in decide.lua. A quota that
// switches names the algorithm that decides, as in adaptive.lua. Holds in Redis keep the number of
// their charge, so a released number never changes.
std::uint8_t kind_of(const Quota& quota) {
  constexpr std::uint8_t kByCalendar = 15;
  constexpr std::uint8_t kSliding = 16;
  constexpr std::uint8_t kBucket = 17;
  constexpr std::uint8_t kInBackoff = 18;
  static_assert(kAlgorithmCount <= kByCalendar);
  if (quota.is_by_calendar()) return kByCalendar;
  if (!quota.switches()) return static_cast<std::uint8_t>(quota.algorithm());
  if (quota.active() == Algorithm::kSlidingWindow) return kSliding;
  return quota.active() == Algorithm::kTokenBucket ? kBucket : kInBackoff;
}

}  // namespace

std::uint16_t slot_of(const Charge& charge) {
  std::array<char, kTagSizeMax> tag;
  const char* end = put_tag(tag.data(), charge);
  return crc16({tag.data(), static_cast<std::size_t>(end - tag.data())}) % kClusterSlots;
}

ChargeCall::ChargeCall(std::string_view prefix)
    : prefix_(prefix),
      name_size_max_(prefix.size() + kBracedSizeMax),
      names_(std::make_unique<char[]>(name_size_max_ * kChargesMax)) {
  WEIR_ASSERT(prefix.find('{') == std::string_view::npos);
  batches_.reserve(kChargesMax * (kChargeSize + kHeaderSizeMax));
  time_.reserve(kNumberTextMax);
}

void ChargeCall::clear() {
  charges_ = 0;
  key_count_ = 0;
  slots_.fill(0);
  batches_.clear();
}

void ChargeCall::set_time(Instant now) {
  std::array<char, kNumberTextMax> text;
  time_.assign(text.data(), std::to_chars(text.begin(), text.end(), epoch_us(now)).ptr);
}

// The number of the charge's key among KEYS, from 1.
std::uint16_t ChargeCall::number_of(const Charge& charge) {
  std::size_t slot = (charge.key.low ^ charge.tag) % kSlots;
  for (; slots_[slot] != 0; slot = (slot + 1) % kSlots) {
    const Name& name = keys_[slots_[slot] - 1];
    if (name.key == charge.key && name.tag == charge.tag) return slots_[slot];
  }
  char* name = names_.get() + key_count_ * name_size_max_;
  std::memcpy(name, prefix_.data(), prefix_.size());
  const char* end = put_name(name + prefix_.size(), charge);
  keys_[key_count_] = {charge.key, charge.tag};
  words_[kWordsBefore + key_count_] = {name, static_cast<std::size_t>(end - name)};
  slots_[slot] = static_cast<std::uint16_t>(++key_count_);
  return slots_[slot];
}

// Bytes: the operation and the number of charges; decide.lua reads them.
void ChargeCall::add_header(ScriptOperation operation, std::size_t charges) {
  WEIR_ASSERT(charges >= 1 && charges <= Batch::kChargesMax && has_room(charges));
  append(batches_, operation, static_cast<std::uint8_t>(charges));
}

// The algorithm, the number of its key, the cost, the quota and its switch. A calendar quota
// instead gives where windows begin and end, and how many seconds they last.
void ChargeCall::add_charge(const Charge& charge) {
  const Quota& quota = *charge.quota;
  ++charges_;
  if (quota.is_by_calendar()) {
    const WindowEnds ends = quota.window_ends();
    const auto length = std::chrono::floor<std::chrono::seconds>(quota.window()).count();
    return append(batches_, kind_of(quota), number_of(charge), charge.cost, quota.capacity(),
                  epoch_us(ends.previous), epoch_us(ends.current), epoch_us(ends.next),
                  static_cast<std::uint32_t>(length));
  }
  append(batches_, kind_of(quota), number_of(charge), charge.cost, quota.capacity(),
         std::int64_t{quota.window().count()}, quota.ticks_per_unit(), quota.ticks_per_us(),
         quota.switch_number());
}

void ChargeCall::add(ScriptOperation operation, std::span<const Charge> charges) {
  WEIR_ASSERT(operation != ScriptOperation::kLease && operation != ScriptOperation::kReturn);
  add_header(operation, charges.size());
  for (const Charge& charge : charges) add_charge(charge);
}

void ChargeCall::add_lease(const Charge& charge, const LeaseTerms& terms) {
  add_header(ScriptOperation::kLease, 1);
  append(batches_, terms.share, terms.needed, std::int64_t{terms.length.count()},
         std::int64_t{terms.long_length.count()}, terms.settled, epoch_us(terms.settled_until));
  add_charge(charge);
}

void ChargeCall::add_return(const Charge& charge, Instant end, std::int64_t settled) {
  add_header(ScriptOperation::kReturn, 1);
  append(batches_, settled, epoch_us(end));
  add_charge(charge);
}

void ChargeCall::add_reserve(std::span<const Charge> charges, const HoldOrder& order) {
  add_header(ScriptOperation::kReserve, charges.size());
  append(batches_, order.token.high, order.token.low, std::int64_t{order.length.count()},
         order.holds_max, order.due, std::int64_t{order.is_always ? 1 : 0});
  for (const Charge& charge : charges) add_charge(charge);
}

void ChargeCall::add_commit(std::span<const Charge> charges, const CommitOrder& order) {
  if (order.lender) {
    add_header(ScriptOperation::kEndSlot, 1);
    append(batches_, order.token.high, order.token.low, order.lender->high, order.lender->low,
           epoch_us(order.end));
    return add_charge(charges.front());
  }
  add_header(ScriptOperation::kCommit, charges.size());
  const std::int64_t goes_on = order.work == HoldingStore::Work::kGoesOn ? 1 : 0;
  append(batches_, order.token.high, order.token.low, epoch_us(order.end), order.cost, goes_on);
  append(batches_, order.length.count(), order.age.count());
  for (const Charge& charge : charges) add_charge(charge);
}

void ChargeCall::add_lend(const Charge& charge, const LendTerms& terms) {
  add_header(ScriptOperation::kLend, 1);
  append(batches_, terms.core, terms.number, terms.kept, epoch_us(terms.since), terms.needed,
         terms.wanted, std::int64_t{terms.length.count()}, terms.heard.high, terms.heard.low);
  add_charge(charge);
}

std::string_view ChargeCall::text() { return kChargeScript; }

std::span<std::string_view> ChargeCall::words() {
  const auto end = std::to_chars(key_count_text_.begin(), key_count_text_.end(), key_count_).ptr;
  words_[0] = "EVALSHA";
  words_[1] = kChargeScriptSha;
  words_[2] = {key_count_text_.data(), static_cast<std::size_t>(end - key_count_text_.data())};
  words_[kWordsBefore + key_count_] = time_;
  words_[kWordsBefore + key_count_ + 1] = batches_;
  return {words_.data(), kWordsBefore + key_count_ + 2};
}

ChargeReplies::ChargeReplies(const resp::Reply& reply) : at_(reply.begin()), end_(reply.end()) {
  if (!reply.is_list()) at_ = end_;
  time_ = instant_from_epoch_us(std::max<std::int64_t>(0, next()));
}

std::int64_t ChargeReplies::next() {
  if (at_ == end_) return -1;
  const std::int64_t number = (*at_).integer().value_or(-1);
  ++at_;
  if (number < 0) at_ = end_;
  return number;
}

ChargeFailure ChargeReplies::read_decision(const Charge& charge, Decision& decision) {
  const std::int64_t code = next();
  const auto level = static_cast<std::uint8_t>((code >> 2) & 7);
  if (code < 0 || (code & 3) == kFailed || level > algo::kBackoffLevelMax) return failure_of(code);
  decision.verdict = static_cast<Verdict>(code & 3);
  decision.backoff_level = level;
  decision.limit = limit_told(*charge.quota, level);
  decision.remaining = code >> 6;
  const std::int64_t reset_us = next();
  const std::int64_t retry_us = decision.verdict == Verdict::kDenied ? next() : 0;
  const std::int64_t more_us = (code & kHasMore) != 0 ? next() : 0;
  if (reset_us < 0 || retry_us < 0 || more_us < 0) return ChargeFailure::kMalformed;
  decision.reset_after = Duration{reset_us};
  decision.retry_after = Duration{retry_us};
  decision.more_after = std::max(Duration{more_us}, more_after_of(*charge.quota, decision));
  return ChargeFailure::kNone;
}

ChargeFailure ChargeReplies::read(std::span<const Charge> charges, std::span<Decision> decisions) {
  for (std::size_t index = 0; index < charges.size(); ++index) {
    const ChargeFailure failure = read_decision(charges[index], decisions[index]);
    if (failure != ChargeFailure::kNone) return failure;
  }
  return ChargeFailure::kNone;
}

ChargeFailure ChargeReplies::skip(std::size_t charges) {
  const Quota any;
  const Charge charge{.key = {}, .quota = &any};
  Decision decision;
  for (std::size_t index = 0; index < charges; ++index) {
    const ChargeFailure failure = read_decision(charge, decision);
    if (failure != ChargeFailure::kNone) return failure;
  }
  return ChargeFailure::kNone;
}

ChargeFailure ChargeReplies::read_lease(const Charge& charge, Lease& lease) {
  const ChargeFailure failure = read_decision(charge, lease.decision);
  if (failure != ChargeFailure::kNone) return failure;
  lease.units = next();
  const std::int64_t length_us = next();
  const std::int64_t is_long = next();
  if (lease.units < 0 || length_us < 0 || is_long < 0) return ChargeFailure::kMalformed;
  lease.length = Duration{length_us};
  lease.is_long = is_long == 1;
  return ChargeFailure::kNone;
}

ChargeFailure ChargeReplies::read_state(const Quota& quota, SyncedState& state) {
  const std::int64_t code = next();
  if (code != 0) return failure_of(code);
  const std::size_t size = quota.switches() ? state.size() : state.size() - 1;
  state.back() = 0;
  for (std::int64_t& number : std::span(state).first(size)) {
    number = next();
    if (number < 0) return ChargeFailure::kMalformed;
  }
  return ChargeFailure::kNone;
}

ChargeFailure ChargeReplies::read_status(std::int64_t& status) {
  const std::int64_t code = next();
  if ((code & 3) != 0) return failure_of(code);
  status = code >> 2;
  return status <= 2 ? ChargeFailure::kNone : ChargeFailure::kMalformed;
}

ChargeFailure ChargeReplies::read_reserved(HoldOrder& order) {
  std::int64_t status = 0;
  const ChargeFailure failure = read_status(status);
  const std::int64_t end_us = failure == ChargeFailure::kNone ? next() : 0;
  if (end_us < 0) return ChargeFailure::kMalformed;
  order.outcome = static_cast<HoldOrder::Outcome>(status);
  if (order.outcome == HoldOrder::Outcome::kTooMany) order.wait = Duration{end_us};
  if (order.outcome == HoldOrder::Outcome::kHeld) order.end = instant_from_epoch_us(end_us);
  return failure;
}

ChargeFailure ChargeReplies::read_held(std::span<HoldingStore::Held> held) {
  for (HoldingStore::Held& of_key : held) {
    const std::array<std::int64_t, 3> told = {next(), next(), next()};
    if (std::ranges::min(told) < 0) return ChargeFailure::kMalformed;
    of_key = {.units = told[0],
              .holds = static_cast<std::size_t>(told[1]),
              .lapses_after = Duration{told[2]}};
  }
  return ChargeFailure::kNone;
}

ChargeFailure ChargeReplies::read_lent(Lent& lent) {
  std::int64_t status = 0;
  const ChargeFailure failure = read_status(status);
  if (failure != ChargeFailure::kNone) return failure;
  std::array<std::int64_t, 7> told;
  for (std::int64_t& number : told) number = next();
  const auto released = static_cast<std::size_t>(told.back());
  if (std::ranges::min(told) < 0 || released > Lent::kReleasedMax) return ChargeFailure::kMalformed;
  lent = {.count = told[0],
          .fair = told[1],
          .others = told[2],
          .since = instant_from_epoch_us(told[3]),
          .length = Duration{told[4]},
          .wait = Duration{told[5]},
          .released_count = released};
  for (HoldToken& token : std::span(lent.released).first(released)) {
    const auto half = [this] {
      const auto low = static_cast<std::uint64_t>(next());
      return low | static_cast<std::uint64_t>(next()) << 32;
    };
    token.high = half();
    token.low = half();
  }
  return ChargeFailure::kNone;
}

ChargeFailure ChargeReplies::read_committed(CommitOrder& order) {
  std::int64_t status = 0;
  const ChargeFailure failure = read_status(status);
  order.outcome = static_cast<HoldingStore::Commit>(status);
  return failure;
}

}  // namespace weir
