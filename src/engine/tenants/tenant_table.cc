#include "engine/tenants/tenant_table.h"

#include <xxhash.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/packed.h"

namespace weir {
namespace {

std::uint16_t bucket_of(const KeyHash& key) { return static_cast<std::uint16_t>(key.high >> 48); }

// Calls take(row) for each row of the table after the edits, and change(edit) for each edit that
// changes something.
template <typename Take, typename Change>
void merge(std::span<const TenantTable::Row> rows, std::span<const TenantTable::Row> edits,
           Take take, Change change) {
  auto row = rows.begin();
  for (const TenantTable::Row& edit : edits) {
    for (; row != rows.end() && row->key < edit.key; ++row) take(*row);
    const bool was_there = row != rows.end() && row->key == edit.key;
    const bool is_gone = edit.limit == TenantTable::kGone;
    if (was_there ? *row != edit : !is_gone) change(edit);
    if (!is_gone) take(edit);
    if (was_there) ++row;
  }
  for (; row != rows.end(); ++row) take(*row);
}

}  // namespace

// A bucket keeps its ratio of burst to limit.
Quota tenant_quota(const Quota& own, const TenantTerms& terms) noexcept {
  const bool has_burst = own.algorithm() == Algorithm::kTokenBucket && own.limit() > 0;
  const double share =
      has_burst ? static_cast<double>(own.capacity()) / static_cast<double>(own.limit()) : 0;
  QuotaSpec spec{.algorithm = own.algorithm(),
                 .limit = terms.limit,
                 .window = terms.window == Duration{0} ? own.window() : terms.window};
  if (own.is_by_calendar() && spec.window != own.window()) {
    spec.algorithm = Algorithm::kFixedWindow;
  }
  const double burst = static_cast<double>(terms.limit) * share;
  if (has_burst) {
    spec.burst = static_cast<std::int64_t>(std::min(burst, static_cast<double>(kLimitMax)));
  }
  auto made = Quota::make(spec);
  spec.burst = 0;  // a bucket with it would take too long to fill
  if (!made) made = Quota::make(spec);
  if (!made) return own;
  made->share_calendar(own);
  take_anchor(*made, terms.anchor);
  return *made;
}

void take_anchor(Quota& quota, int anchor) noexcept {
  const bool is_month = quota.is_by_calendar() && quota.calendar_unit() == CalendarUnit::kMonth;
  if (anchor > 0 && is_month) quota.set_first_day(anchor);
}

std::optional<TenantTerms> TenantTable::find(const KeyHash& key) const {
  const auto rows = bucket(bucket_of(key));
  // Hashes are spread evenly, so a key's hash says roughly where it is.
  auto at =
      rows.begin() + static_cast<std::ptrdiff_t>((key.high >> 32 & 0xffff) * rows.size() >> 16);
  while (at != rows.begin() && !(std::prev(at)->key < key)) --at;
  while (at != rows.end() && at->key < key) ++at;
  if (at == rows.end() || at->key != key) return std::nullopt;
  const std::int64_t rest = at->window_or_plan();
  if (!at->has_plan()) {
    return TenantTerms{.limit = at->limit, .window = Duration(rest), .anchor = at->anchor()};
  }
  return TenantTerms{.plan = plans_[static_cast<std::size_t>(rest)], .anchor = at->anchor()};
}

// The numbers of these plans in this table.
std::vector<std::int64_t> TenantTable::adopt(const std::vector<std::string>& plans) {
  std::vector<std::int64_t> numbers;
  for (const std::string& plan : plans) {
    const auto found = std::ranges::find(plans_, plan);
    numbers.push_back(found - plans_.begin());
    if (found == plans_.end()) plans_.push_back(plan);
  }
  return numbers;
}

void TenantTable::forget_unused_plans() {
  std::vector<std::int64_t> numbers(plans_.size(), -1);
  std::vector<std::string> used;
  for (Row& row : rows_) {
    if (!row.has_plan()) continue;
    const auto number = static_cast<std::size_t>(row.window_or_plan());
    if (numbers[number] < 0) {
      numbers[number] = std::ssize(used);
      used.push_back(plans_[number]);
    }
    row.set_window_or_plan(numbers[number]);
  }
  plans_ = std::move(used);
}

TenantTable::Edited TenantTable::edited(Edits edits) const {
  const auto next = std::make_shared<TenantTable>(secret_);
  next->plans_ = plans_;
  const auto numbers = next->adopt(edits.plans);
  const std::vector<Row>& changes = edits.rows;
  for (Row& row : edits.rows) {
    if (!row.has_plan()) continue;
    row.set_window_or_plan(numbers[static_cast<std::size_t>(row.window_or_plan())]);
  }
  Edited edited;
  std::size_t size = 0;
  const auto note = [&edited](const Row& row) {
    const std::uint16_t bucket = bucket_of(row.key);
    if (edited.changed.empty() || edited.changed.back() != bucket) edited.changed.push_back(bucket);
  };
  merge(
      rows_, changes, [&size](const Row&) { ++size; }, note);
  if (size > kRowsMax) return {};
  next->rows_.reserve(size);
  next->starts_.assign(kBuckets + 1, 0);
  const auto take = [&next](const Row& row) {
    next->rows_.push_back(row);
    ++next->starts_[bucket_of(row.key) + std::size_t{1}];
  };
  merge(rows_, changes, take, [](const Row&) {});
  if (*std::ranges::max_element(next->starts_) > kBucketRowsMax) return {};
  next->forget_unused_plans();
  const auto fits = [](const std::string& plan) {
    return !plan.empty() && plan.size() <= kPlanNameMax;
  };
  if (next->plans_.size() > kPlansMax || !std::ranges::all_of(next->plans_, fits)) return {};
  for (std::size_t i = 0; i < kBuckets; ++i) next->starts_[i + 1] += next->starts_[i];
  next->digest_ = digest_;
  for (const std::uint16_t bucket : edited.changed) {
    next->digest_ += next->digest_of(bucket) - digest_of(bucket);
  }
  edited.table = next;
  return edited;
}

std::uint64_t TenantTable::digest_of(std::uint16_t number) const {
  if (bucket(number).empty()) return 0;
  const std::string bytes = bucket_bytes(number);
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), number);
}

