#include "engine/tenants/shared_tenants.h"

#include <algorithm>
#include <utility>

namespace weir {

// Whether Redis has a head that this node should have.
bool SharedTenants::is_behind() const {
  if (there_.number == 0 || there_ == known_.head || is_apart()) return false;
  if (is_kept_ && is_strange_) return true;
  if (known_.since) return there_ != *known_.since && there_.number >= known_.since->number;
  return there_.number >= known_.head.number;
}

bool SharedTenants::is_lost() const {
  const bool is_torn = is_torn_ && there_ == known_.head;
  return heard_ > 0 && (there_.number < known_.head.number || is_torn) && !is_behind();
}

// The version that Redis should take from this node; null: none.
const SharedTenants::Version* SharedTenants::wanted() const {
  return pending_ ? &*pending_ : is_lost() ? &known_ : nullptr;
}

// No node reads a head with a number below its own.
std::uint64_t SharedTenants::next_number() const {
  const std::scoped_lock lock(mutex_);
  return std::max(known_.head.number, is_apart() ? there_.number : 0) + 1;
}

std::optional<SharedTenants::Outcome> SharedTenants::begin_offer(Offer offer) {
  const std::scoped_lock lock(mutex_);
  if (is_behind()) return Outcome::kOutdated;
  if (is_apart() && !offer.replaces_all) return Outcome::kUnreadable;
  pending_ = std::move(offer.version);
  changes_ = std::move(offer.changed);
  offered_to_ = there_;
  load_.reset();
  may_be_done_ = false;
  farthest_ = farthest_then_ = 0;
  heard_then_ = heard_;
  waits_ = 0;
  return std::nullopt;
}

std::optional<SharedTenants::Outcome> SharedTenants::outcome(Patience patience) {
  const std::scoped_lock lock(mutex_);
  if (!pending_) return outcome_;
  if (patience == Patience::kGoesOn) return std::nullopt;
  const bool is_away = heard_ == heard_then_ && has_failed_;
  waits_ = farthest_ > farthest_then_ ? 0 : waits_ + 1;
  heard_then_ = heard_;
  farthest_then_ = farthest_;
  // While a step is on its way, nobody knows whether Redis takes it.
  if (!is_away && waits_ < (said_ ? 2 * kTurns : kTurns)) return std::nullopt;
  load_.reset();
  if (is_away) {
    pending_->since = known_.since.value_or(known_.head);
    known_ = *std::move(pending_);
  }
  pending_.reset();
  return is_away ? Outcome::kAway : Outcome::kBusy;
}

SharedTenants::Outcome SharedTenants::offer(Offer offer, Duration patience) {
  auto ends = begin_offer(std::move(offer));
  while (!ends) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, patience, [this] { return !pending_; });
    }
    ends = outcome(Patience::kIsOver);
  }
  return *ends;
}

bool SharedTenants::await_word(Duration patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience,
                           [this, asked = asked_] { return heard_ > asked || has_failed_; });
}

bool SharedTenants::await_news(Duration patience) {
  std::unique_lock lock(mutex_);
  const auto is_there = [this] { return is_read_ || !is_behind(); };
  changed_.wait_for(lock, patience, [&] { return is_there() || has_failed_; });
  return is_there();
}

std::optional<SharedTenants::News> SharedTenants::news() {
  const std::scoped_lock lock(mutex_);
  if (!is_read_) return std::nullopt;
  return std::move(*reading_);  // keeps what take() looks at
}

void SharedTenants::take(const SharedHead& head, TenantTablePtr table) {
  const std::scoped_lock lock(mutex_);
  const bool was_whole = reading_ && reading_->is_whole;
  reads_whole_ = table == nullptr;
  if (table != nullptr) {
    known_ = {.head = head, .table = std::move(table)};
    is_kept_ = is_strange_ = false;
  } else if (was_whole && !is_mixed_) {
    unreadable_ = head;
  }
  start_over();
}

void SharedTenants::begin(Version kept) {
  const std::scoped_lock lock(mutex_);
  known_ = std::move(kept);
  is_kept_ = true;
}

SharedHead SharedTenants::known() const {
  const std::scoped_lock lock(mutex_);
  return known_.head;
}

bool SharedTenants::is_told() const {
  const std::scoped_lock lock(mutex_);
  return there_ == known_.head;
}

std::optional<SharedHead> SharedTenants::since() const {
  const std::scoped_lock lock(mutex_);
  return known_.since;
}

bool SharedTenants::has_more() const {
  const std::scoped_lock lock(mutex_);
  return (is_behind() && !is_read_ && !is_torn_) || (load_ && !is_refused_) || hurried_ > 0;
}

void SharedTenants::start_over() {
  reading_.reset();
  is_read_ = is_mixed_ = false;
  bytes_ = 0;
}

