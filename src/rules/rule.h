// Rule: what a request must look like, which key it yields, and which quota applies.
//
// A rule is applied in up to three ways, and has one counter a key through all:
//   by its id        a check, a command or a call names the rule and the key
//   by a request     `match` holds; the key is made of `key_parts`
//   by a descriptor  `descriptor` matches; the key is made of the entries whose value
//                    the rule leaves open
//
// A key of one part is that part, as it is. In a key of several, its length precedes each
// part ("9:192.0.2.16:/login" is 192.0.2.1 and /login), so no two lists of parts share a key.
// rules/rule_key.h says what a key is where a part is missing.
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

// ResponseCount: what a rule counts when a response is known, and not before.
//
// Only who passes requests on to an origin sees the response (src/nginx). There a key is looked at
// before its request passes, and charged when the head of the response is there; when its body has
// passed, if that says the cost.
//
// Thread rule: values. Tested by response_count_test.cc.

// Both ends count.
struct StatusRange {
  int first = 0;
  int last = 0;

  friend bool operator==(const StatusRange&, const StatusRange&) = default;
};

// "401", or "5xx" for 500 to 599.
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
  // Where the response says its cost; else the rule or the request does.
  enum class CostFrom : std::uint8_t { kNowhere, kHeader, kBody };
  static constexpr std::size_t kPathMax = 128;
  static constexpr std::size_t kPathNamesMax = 8;

  std::vector<StatusRange> statuses{};  // that count; none: all
  CostFrom cost_from = CostFrom::kNowhere;
  // The header's, or the path to a number of the body's JSON; empty: to what vendors of language
  // models report there.
  std::string cost_name{};
  std::int64_t reserved = 1;  // units for each request under way; 0: none
  // The path to a number of the request's JSON that is reserved instead; empty: to what vendors of
  // language models call the most tokens of an answer. None: nobody reads the request's body.
  std::optional<std::string> reserved_path{};
  // By which both are made costs: in millionths of a dollar. Null: tokens are what counts.
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
  std::optional<TextPattern> value{};  // none: any value, which is part of the counter's key
  // All values that match the pattern share one counter.
  bool shares = false;

  // Its value is part of the counter's key.
  bool is_open() const { return !value || (!value->is_exact && !shares); }
};

struct DescriptorMatch {
  std::string domain{};
  // At most Descriptor::kEntriesMax. None: no descriptor matches, but the domain exists.
  std::vector<DescriptorEntry> entries{};

  std::size_t open_entries() const {
    return static_cast<std::size_t>(std::ranges::count_if(entries, &DescriptorEntry::is_open));
  }
};

// The part of a rule that only Envoy's rate limit service knows (the reference service's YAML).
struct DescriptorPolicy {
  std::string name{};                   // rate_limit.name; answers carry it in current_limit
  std::vector<std::string> replaces{};  // names of rules that do not count if this one matches
  bool quota_mode = false;
  bool detailed_metric = false;
  bool value_to_metric = false;
  std::string metadata_json{};  // an object; empty: none
};

// For requests that lack a part of their key: rules/rule_key.h.
enum class MissingPart : std::uint8_t {
  kClient,  // its address stands in for the part
  kShared,  // all such requests have one counter
  kDeny,
  kSkip,  // the rule does not apply
};
inline constexpr std::array<std::string_view, 4> kMissingPartNames = {"client", "shared", "deny",
                                                                      "skip"};

// Named keys, and networks of addresses.
struct KeyList {
  std::unordered_set<std::string, TextHash, std::equal_to<>> keys{};
  std::vector<IpPrefix> networks{};

  bool empty() const { return keys.empty() && networks.empty(); }
  bool holds(std::string_view key, const std::optional<IpAddress>& address) const;
};

// Follows a denial: blocks, and the answer.
struct Denial {
  // block_after denials within block_window block a key: the first time for blocks[0], then
  // for blocks[1] and so on, as far as the blocks before it have begun within block_memory.
  std::vector<Duration> blocks{};  // empty: nobody is blocked
  std::int64_t block_after = 1;
  Duration block_window = std::chrono::minutes(1);
  Duration block_memory = std::chrono::hours(24);

  // The answer of HTTP doors; what is not set is theirs to choose.
  int status = 0;
  std::string content_type{};
  std::optional<TextTemplate> body{};
  std::vector<HeaderTemplate> headers{};

  // A gateway lets who would be denied wait so long at most, and no more than so many at once. The
  // limits are buckets that have room for them: what a bucket is behind is the wait.
  Duration delay_max{0};  // zero: nobody waits
  std::int64_t waiting_max = 100;
};

struct Rule {
  enum class Effect : std::uint8_t {
    kLimit,
    kUnlimited,  // allows without counting, and says so
    kExempt,     // as if no rule had matched
    // Limits what is under way. A gateway passes requests on, knows when they end, and counts them
    // (src/nginx). Elsewhere callers acquire slots and release them (weir/holding_store.h).
    kConcurrency,
  };