std::string TenantTable::bucket_bytes(std::uint16_t number) const {
  PackedWriter out;
  for (const Row& row : bucket(number)) {
    const auto anchor = static_cast<std::uint64_t>(row.anchor());
    const auto rest = static_cast<std::uint64_t>(row.window_or_plan());
    out.hash(row.key.high).hash(row.key.low).number(2 * anchor + (row.has_plan() ? 0 : 1));
    if (row.has_plan()) {
      out.text(plans_[rest]);
    } else {
      out.number(static_cast<std::uint64_t>(row.limit)).number(rest);
    }
  }
  return out.take();
}

bool TenantTable::read_bucket(std::uint16_t number, std::string_view bytes, Edits& edits) const {
  std::vector<Row> rows;
  for (PackedReader in(bytes); in.has_more() || !in.is_right();) {
    Row row;
    row.key.high = in.hash();
    row.key.low = in.hash();
    const std::uint64_t kind = in.number(2 * kAnchorMax + 1);
    if (kind % 2 == 0) {
      const std::string_view plan = in.text(kPlanNameMax);
      const auto found = std::ranges::find(edits.plans, plan);
      row.window_us = found - edits.plans.begin();
      if (found == edits.plans.end()) edits.plans.emplace_back(plan);
      in.require(!plan.empty());
    } else {
      row.limit = static_cast<std::int64_t>(in.number(kLimitMax));
      row.window_us = static_cast<std::int64_t>(in.number(kWindowMax.count()));
      in.require(row.window_us == 0 || Duration(row.window_us) >= kWindowMin);
    }
    row.set_anchor(static_cast<std::int64_t>(kind / 2));
    in.require(bucket_of(row.key) == number && (rows.empty() || rows.back().key < row.key));
    if (!in.is_right() || rows.size() == kBucketRowsMax || edits.plans.size() > kPlansMax) {
      return false;
    }
    rows.push_back(row);
  }
  const auto is_there = [&rows](const Row& row) {
    return std::ranges::binary_search(rows, row.key, std::less(), &Row::key);
  };
  const std::size_t first = edits.rows.size();
  edits.rows.insert(edits.rows.end(), rows.begin(), rows.end());
  for (Row row : bucket(number)) {
    if (is_there(row)) continue;
    row.limit = kGone;
    edits.rows.push_back(row);
  }
  std::ranges::sort(std::span(edits.rows).subspan(first), std::less(), &Row::key);
  return true;
}

std::vector<TenantTable::Row> TenantTable::all_gone() const {
  std::vector<Row> rows = rows_;
  for (Row& row : rows) row.limit = kGone;
  return rows;
}

std::size_t TenantTable::changes_lost(const TenantTable& before, const TenantTable& after) const {
  std::size_t lost = 0;
  for (const Row& row : rows_) {
    const auto own = find(row.key);
    if (own != before.find(row.key) && own != after.find(row.key)) ++lost;
  }
  for (const Row& row : before.rows_) {
    if (!find(row.key) && after.find(row.key)) ++lost;
  }
  return lost;
}

std::size_t TenantTable::bytes() const {
  std::size_t bytes = sizeof(*this) + rows_.capacity() * sizeof(Row);
  for (const std::string& plan : plans_) bytes += sizeof(plan) + plan.capacity();
  return bytes + starts_.capacity() * sizeof(std::uint32_t);
}

}  // namespace weir
