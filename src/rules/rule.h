// Rule: what a request must look like, which key it yields, and which quota applies.
//
// A rule is applied in up to three ways, and has one counter a key through all:
//   by its id        a check, a command or a call names the rule and the key
//   by a request     `match` holds; the key is made of `key_parts`
//   by a descriptor  `descriptor` matches; the key is made of the entries whose value
//                    the rule leaves open
//
// A key of one part is just that part. In a key of several parts, each part's length precedes it
// ("9:192.0.2.16:/login" is 192.0.2.1 and /login), so no two lists of parts give the same key.
// rules/rule_key.h says what a key is if a part is missing.
//
// Thread rule: immutable once in a RuleSet. Tested by traffic_rules_test.cc (requests) and
// descriptor_tree_test.cc (descriptors, patterns).

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/ip_address.h"
#include "base/text_hash.h"
#include "observe/rule_counts.h"
#include "rules/mode.h"
#include "rules/request/key_part.h"
#include "rules/request_match.h"
#include "rules/text/text_pattern.h"
#include "rules/text/text_template.h"
#include "rules/time/calendar.h"
#include "rules/time/schedule.h"
#include "weir/quota.h"
#include "weir/time.h"

namespace weir {

class PriceTable;

// ResponseCount: what a rule counts once a response is known, not before.
//
// Only hosts that pass requests on to an origin see the response (src/nginx). There the rule looks
// at a key before its request passes. It charges the key when the head of the response is there, or
// after the body, if the body says the cost.
//
// Thread rule: values. Tested by response_count_test.cc.

// `first` and `last` count, too.
struct StatusRange {
  int first = 0;
  int last = 0;

  friend bool operator==(const StatusRange&, const StatusRange&) = default;
};

// Reads "401", or "5xx" for 500 to 599.
inline std::optional<StatusRange> parse_statuses(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (text.size() != 3 || text[0] < '1' || text[0] > '5') return std::nullopt;
  const int hundreds = (text[0] - '0') * 100;
  if (text.substr(1) == "xx") return StatusRange{hundreds, hundreds + 99};
  if (!is_digit(text[1]) || !is_digit(text[2])) return std::nullopt;
  const int status = hundreds + (text[1] - '0') * 10 + (text[2] - '0');
  return StatusRange{status, status};
}

struct ResponseCount {
  // Where the response says its cost. kNowhere: the rule or the request says it.
  enum class CostFrom : std::uint8_t { kNowhere, kHeader, kBody };
  static constexpr std::size_t kPathMax = 128;
  static constexpr std::size_t kPathNamesMax = 8;

  std::vector<StatusRange> statuses{};  // the statuses that count; empty: all
  CostFrom cost_from = CostFrom::kNowhere;
  // The header's name, or the path to a number in the body's JSON. Empty: to the numbers that
  // vendors of language models report there.
  std::string cost_name{};
  std::int64_t reserved = 1;  // units for each request under way; 0: nothing is reserved
  // The path to a number in the request's JSON that is reserved instead. Empty: to vendors' number
  // for the most tokens of an answer. Nothing: the request's body is not read.
  std::optional<std::string> reserved_path{};
  // The prices that make costs of both, in millionths of a dollar. Null: the units are tokens.
  std::shared_ptr<const PriceTable> prices{};

  bool is_of_body() const { return cost_from == CostFrom::kBody; }

  bool counts(int status) const {
    return statuses.empty() || std::ranges::any_of(statuses, [status](const StatusRange& range) {
             return range.first <= status && status <= range.last;
           });
  }
};

struct DescriptorEntry {
  std::string key;
  std::optional<TextPattern> value{};  // nothing: any value, which is part of the counter's key
  // Whether all values that match the pattern share one counter.
  bool shares = false;

  // Whether its value is part of the counter's key.
  bool is_open() const { return !value || (!value->is_exact && !shares); }
};

struct DescriptorMatch {
  std::string domain{};
  // At most Descriptor::kEntriesMax. Empty: no descriptor matches, but the domain exists.
  std::vector<DescriptorEntry> entries{};