  using LimitsByName =
      std::unordered_map<std::string, std::vector<Quota>, TextHash, std::equal_to<>>;

  std::string id;
  Quota quota;                  // the only limit, or the first of several
  std::vector<Quota> limits{};  // if there are several: all of them
  // Other limits: for named keys, else for who belongs to a tier.
  LimitsByName overrides{};
  LimitsByName tiers{};
  // A key without an override may have a tier or a limit in the table of tenants
  // (engine/tenants/tenant_table.h).
  bool has_tenants = false;
  CalendarClock calendar{};                 // of all limits that are by the calendar
  std::optional<KeyPart> tier{};            // of a request: says which tier
  KeyList allow{};                          // pass without being counted
  KeyList deny{};                           // are denied without being counted; wins over `allow`
  std::int64_t cost = 1;                    // of a request, unless
  std::optional<KeyPart> cost_from{};       // has a whole number
  std::optional<ResponseCount> response{};  // counted when that is known; none: when it comes
  Denial denial{};
  std::int64_t surge_percent = 100;  // of the limits hold while the rule's traffic is unusual
  Effect effect = Effect::kLimit;
  bool enabled = true;  // a disabled rule allows everything and counts nothing
  bool shadow = false;  // counts and reports, but never denies
  // Denies only the share of a key's requests that is above its limit; the others pass evenly.
  bool is_proportional = false;
  std::int64_t enforced_percent = 100;  // of the keys; the others are as in shadow
  std::optional<Mode> mode{};           // none: the node's
  OnStoreFailure on_store_failure = OnStoreFailure::kLocal;
  OnFull on_full = OnFull::kAllow;
  // How many holds a key may have at once (weir/holding_store.h); 0: the rule holds nothing.
  std::int64_t holds_max = 0;
  // Whether a hold that nobody commits is charged or given back.
  enum class Lapse : std::uint8_t { kCharge, kRefund } lapse = Lapse::kCharge;
  // The percents of a limit at which its keys are told of, rising; behind the last, zeros.
  static constexpr std::size_t kNotifyAtMax = 4;
  std::array<std::uint8_t, kNotifyAtMax> notify_at{};
  // Which costs count whether or not they fit. kEnvoy: as Envoy's reference service does, which
  // counts before it compares. Under its algorithm, a fixed window, that prolongs no denial. Under
  // others it would, so that only costs above one do: those of work that is done.
  enum class Overdraft : std::uint8_t { kNone, kEnvoy, kAll } overdraft = Overdraft::kNone;
  RuleNumber number = kNoRuleNumber;  // under which its answers are counted

  std::string name{};  // for people; empty: none

  // In each group the first rule that matches applies.
  std::string group{};
  std::optional<RequestMatch> match{};
  std::optional<Schedule> active{};  // none: always
  std::vector<KeyPart> key_parts{};  // of `match`; empty: one key for all
  enum class KeyForm : std::uint8_t {
    kAll,    // all parts make the key
    kFirst,  // the first that is there; the client's address is the last
  } key_form = KeyForm::kAll;
  MissingPart missing = MissingPart::kClient;

  std::optional<DescriptorMatch> descriptor{};
  DescriptorPolicy policy{};

  // Whether a denial of the key lets pass. Which keys a rule in part spares depends on its id and
  // the key alone: on all nodes and after each reload the same ones. 50 % denies those that 10 %
  // does, and more. A client that chooses its key can choose one that is spared.
  bool spares(std::string_view key) const {
    return shadow || (enforced_percent < 100 && place_of(key) >= enforced_percent);
  }
  // From 0 to 99. A rule in part denies the keys below its percentage.
  std::int64_t place_of(std::string_view key) const;

  // REQUIRES: units > 0
  bool counts_always(std::int64_t units) const {
    if (overdraft != Overdraft::kEnvoy) return overdraft == Overdraft::kAll;
    return units > 1 || quota.is_fixed();
  }

  bool has_slots() const { return effect == Effect::kConcurrency && holds_max > 0; }

  // Else it allows everything and counts nothing, and matches no request.
  bool in_force(Instant wall_time) const {
    return enabled && (!active || active->holds(wall_time));
  }

  std::span<const Quota> own_limits() const {
    return limits.empty() ? std::span(&quota, 1) : std::span(limits);
  }
  // The limits for this key of this tier. At least one, at most kLimitsMax.
  static constexpr std::size_t kLimitsMax = 8;
  std::span<const Quota> limits_for(std::string_view key, std::string_view tier_name) const {
    return overrides.empty() ? limits_for_tier(tier_name) : limits_by_name(key, tier_name);
  }
  // Those of a key without an override.
  std::span<const Quota> limits_for_tier(std::string_view tier_name) const {
    return tiers.empty() ? own_limits() : limits_of_tier(tier_name);
  }

 private:
  std::span<const Quota> limits_by_name(std::string_view key, std::string_view tier_name) const;
  std::span<const Quota> limits_of_tier(std::string_view tier_name) const;
};

}  // namespace weir