// Says what is known, and one step of what Redis should have. Each step can be said again.
SharedTenants::Said SharedTenants::say() {
  const std::scoped_lock lock(mutex_);
  const bool is_last =
      said_ && (said_->kind == Step::Kind::kChange || said_->kind == Step::Kind::kSwitch);
  may_be_done_ = may_be_done_ || is_last;
  said_.reset();
  ++asked_;
  is_refused_ = false;
  if (is_read_) return {.known = there_};  // the keeper has enough to do
  if (!reading_ || reading_->buckets.empty()) {
    const bool is_whole =
        reads_whole_ || is_strange_ || known_.since.has_value() || known_.head.number == 0;
    place_ = is_whole ? 0 : known_.head.number * TenantTable::kBuckets + TenantTable::kBuckets - 1;
    reading_ = News{.is_whole = is_whole};
  }
  Said said{.place = place_, .known = known_.head};
  const Version* const version = heard_ > 0 && !is_behind() ? wanted() : nullptr;
  if (version == nullptr) {
    if (has_aside_) said.step = said_ = Step{.kind = Step::Kind::kDrop, .from = there_, .to = {}};
    return said;
  }
  Step step{.from = there_, .to = *version};
  if (pending_ && there_ == known_.head && !is_torn_ && changes_.size() <= kChangeMax) {
    step.buckets = changes_;
    if (changes_.empty()) step.buckets = {0};  // else a first change would look torn
  } else {
    if (!load_) {
      load_ = Load{.buckets = {}, .next = 0};
      for (std::size_t i = 0; i < TenantTable::kBuckets; ++i) {
        const auto bucket = static_cast<std::uint16_t>(i);
        if (!version->table->is_empty(bucket)) load_->buckets.push_back(bucket);
      }
      if (load_->buckets.empty()) load_->buckets = {0};  // else the table would look torn
    }
    const auto rest = std::span(load_->buckets).subspan(load_->next);
    const auto page = rest.first(std::min(rest.size(), kPage));
    step.kind = page.empty() ? Step::Kind::kSwitch : Step::Kind::kPutAside;
    step.buckets.assign(page.begin(), page.end());
    step.aside = load_->next;
    has_aside_ = true;
  }
  said_ = step;
  said.step = std::move(step);
  return said;
}

// Ends the offer if Redis has taken it, or has a head that it does not replace. Another node that
// makes the same change makes the same head.
void SharedTenants::settle_offer(bool is_done) {
  const bool is_due = there_ == offered_to_ || there_ == known_.head;
  if (!pending_ || (is_due && !is_behind())) return;
  const bool is_taken = there_ == pending_->head && (is_done || may_be_done_);
  outcome_ = is_taken ? Outcome::kTaken : Outcome::kOutdated;
  if (is_taken) known_ = std::move(*pending_);
  if (is_taken) is_kept_ = false;
  hurried_ = is_taken ? 0 : kHurriedMax;
  pending_.reset();
  load_.reset();
  changed_.notify_all();
}

void SharedTenants::hear(Heard heard, Instant now) {
  bool has_news = false;
  {
    const std::scoped_lock lock(mutex_);
    if (there_ != heard.head) {
      there_ = heard.head;
      if (!pending_ || there_ != pending_->head) load_.reset();
    }
    if (there_ == known_.head) known_.since.reset();
    is_torn_ = heard.is_torn;
    torn_ = is_torn_ && there_ != known_.head ? std::min(torn_ + 1, kTornMax) : 0;
    if (heard.secret && known_.table != nullptr) {
      is_strange_ = heard.secret->bytes != known_.table->secret().bytes;
    }
    // If the offer came before the first answer of Redis, it replaces what that answer says.
    if (heard_ == 0) offered_to_ = there_;
    heard_ = asked_;
    has_failed_ = false;
    if (heard.has_done && said_ && said_->kind >= Step::Kind::kSwitch) has_aside_ = false;
    if (heard.has_done && said_ && load_ && said_->kind == Step::Kind::kPutAside) {
      load_->next += said_->buckets.size();
      farthest_ = std::max(farthest_, load_->next);
    } else if (said_ && load_ && !heard.has_done) {
      load_->next = 0;  // another node's turn, or buckets put aside were lost
      is_refused_ = true;
    }
    if (hurried_ > 0) --hurried_;
    settle_offer(heard.has_done);
    if (wanted() == nullptr) load_.reset();
    said_.reset();
    if (is_behind() && !is_read_ && reading_ && !is_torn_) read(heard);
    has_news = is_read_;
    changed_.notify_all();
  }
  if (has_news) on_news_(now);
}

void SharedTenants::hear_no_news() {
  const std::scoped_lock lock(mutex_);
  if (said_ || heard_ == 0) return;
  heard_ = asked_;
  has_failed_ = false;
  changed_.notify_all();
}

void SharedTenants::fail() {
  const std::scoped_lock lock(mutex_);
  has_failed_ = true;
  changed_.notify_all();
}

void SharedTenants::read(Heard& heard) {
  for (auto& [bucket, bytes] : heard.buckets) {
    bytes_ += bytes.size();
    reading_->buckets[bucket] = std::move(bytes);
  }
  if (!heard.buckets.empty()) place_ = heard.place;
  if (bytes_ > kBytesMax || !heard.secret) {
    if (bytes_ > kBytesMax) unreadable_ = heard.head;
    return start_over();
  }
  is_mixed_ = is_mixed_ || (reading_->head.number > 0 && reading_->head != heard.head);
  reading_->head = heard.head;
  reading_->secret = *heard.secret;
  is_read_ = heard.is_all;
}

TenantTablePtr table_of(const SharedTenants::News& news, const TenantTablePtr& in_force) {
  const auto base = news.is_whole ? std::make_shared<const TenantTable>(news.secret) : in_force;
  TenantTable::Edits edits;
  bool is_right = base->secret().bytes == news.secret.bytes;
  for (const auto& [bucket, bytes] : news.buckets) {
    is_right = is_right && base->read_bucket(bucket, bytes, edits);
  }
  auto table = is_right ? base->edited(std::move(edits)).table : nullptr;
  return table != nullptr && table->digest() == news.head.digest ? table : nullptr;
}

}  // namespace weir