  std::size_t open_entries() const {
    return static_cast<std::size_t>(std::ranges::count_if(entries, &DescriptorEntry::is_open));
  }
};

// The part of a rule that only Envoy's rate limit service uses (the reference service's YAML).
struct DescriptorPolicy {
  std::string name{};                   // rate_limit.name; answers carry it in current_limit
  std::vector<std::string> replaces{};  // names of rules that do not count if this one matches
  bool quota_mode = false;
  bool detailed_metric = false;
  bool value_to_metric = false;
  std::string metadata_json{};  // an object; empty: none
};

// What happens to requests that lack a part of their key: rules/rule_key.h.
enum class MissingPart : std::uint8_t {
  kClient,  // the client's address stands in for the part
  kShared,  // all such requests have one counter
  kDeny,
  kSkip,  // the rule does not apply
};
inline constexpr std::array<std::string_view, 4> kMissingPartNames = {"client", "shared", "deny",
                                                                      "skip"};

// Keys by name, and networks of addresses.
struct KeyList {
  std::unordered_set<std::string, TextHash, std::equal_to<>> keys{};
  std::vector<IpPrefix> networks{};

  bool empty() const { return keys.empty() && networks.empty(); }
  bool holds(std::string_view key, const std::optional<IpAddress>& address) const;
};

// What follows a denial: blocks, and the answer.
struct Denial {
  // block_after denials within block_window block a key: the first time for blocks[0], the next
  // time for blocks[1] and so on. Only blocks that began within block_memory are counted.
  std::vector<Duration> blocks{};  // empty: nobody is blocked
  std::int64_t block_after = 1;
  Duration block_window = std::chrono::minutes(1);
  Duration block_memory = std::chrono::hours(24);

  // The answer of HTTP doors; a door chooses what is not set.
  int status = 0;
  std::string content_type{};
  std::optional<TextTemplate> body{};
  std::vector<HeaderTemplate> headers{};

  // A gateway lets up to waiting_max requests wait at most so long instead of denying them. The
  // limits are buckets with room for them: the wait is the debt beyond the bucket.
  Duration delay_max{0};  // zero: no request waits
  std::int64_t waiting_max = 100;
};

struct Rule {
  enum class Effect : std::uint8_t {
    kLimit,
    kUnlimited,  // allows without counting, and says so
    kExempt,     // as if no rule had matched
    // Limits requests under way. A gateway passes requests on, knows when they end, and counts them
    // (src/nginx). At other doors callers acquire and release slots (weir/holding_store.h).
    kConcurrency,
  };

  using LimitsByName =
      std::unordered_map<std::string, std::vector<Quota>, TextHash, std::equal_to<>>;

