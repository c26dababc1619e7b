// TenantTable: what single keys have instead of their rules' limits: a plan, which is a tier of the
// rule, or a limit of their own. It has at most a million rows, as one immutable value.
//
//   key  ── hash under the table's secret, 128 bits ──►  bucket, by the first 16  ──►  row
//
// A row is 32 bytes, and does not contain the key's text. A key hits another key's row among a
// million with a probability of 2^-108. Nobody can aim at a row without the secret. The table has
// its own secret, so the rows outlive every Redis and every process.
//
// Nodes send each other the rows of a bucket as bytes. The digest sums up all buckets: by eight
// bytes two nodes know whether they have the same rows under the same secret.
//
// Thread rule: immutable; share it. Cost of a look-up: a hash and about two lines of cache.
// Tested by tenant_table_test.cc and fuzz/tenant_rows_fuzz.cc.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/plan_name.h"
#include "weir/key.h"
#include "weir/quota.h"

namespace weir {

class TenantTable;
using TenantTablePtr = std::shared_ptr<const TenantTable>;

// The contents of a row.
struct TenantTerms {
  std::string_view plan{};  // empty: it has a limit
  std::int64_t limit = 0;
  Duration window{0};  // zero: the rule's
  int anchor = 0;      // the first day of a month; 0: the rule's

  friend bool operator==(const TenantTerms&, const TenantTerms&) = default;
};

// The limit that replaces the rule's own, with the same algorithm.
Quota tenant_quota(const Quota& own, const TenantTerms& terms) noexcept;

// Sets the first day of a month, if the quota's windows are months of a calendar.
void take_anchor(Quota& quota, int anchor) noexcept;

class TenantTable {
 public:
  static constexpr std::size_t kRowsMax = 1'048'576;
  static constexpr std::size_t kBuckets = 65'536;
  // Rows of one bucket: 16 on average, and 48 with a probability of 10^-10.
  static constexpr std::size_t kBucketRowsMax = 128;
  static constexpr std::size_t kPlansMax = 1024;
  static constexpr std::size_t kKeyMax = 4096;
  static constexpr std::size_t kBucketBytesMax = kBucketRowsMax * (2 + 16 + kPlanNameMax);

  struct Row {
    KeyHash key;
    std::int64_t limit = kPlan;
    std::int64_t window_us = 0;  // or the plan's number, and above it the anchor

    bool has_plan() const { return limit == kPlan; }
    std::int64_t window_or_plan() const { return window_us & kWindowBits; }
    void set_window_or_plan(std::int64_t value) { window_us = (window_us & ~kWindowBits) | value; }
    int anchor() const { return static_cast<int>(window_us / (kWindowBits + 1)); }
    void set_anchor(std::int64_t day) { window_us = window_or_plan() + day * (kWindowBits + 1); }
    friend bool operator==(const Row&, const Row&) = default;
  };
  static constexpr std::int64_t kWindowBits = (std::int64_t{1} << 48) - 1;
  static constexpr int kAnchorMax = 31;
  static constexpr std::int64_t kPlan = -1;
  static constexpr std::int64_t kGone = -2;

  // Rows to put and, with the limit kGone, to remove. Plans are numbered as in `plans`.
  struct Edits {
    std::vector<Row> rows{};  // sorted by key, each once
    std::vector<std::string> plans{};
  };

  explicit TenantTable(const HashSecret& secret)
      : secret_(secret), hasher_(secret), digest_(hash({}).low) {}

  std::optional<TenantTerms> find(std::string_view key) const { return find(hash(key)); }
  std::optional<TenantTerms> find(const KeyHash& key) const;
  KeyHash hash(std::string_view key) const {
    return hasher_.hash_names({.rule = {}, .bucket = {}, .key = key}).key;
  }

  // The table after these changes, and the buckets that differ. Null if it would be too large, or
  // if no row has room for a plan's number.
  struct Edited {
    TenantTablePtr table{};
    std::vector<std::uint16_t> changed{};
  };
  Edited edited(Edits edits) const;

  // Adds the edits that turn a bucket into what the bytes say. False if no table wrote them.
  bool read_bucket(std::uint16_t bucket, std::string_view bytes, Edits& edits) const;
  std::string bucket_bytes(std::uint16_t bucket) const;
  // Edits that remove every row.
  std::vector<Row> all_gone() const;
  // The number of rows that differ from `before`, and that `after` does not have as they are here.
  std::size_t changes_lost(const TenantTable& before, const TenantTable& after) const;

  std::size_t size() const { return rows_.size(); }
  bool is_empty(std::uint16_t number) const { return bucket(number).empty(); }
  std::uint64_t digest() const { return digest_; }
  const HashSecret& secret() const { return secret_; }
  const std::vector<std::string>& plans() const { return plans_; }
  std::size_t bytes() const;

 private:
  std::span<const Row> bucket(std::size_t number) const {
    if (starts_.empty()) return {};
    return std::span(rows_).subspan(starts_[number], starts_[number + 1] - starts_[number]);
  }
  std::vector<std::int64_t> adopt(const std::vector<std::string>& plans);
  void forget_unused_plans();
  std::uint64_t digest_of(std::uint16_t bucket) const;

  HashSecret secret_;
  KeyHasher hasher_;
  std::vector<std::string> plans_;
  std::vector<std::uint32_t> starts_;  // of each bucket, and the end; empty: no rows
  std::vector<Row> rows_;              // sorted by key
  std::uint64_t digest_;               // without rows, the secret's
};

// The order of the rows.
inline bool operator<(const KeyHash& one, const KeyHash& other) {
  return one.high != other.high ? one.high < other.high : one.low < other.low;
}

}  // namespace weir