  std::string id;
  Quota quota;                  // the only limit, or the first of several
  std::vector<Quota> limits{};  // if there are several: all of them
  // Other limits: for named keys, else for keys that belong to a tier.
  LimitsByName overrides{};
  LimitsByName tiers{};
  // A key without an override may have a tier or a limit in the table of tenants
  // (engine/tenants/tenant_table.h).
  bool has_tenants = false;
  CalendarClock calendar{};                 // of all limits by the calendar
  std::optional<KeyPart> tier{};            // the part of a request that names its tier
  KeyList allow{};                          // keys that pass uncounted
  KeyList deny{};                           // keys that are denied uncounted; wins over `allow`
  std::int64_t cost = 1;                    // of a request, if there is no cost_from
  std::optional<KeyPart> cost_from{};       // names the cost; without a whole number it is 1
  std::optional<ResponseCount> response{};  // counts once the response is known; empty: at once
  Denial denial{};
  std::int64_t surge_percent = 100;  // of the limits, while the rule's traffic is unusual
  Effect effect = Effect::kLimit;
  bool enabled = true;  // a disabled rule allows everything and counts nothing
  bool shadow = false;  // counts and reports, but never denies
  // Denies only the part of a key's requests above its limit; the others pass, evenly spread.
  bool is_proportional = false;
  std::int64_t enforced_percent = 100;  // of the keys; other keys are in shadow
  std::optional<Mode> mode{};           // nothing: the node's
  OnStoreFailure on_store_failure = OnStoreFailure::kLocal;
  OnFull on_full = OnFull::kAllow;
  // The most holds that a key may have at once (weir/holding_store.h); 0: the rule holds nothing.
  std::int64_t holds_max = 0;
  // Whether a hold that nobody commits charges its units or gives them back.
  enum class Lapse : std::uint8_t { kCharge, kRefund } lapse = Lapse::kCharge;
  // The percents of a limit at which people are told of its keys, rising; then zeros.
  static constexpr std::size_t kNotifyAtMax = 4;
  std::array<std::uint8_t, kNotifyAtMax> notify_at{};
  // The costs that count whether or not they fit. kEnvoy: as in Envoy's reference service, which
  // counts before it compares. In a fixed window, its algorithm, this prolongs no denial. In other
  // algorithms it would, so only costs above one count always: those of work that is done.
  enum class Overdraft : std::uint8_t { kNone, kEnvoy, kAll } overdraft = Overdraft::kNone;
  RuleNumber number = kNoRuleNumber;  // its answers are counted under this number

  std::string name{};  // for people; empty: it has no name

  // Of each group, the first rule that matches applies.
  std::string group{};
  std::optional<RequestMatch> match{};
  std::optional<Schedule> active{};  // nothing: always
  std::vector<KeyPart> key_parts{};  // of `match`; empty: all requests have one key
  enum class KeyForm : std::uint8_t {
    kAll,    // all parts make the key
    kFirst,  // the first part that is there; the client's address comes last
  } key_form = KeyForm::kAll;
  MissingPart missing = MissingPart::kClient;

  std::optional<DescriptorMatch> descriptor{};
  DescriptorPolicy policy{};

  // Whether requests of the key pass although they are denied. If the rule denies only a part of
  // its keys, the rule's id and the key decide, so all nodes agree, also after a reload. Keys
  // denied at 10 % are denied at 50 %, too. A client that chooses its key can choose a spared one.
  bool spares(std::string_view key) const {
    return shadow || (enforced_percent < 100 && place_of(key) >= enforced_percent);
  }
  // 0 to 99. The rule denies the keys whose place is below its percentage.
  std::int64_t place_of(std::string_view key) const;

  // REQUIRES: units > 0
  bool counts_always(std::int64_t units) const {
    if (overdraft != Overdraft::kEnvoy) return overdraft == Overdraft::kAll;
    return units > 1 || quota.is_fixed();
  }

  bool has_slots() const { return effect == Effect::kConcurrency && holds_max > 0; }

  // If not in force, the rule allows everything, counts nothing and matches no request.
  bool in_force(Instant wall_time) const {
    return enabled && (!active || active->holds(wall_time));
  }

  std::span<const Quota> own_limits() const {
    return limits.empty() ? std::span(&quota, 1) : std::span(limits);
  }
  // The limits of this key in this tier: at least one, at most kLimitsMax.
  static constexpr std::size_t kLimitsMax = 8;
  std::span<const Quota> limits_for(std::string_view key, std::string_view tier_name) const {
    return overrides.empty() ? limits_for_tier(tier_name) : limits_by_name(key, tier_name);
  }
  // The limits of a key without an override.
  std::span<const Quota> limits_for_tier(std::string_view tier_name) const {
    return tiers.empty() ? own_limits() : limits_of_tier(tier_name);
  }

 private:
  std::span<const Quota> limits_by_name(std::string_view key, std::string_view tier_name) const;
  std::span<const Quota> limits_of_tier(std::string_view tier_name) const;
};

}  // namespace weir
